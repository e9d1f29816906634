"""Code that all environments share: copies, opponents, random draws and the warning of illegal actions."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np

from .. import GameSpec, IllegalActions, Policy
from .._types import check_bot

#: One opponent for every other seat, or one for each of the other seats in order. An opponent is a bot's
#: name, such as `greedy`, `mc:160` or `policy:NAME`, or a function that returns actions for `Decisions`.
Opponents = str | Policy | Sequence[str | Policy]

#: The packages whose code may lie between a program and a step: this one, and the wrappers of frameworks.
_BETWEEN = {"boardwire", "gymnasium", "pettingzoo", "ray", "sb3_contrib", "stable_baselines3", "torchrl"}


class Reconstructed:
    """An environment that is copied or unpickled by calling its constructor again, without a reset."""

    _construct: Callable[[], Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Stores the arguments of the constructor."""
        made = super().__new__(cls)
        made._construct = functools.partial(cls, *args, **kwargs)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a call of the constructor with the stored arguments."""
        return self._construct, ()


class IllegalActionWarning(RuntimeWarning):
    """A warning that an illegal action was replaced: the policy ignores the mask or reads a wrong one."""


class IllegalActionNotice:
    """An environment's one-time warning, given when an illegal action is replaced for the first time."""

    def __init__(self, spec: GameSpec, policy: IllegalActions) -> None:
        """Stores the environment's `illegal_actions` mode as `policy`."""
        self.is_due = True
        self._spec = spec
        self._policy = policy

    def give(self, action: SupportsIndex, of: str = "") -> None:
        """Warns at the line that called the environment, unless it warned before.

        Args:
            action: The illegal action.
            of: Whose action it was.
        """
        if not self.is_due:
            return
        self.is_due = False
        index, frame, level = operator.index(action), sys._getframe(), 1
        while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
            frame, level = frame.f_back, level + 1
        warnings.warn(
            f"action {index} ({self._spec.actions[index].label}){of} was illegal, and another was played "
            f"for it, as illegal_actions={self._policy!r} says; the legal ones are in the action mask. This "
            "environment says so once.",
            IllegalActionWarning,
            stacklevel=level,
        )


def players(seats: int, agent_seat: int, opponents: Opponents) -> tuple[dict[int, str], dict[int, Policy]]:
    """Assigns the opponents to the seats that the agent does not take.

    Returns:
        The bots, which play in the server, and the policies, which play in this process; both by seat.

    Raises:
        ValueError: `agent_seat` does not exist, the number of opponents is wrong, or an opponent is named
            `agent`.
        TypeError: An opponent is neither a name nor callable.
    """
    if not 0 <= agent_seat < seats:
        raise ValueError(f"`agent_seat` must be from 0 to {seats - 1}; got {agent_seat}")
    others: list[Any]
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        others = list(opponents)
    else:
        others = [opponents] * (seats - 1)
    if len(others) != seats - 1:
        raise ValueError(
            f"`opponents` must name {seats - 1} players, one for each other seat; got {len(others)}"
        )
    bots: dict[int, str] = {}
    policies: dict[int, Policy] = {}
    for seat, player in zip((s for s in range(seats) if s != agent_seat), others, strict=True):
        if isinstance(player, str):
            check_bot(player)
            bots[seat] = player
        elif callable(player):
            policies[seat] = player
        else:
            raise TypeError(
                f"the opponent at seat {seat} must be the name of a bot or a policy; got {player!r}"
            )
    return bots, policies


def draw(random: np.random.Generator) -> int:
    """Draws the seed of an episode or a batch."""
    return int(random.integers(2**64, dtype=np.uint64))


def one_seed(seed: SupportsIndex | None) -> int | None:
    """Converts a seed, such as a NumPy integer, to the `int` that Gymnasium's generators take.

    Raises:
        TypeError: The seed is not an integer.
    """
    return None if seed is None else operator.index(seed)


@contextlib.contextmanager
def unspent(random: np.random.Generator) -> Iterator[None]:
    """Restores a generator's state if the block fails, so that a retry draws the same values."""
    state = random.bit_generator.state
    try:
        yield
    except BaseException:
        random.bit_generator.state = state
        raise
