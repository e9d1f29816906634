"""All tables of all games in the engine, and helpers that tests of them share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boardwire
import boardwire.envs

#: For tests with third-party checkers: these choose actions without a legal mask.
MASKLESS = pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")

with boardwire.connect("local:") as _client:
    GAMES = _client.games()

#: The Gymnasium id of each game.
IDS = {game.id: boardwire.envs.environment_id(game.id, game.rules_version) for game in GAMES}
#: Each game with each number of seats.
TABLES = [(game.id, seats) for game in GAMES for seats in range(game.min_seats, game.max_seats + 1)]


def lowest(mask: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns the lowest legal action of each row."""
    return np.asarray(mask.argmax(axis=1), dtype=np.uint8)


def first_legal(decisions: boardwire.Decisions) -> NDArray[np.int64]:
    """A policy: the lowest legal action."""
    return lowest(decisions.mask).astype(np.int64)


def last_legal(decisions: boardwire.Decisions) -> NDArray[np.int64]:
    """A policy: the highest legal action."""
    highest: NDArray[np.int64] = decisions.mask.shape[1] - 1 - decisions.mask[:, ::-1].argmax(axis=1)
    return highest
