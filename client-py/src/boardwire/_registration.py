"""Gymnasium's ids of the games served, read from a list that is written anew with the goldens.

Gymnasium looks ids up in a plain registry and has no hook for a whole namespace, and no plugins since
1.0: ids must stand there before `make`. To import this package starts no process for that.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import json
from collections.abc import Iterable

from ._spec import Game


def environment_id(game: str, rules_version: int) -> str:
    """Gymnasium's id of a game: `boardwire/GoldenCompass-v0` for `golden_compass`.

    Versions of environments count from 0, those of rules from 1; both move together.
    """
    name = "".join(word.capitalize() for word in game.split("_"))
    return f"boardwire/{name}-v{rules_version - 1}"


def register(games: Iterable[Game]) -> list[str]:
    """Registers an environment for each game, as `register(client.games())` for those of another server.

    Args:
        games: The games; what is registered already stays as it is.

    Returns:
        Their ids, in the same order.
    """
    return [_register(game.id, game.rules_version) for game in games]


def _register(game: str, rules_version: int) -> str:
    import gymnasium

    name = environment_id(game, rules_version)
    if name not in gymnasium.registry:
        gymnasium.register(
            name,
            entry_point="boardwire.envs:BoardwireEnv",
            vector_entry_point="boardwire.envs:BoardwireVectorEnv",
            kwargs={"game": game},
            order_enforce=True,
        )
    return name


def register_installed() -> None:
    """Registers the games of the server that comes with this package, where there is Gymnasium."""
    if importlib.util.find_spec("gymnasium") is not None:
        for game in json.loads(importlib.resources.files("boardwire").joinpath("games.json").read_bytes()):
            _register(game["id"], game["rules_version"])
