"""Gymnasium's ids of the games served: asked of the server, so that a new game needs no line here.

Gymnasium looks ids up in a plain registry and has no hook for a whole namespace, and no plugins since
1.0: ids must stand there before `make`. The installed binary lists its games in a few milliseconds, without
a server, when this package is imported.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import warnings
from collections.abc import Iterable

from ._server import find_binary
from ._spec import Game
from .errors import StartError

_SECONDS = 30.0


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
    """Registers the games of the installed binary, where there are Gymnasium and a binary."""
    if importlib.util.find_spec("gymnasium") is None:
        return
    try:
        binary = find_binary()
    except StartError:
        return
    try:
        command = [str(binary), "games", "--json"]
        listing = subprocess.run(command, capture_output=True, check=True, timeout=_SECONDS, text=True)
        for game in json.loads(listing.stdout):
            _register(game["id"], game["rules_version"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as cause:
        warnings.warn(f"{binary} does not list its games, so none is registered: {cause}", stacklevel=3)
