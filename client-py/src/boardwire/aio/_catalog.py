"""The catalog of a server: its version and limits, its games and their specs.

Generated from boardwire/_catalog.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

from .. import _values
from .._info import ServerInfo
from .._spec import GameSpec, Rules
from ._connection import Connection, pages
from ._server import PrivateServer


class Catalog:
    """The part of a client that describes its server and games; specs are cached."""

    def __init__(self, server: PrivateServer | Connection, timeout: float | None) -> None:
        """Sends no request; `timeout` is the limit of each later call, in seconds."""
        self._server = server
        self._timeout = timeout
        self._specs: dict[object, GameSpec] = {}

    @property
    def address(self) -> str:
        """Returns the server's address for other processes; it changes when a private server restarts."""
        return self._connection.address

    @property
    def _connection(self) -> Connection:
        return self._server.connection

    async def server(self) -> ServerInfo:
        """Returns the description of the server, with its limits, bots and policies."""
        answer, _ = await self._server.ask("CatalogService/GetServer", {}, timeout=self._timeout)
        return _values.server_info(answer["server"])

    async def games(self) -> list[GameSpec]:
        """Returns the specs of the games that the server offers, each as `game` returns it by default."""

        async def page(token: str) -> dict[str, Any]:
            request = {"page_token": token}
            answer, _ = await self._server.ask("CatalogService/ListGames", request, timeout=self._timeout)
            return answer

        games = [game async for answer in pages(page) for game in answer["games"]]
        served = {(game["id"], game["rules_version"], game["catalogue_digest"]) for game in games}
        known = ((spec.id, spec.rules_version, spec.catalogue_digest) for spec in list(self._specs.values()))
        if not served.issuperset(known):
            self._specs.clear()
        return [await self.game(game["id"]) for game in games]

    async def game(
        self, game: str, *, seats: int | None = None, options: Mapping[str, str] | None = None
    ) -> GameSpec:
        """Returns the spec of one table of a game, and caches it.

        Args:
            game: The game's id.
            seats: The number of seats; by default the smallest number the game allows.
            options: Options by name; missing options have their defaults.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: The game has no such table.
        """
        request = _table_request(game, seats, options)
        key = (game, request["seats"], frozenset(request["options"].items()))
        spec = self._specs.get(key)
        if spec is None:
            answer, _ = await self._server.ask("CatalogService/GetGame", request, timeout=self._timeout)
            spec = self._specs[key] = _values.game_spec(answer["spec"])
        return spec

    async def rules(
        self,
        game: str,
        *,
        seats: int | None = None,
        options: Mapping[str, str] | None = None,
        label_seed: SupportsIndex | None = None,
    ) -> Rules:
        """Returns the rules of a game, for people and language models.

        Args:
            game: The game's id.
            seats: The number of seats; by default the smallest number the game allows.
            options: Options by name; missing options have their defaults.
            label_seed: Exchanges names that a reader may know from elsewhere for neutral ones, such as
                `city 3`. The same seed gives the same exchange in the rules and in the texts of seats and
                batches of the same table. A `GameSpec` always has the original names.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: The game has no such table.
        """
        number = None if label_seed is None else operator.index(label_seed)
        request = {**_table_request(game, seats, options), "label_seed": number}
        answer, _ = await self._server.ask("CatalogService/GetGame", request, timeout=self._timeout)
        return Rules(answer["rules"], answer["how_to_play"])

    async def _table(self, game: str, seats: int, options: Mapping[str, str], digest: str) -> GameSpec:
        spec = await self.game(game, seats=seats, options=options)
        if spec.digest != digest:
            self._specs.clear()
            spec = await self.game(game, seats=seats, options=options)
        return spec

    async def close(self) -> None:
        """Closes the connection, and stops a private server that this process started."""
        await self._server.close()


def _table_request(game: str, seats: int | None, options: Mapping[str, str] | None) -> dict[str, Any]:
    count = 0 if seats is None else operator.index(seats)
    return {"game": game, "seats": count, "options": _values.options(options)}
