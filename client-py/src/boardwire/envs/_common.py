"""Code that all environments share: seeds, opponents, warnings and the handling of lost batches."""

from __future__ import annotations

import contextlib
import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from .._line_ups import check_bot
from .._rollouts import Policy
from .._spec import GameSpec
from .._types import IllegalActions
from ..errors import LOST, BoardwireError

_T = TypeVar("_T")

#: One opponent for every other seat, or one for each of the other seats in order. An opponent is a bot's
#: name, such as `greedy`, `mc:160` or `policy:NAME`, or a function that returns actions for `Decisions`.
Opponents = str | Policy | Sequence[str | Policy]

#: The seeds of a vector environment: one number, one seed or None for each environment, or None.
Seeds = SupportsIndex | Sequence[int | None] | NDArray[np.integer] | None


class Remade:
    """An environment that is copied or unpickled by calling its constructor again, without a reset."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Stores the arguments of the constructor."""
        made = super().__new__(cls)
        made.__dict__["_arguments"] = args, kwargs
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a call of the constructor with the stored arguments."""
        args, kwargs = self.__dict__["_arguments"]
        return functools.partial(type(self), *args, **kwargs), ()

    def __deepcopy__(self, memo: object) -> Any:
        """Calls the constructor again."""
        make, _ = self.__reduce__()
        return make()


class IllegalActionWarning(RuntimeWarning):
    """A warning that an illegal action was replaced: the policy ignores the mask or reads a wrong one."""


class IllegalActionNotice:
    """An environment's one-time warning, given when an illegal action is replaced for the first time."""

    def __init__(self, spec: GameSpec, policy: IllegalActions) -> None:
        """Stores the environment's `illegal_actions` mode as `policy`."""
        self.is_due = True
        self._spec = spec
        self._policy = policy

    def give(self, action: int, of: str = "") -> None:
        """Warns, unless it warned before; `of` names whose action it was."""
        if not self.is_due:
            return
        self.is_due = False
        warnings.warn(
            f"action {action} ({self._spec.actions[action].label}){of} was illegal, and another was played "
            f"for it, as illegal_actions={self._policy!r} says; the legal ones are in the action mask. This "
            "environment says so once.",
            IllegalActionWarning,
            # Without wrappers, the warning points to the caller of the environment's `step`.
            stacklevel=4,
        )


class Players(NamedTuple):
    """The agent's opponents by seat.

    Attributes:
        bots: The names of the bots, which play in the server.
        policies: The policies, which play in this process.
    """

    bots: dict[int, str]
    policies: dict[int, Policy]


def players(seats: int, agent_seat: int, opponents: Opponents) -> Players:
    """Assigns the opponents to the seats that the agent does not take.

    Raises:
        ValueError: `agent_seat` does not exist, the number of opponents is wrong, or an opponent is named
            `agent`.
        TypeError: An opponent is neither a name nor callable.
    """
    if not 0 <= agent_seat < seats:
        raise ValueError(f"agent_seat={agent_seat} is not a seat: there are {seats}")
    others: list[Any]
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        others = list(opponents)
    else:
        others = [opponents] * (seats - 1)
    if len(others) != seats - 1:
        raise ValueError(f"{len(others)} opponents for the {seats - 1} other seats")
    found = Players({}, {})
    for seat, player in zip((s for s in range(seats) if s != agent_seat), others, strict=True):
        if isinstance(player, str):
            check_bot(player)
            found.bots[seat] = player
        elif callable(player):
            found.policies[seat] = player
        else:
            raise TypeError(f"the opponent at seat {seat} is neither a bot's name nor callable: {player!r}")
    return found


def draw(random: np.random.Generator) -> int:
    """Draws the seed of an environment's next episode."""
    return int(random.integers(2**64, dtype=np.uint64))


def one_seed(seed: SupportsIndex | None) -> int | None:
    """Converts a seed, such as a NumPy integer, to the `int` that Gymnasium's generators take.

    Raises:
        TypeError: The seed is not an integer.
    """
    return None if seed is None else operator.index(seed)


def is_one(seed: Seeds) -> bool:
    """Returns whether the seed is one number. The type cannot tell: arrays are `SupportsIndex`, too."""
    return seed is not None and np.ndim(np.asarray(seed, dtype=object)) == 0


def for_each(seed: Seeds, environments: int) -> list[int | None] | None:
    """Returns the seed of each environment; a single number `n` seeds environment i with `n + i`.

    Raises:
        ValueError: There are more or fewer seeds than environments.
    """
    if seed is None:
        return None
    given = np.asarray(seed, dtype=object)
    if not given.ndim:
        return [operator.index(given.item()) + i for i in range(environments)]
    if given.shape != (environments,):
        raise ValueError(f"{len(given)} seeds for {environments} environments")
    return [None if one is None else operator.index(one) for one in given]


def first_episodes(seeds: Iterable[int]) -> NDArray[np.uint64]:
    """Returns the seeds of the first episodes that single environments with these seeds play.

    Raises:
        gymnasium.error.Error: A seed is negative.
    """
    return np.array([draw(seeding.np_random(seed)[0]) for seed in seeds], dtype=np.uint64)


def later_episodes(seeds: Mapping[int, int]) -> int:
    """Derives the batch seed for all episodes after the first from the environments' seeds.

    If every environment i has the seed `n + i`, the result depends only on `n`, not on the number of
    environments.
    """
    origins = sorted({(seed - environment) % 2**64 for environment, seed in seeds.items()})
    return int(np.random.SeedSequence(origins).generate_state(1, np.uint64)[0])


@contextlib.contextmanager
def unspent(random: np.random.Generator) -> Iterator[None]:
    """Restores a generator's state if the block fails, so that a retry draws the same values."""
    state = random.bit_generator.state
    try:
        yield
    except BaseException:
        random.bit_generator.state = state
        raise


def advised(failure: BoardwireError, advice: str = "reset the environment") -> BoardwireError:
    """Returns the same error with advice before its message."""
    return type(failure)(
        f"{advice}. {failure.message}",
        code=failure.code,
        reason=failure.reason,
        metadata=failure.metadata,
    )


def dealt(again: Callable[[], _T] | None, fresh: Callable[[], _T], close: Callable[[], None]) -> _T:
    """Begins an episode in the open batch, or in a new one if there is none or it is lost.

    Closes a lost batch, and a new batch in which the episode fails to begin.
    """
    if again is not None:
        try:
            return again()
        except LOST:
            close()
    try:
        return fresh()
    except BaseException:
        close()
        raise


def check_table(known: GameSpec, now: GameSpec) -> None:
    """Checks that the server plays the game version that the environment's spaces were built for.

    Raises:
        BoardwireError: The server was restarted with another version of the game.
    """
    if now.digest != known.digest:
        raise BoardwireError(
            f"the server plays {known.game.id} in another version than when the environment was made: make "
            "the environment again"
        )
