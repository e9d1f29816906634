"""What a server is, and what can be played there.

Generated from boardwire/_catalog.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import operator
from collections.abc import Mapping
from typing import Any
from .. import _values
from ._connection import Connection, pages
from .._info import ServerInfo
from ._server import PrivateServer
from .._spec import Game, GameSpec

class Catalog:
    """A client's knowledge of its server: asked for once and kept."""

    def __init__(self, server: PrivateServer | Connection, timeout: float) -> None:
        """Asks for nothing yet; each call may take `timeout` seconds."""
        self._server = server
        self._timeout = timeout
        self._specs: dict[object, GameSpec] = {}

    @property
    def address(self) -> str:
        """The server's address, for other processes; another once a private server was started again."""
        return self._connection.address

    @property
    def _connection(self) -> Connection:
        return self._server.connection

    async def server(self) -> ServerInfo:
        """What the server is, and how much it may be asked for."""
        answer, _ = await self._server.ask('CatalogService/GetServer', {}, timeout=self._timeout)
        return _values.server_info(answer['server'])

    async def games(self) -> list[Game]:
        """The games that are served."""

        async def page(token: str) -> dict[str, Any]:
            request = {'page_token': token}
            answer, _ = await self._server.ask('CatalogService/ListGames', request, timeout=self._timeout)
            return answer
        return [_values.game(game) async for answer in pages(page) for game in answer['games']]

    async def game(self, game: str, *, seats: int | None=None, options: Mapping[str, str] | None=None) -> GameSpec:
        """Everything about one table of a game. It is asked for once and kept.

        Args:
            game: The game's id.
            seats: How many seats; the fewest the game is played by when left out.
            options: Options by name; those left out have their defaults.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: It has no such table.
        """
        chosen = _values.options(options)
        count = 0 if seats is None else operator.index(seats)
        key = (game, count, frozenset(chosen.items()))
        if key not in self._specs:
            request = {'game': game, 'seats': count, 'options': chosen}
            answer, _ = await self._server.ask('CatalogService/GetGame', request, timeout=self._timeout)
            self._specs[key] = _values.game_spec(answer['spec'])
        return self._specs[key]

    async def _table(self, game: str, seats: int, options: Mapping[str, str], digest: str) -> GameSpec:
        spec = await self.game(game, seats=seats, options=options)
        if spec.digest != digest:
            self._specs.clear()
            spec = await self.game(game, seats=seats, options=options)
        return spec

    async def close(self) -> None:
        """Closes the channel, and stops a private server, if this process started it."""
        await self._server.close()