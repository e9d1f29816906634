"""Every table of every game served, and what tests of all of them share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import boardwire
import boardwire.envs

#: Checkers that nobody here wrote choose without masks.
MASKLESS = pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")

with boardwire.connect("local:") as _client:
    GAMES = _client.games()

#: Gymnasium's id of each game.
IDS = {game.id: boardwire.envs.environment_id(game.id, game.rules_version) for game in GAMES}
#: Each game with each number of seats.
TABLES = [(game.id, seats) for game in GAMES for seats in range(game.min_seats, game.max_seats + 1)]


def lowest(mask: NDArray[np.int8]) -> NDArray[np.uint8]:
    """The lowest legal action of each row."""
    return np.asarray(mask.argmax(axis=1), dtype=np.uint8)


def first_legal(asked: boardwire.Decisions) -> NDArray[np.int64]:
    """A policy: the lowest legal action."""
    return lowest(asked.mask).astype(np.int64)


def last_legal(asked: boardwire.Decisions) -> NDArray[np.int64]:
    """A policy: the highest legal action."""
    highest: NDArray[np.int64] = asked.mask.shape[1] - 1 - asked.mask[:, ::-1].argmax(axis=1)
    return highest
