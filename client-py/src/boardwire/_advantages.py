"""Generalized advantage estimation where several seats decide in turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._types import NOBODY

Floats = NDArray[np.float32]


def advantages(
    seat: NDArray[np.uint8],
    value: Floats,
    reward: Floats,
    over: NDArray[np.bool_],
    last_seat: NDArray[np.uint8],
    last_value: Floats,
    *,
    gamma: float,
    lam: float,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Generalized advantage estimation along the decisions of each seat.

    What a seat earns until its next decision, or the end, is the reward of its decision; the value of its
    next decision stands for what follows. Time is counted in a seat's own decisions.

    Args:
        seat: `uint8[steps, n]`, who decided; 255 nobody.
        value: `float32[steps, n]`, what it expected.
        reward: `float32[steps, n, seats]`, what every seat earned in the step that followed.
        over: `bool[steps, n]`, whether an episode ended in that step.
        last_seat: `uint8[n]`, who decides after the last step; 255 nobody.
        last_value: `float32[n]`, what it expects.
        gamma: The discount of a decision.
        lam: How much of the next decision's advantage counts.

    Returns:
        `float32[steps, n]` advantages, and `bool[steps, n]`, for which decisions: those whose seat decides
        again within the steps or just after them, or whose episode ended. Of the others, a seat's last before
        the end of the steps, nothing is known yet.
    """
    steps, n, seats = reward.shape
    rows = np.arange(n)
    # By environment and seat, of its next decision: its value and advantage, and what is earned until then.
    following, gained, earned = (np.zeros((n, seats), np.float32) for _ in range(3))
    # Whether its next decision is known, or that there is none in the episode.
    known = np.zeros((n, seats), np.bool_)
    at = np.flatnonzero(last_seat != NOBODY)
    following[at, last_seat[at]] = last_value[at]
    known[at, last_seat[at]] = True
    out, valid = np.zeros((steps, n), np.float32), np.zeros((steps, n), np.bool_)
    for step in reversed(range(steps)):
        ends = over[step]
        for column in (following, gained, earned):
            column[ends] = 0
        known[ends] = True
        earned += reward[step]
        at = np.flatnonzero(seat[step] != NOBODY)
        who = rows[at], seat[step, at]
        surprise = earned[who] + gamma * following[who] - value[step, at]
        gain = np.where(known[who], surprise + gamma * lam * gained[who], 0)
        out[step, at], valid[step, at] = gain, known[who]
        following[who], gained[who], earned[who] = value[step, at], gain, 0
        known[who] = True
    return out, valid
