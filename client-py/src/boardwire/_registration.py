"""Gymnasium ids of the games, read from a list that is regenerated together with the golden files.

Gymnasium looks up ids in a plain registry. It has no hook for a whole namespace, and no plugins since 1.0,
so ids must be registered before `make`. The list lets this package register them without starting a server.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ._access import Address
from ._spec import GameSpec

if TYPE_CHECKING:
    from ._client import Client


def environment_id(game: str, rules_version: int) -> str:
    """Returns the Gymnasium id of a game, such as `boardwire/GoldenCompass-v0` for `golden_compass`.

    Environment versions count from 0 and rules versions from 1, so the id has `rules_version - 1`.
    """
    name = "".join(word.capitalize() for word in game.split("_"))
    return f"boardwire/{name}-v{rules_version - 1}"


def register(client: Client) -> list[str]:
    """Registers a Gymnasium environment for each game that a client's server offers.

    An environment of `gymnasium.make(id)` uses the same server, or, for a private server, one of the same
    program. `boardwire/Game-v0` needs no registration, but the arguments `game` and `address`.

    Args:
        client: A client of the server. Ids that are already registered do not change.

    Returns:
        The ids, in the order of the games.
    """
    return register_games(client.games(), client._found_by)


def register_games(games: Iterable[GameSpec], address: Address | None = None) -> list[str]:
    """Registers an environment for each game, on the server at `address`; by default a private server."""
    ids = {environment_id(game.id, game.rules_version): game.id for game in games}
    for name, game in ids.items():
        _register(name, {"game": game} if address is None else {"game": game, "address": address})
    return list(ids)


def _register(name: str, arguments: dict[str, object]) -> None:
    import gymnasium

    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point="boardwire.envs:BoardwireEnv",
            vector_entry_point="boardwire.envs:BoardwireVectorEnv",
            kwargs=arguments,
            order_enforce=True,
        )


def register_installed() -> None:
    """Registers `boardwire/Game-v0` and the games of this package's server, if Gymnasium is installed."""
    if importlib.util.find_spec("gymnasium") is not None:
        listed = importlib.resources.files("boardwire").joinpath("games.json").read_bytes()
        register_games(json.loads(listed, object_hook=lambda game: SimpleNamespace(**game)))
        _register("boardwire/Game-v0", {})
