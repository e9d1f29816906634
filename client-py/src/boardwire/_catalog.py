"""What a server is, and what can be played there."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from . import _values
from ._connection import Connection, pages
from ._info import ServerInfo
from ._server import PrivateServer
from ._spec import Game, GameSpec
from ._waiting import each_of, result_of


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

    def server(self) -> ServerInfo:
        """What the server is, and how much it may be asked for."""
        answer, _ = result_of(self._server.ask("CatalogService/GetServer", {}, timeout=self._timeout))
        return _values.server_info(answer["server"])

    def games(self) -> list[Game]:
        """The games that are served."""

        def page(token: str) -> dict[str, Any]:
            request = {"page_token": token}
            answer, _ = result_of(
                self._server.ask("CatalogService/ListGames", request, timeout=self._timeout)
            )
            return answer

        return [_values.game(game) for answer in each_of(pages(page)) for game in answer["games"]]

    def game(
        self, game: str, *, seats: int | None = None, options: Mapping[str, str] | None = None
    ) -> GameSpec:
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
        key = game, count, frozenset(chosen.items())
        if key not in self._specs:
            request = {"game": game, "seats": count, "options": chosen}
            answer, _ = result_of(self._server.ask("CatalogService/GetGame", request, timeout=self._timeout))
            self._specs[key] = _values.game_spec(answer["spec"])
        return self._specs[key]

    def _table(self, game: str, seats: int, options: Mapping[str, str], digest: str) -> GameSpec:
        spec = result_of(self.game(game, seats=seats, options=options))
        if spec.digest != digest:
            # Another server than before has been started at the address.
            self._specs.clear()
            spec = result_of(self.game(game, seats=seats, options=options))
        return spec

    def close(self) -> None:
        """Closes the channel, and stops a private server, if this process started it."""
        result_of(self._server.close())
