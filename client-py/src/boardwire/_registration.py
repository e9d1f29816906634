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

from ._spec import GameSpec


def environment_id(game: str, rules_version: int) -> str:
    """Returns the Gymnasium id of a game, such as `boardwire/GoldenCompass-v0` for `golden_compass`.

    Environment versions count from 0 and rules versions from 1, so the id has `rules_version - 1`.
    """
    name = "".join(word.capitalize() for word in game.split("_"))
    return f"boardwire/{name}-v{rules_version - 1}"


def register(games: Iterable[GameSpec]) -> list[str]:
    """Registers an environment for each game; `register(client.games())` adds another server's games.

    Args:
        games: The games; ids that are already registered do not change.

    Returns:
        The ids, in the order of the games.
    """
    import gymnasium

    ids = {environment_id(game.id, game.rules_version): game.id for game in games}
    for name, game in ids.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="boardwire.envs:BoardwireEnv",
                vector_entry_point="boardwire.envs:BoardwireVectorEnv",
                kwargs={"game": game},
                order_enforce=True,
            )
    return list(ids)


def register_installed() -> None:
    """Registers the games of the server in this package, if Gymnasium is installed."""
    if importlib.util.find_spec("gymnasium") is not None:
        listed = importlib.resources.files("boardwire").joinpath("games.json").read_bytes()
        register(json.loads(listed, object_hook=lambda game: SimpleNamespace(**game)))
