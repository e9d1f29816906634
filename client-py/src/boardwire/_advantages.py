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
    """Computes generalized advantage estimation along the decisions of each seat.

    The reward of a decision is all that its seat earns until its next decision or the end of the episode.
    The estimate bootstraps from the value of the seat's next decision. One time step is one decision of the
    seat.

    Args:
        seat: `uint8[steps, n]`, the seat that decided; 255 for none.
        value: `float32[steps, n]`, the value of the decision for that seat.
        reward: `float32[steps, n, seats]`, the reward of every seat in the step after the decision.
        over: `bool[steps, n]`, whether an episode ended in that step.
        last_seat: `uint8[n]`, the seat that decides after the last step; 255 for none.
        last_value: `float32[n]`, the value of that decision.
        gamma: The discount factor per decision.
        lam: The lambda of the estimation: the weight of the next decision's advantage.

    Returns:
        `float32[steps, n]` advantages, and `bool[steps, n]`, True for the valid ones. An advantage is valid
        if its seat decides again within the steps or just after them, or if its episode ended. Otherwise
        the decision is the seat's last one in the steps, and its outcome is not known yet.
    """
    steps, n, seats = reward.shape
    rows = np.arange(n)
    # By environment and seat: value and advantage of the seat's next decision, and the reward until then.
    following, gained, earned = (np.zeros((n, seats), np.float32) for _ in range(3))
    # Whether the seat's next decision is known, or known not to exist because the episode ended.
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
