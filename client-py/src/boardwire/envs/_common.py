"""What environments of all kinds share: seeds, opponents, warnings, what to do when a batch is gone."""

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

#: Who plays at every other seat, or at each of them in order: a bot's name, such as `greedy`, `mc:160` or
#: `policy:NAME`, or a function that gives actions for `Decisions`.
Opponents = str | Policy | Sequence[str | Policy]

#: One seed for a vector environment, one for each of its environments, or none.
Seeds = SupportsIndex | Sequence[int | None] | NDArray[np.integer] | None


class Remade:
    """An environment whose copies, pickled ones too, are made again from its arguments, and not reset."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Keeps the arguments."""
        made = super().__new__(cls)
        made.__dict__["_arguments"] = args, kwargs
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Makes it again."""
        args, kwargs = self.__dict__["_arguments"]
        return functools.partial(type(self), *args, **kwargs), ()

    def __deepcopy__(self, memo: object) -> Any:
        """Makes it again."""
        make, _ = self.__reduce__()
        return make()


class IllegalActionWarning(RuntimeWarning):
    """An action was illegal and another was played for it: the policy reads no mask, or a wrong one."""


class IllegalActionNotice:
    """Warns of the first illegal action of an environment that was replaced, and of no other."""

    def __init__(self, spec: GameSpec, policy: IllegalActions) -> None:
        """Has nothing to warn of yet; `policy` is what replaces illegal actions."""
        self.is_due = True
        self._spec = spec
        self._policy = policy

    def give(self, action: int, of: str = "") -> None:
        """Warns, unless it has done so; `of` names whose action it was."""
        if not self.is_due:
            return
        self.is_due = False
        warnings.warn(
            f"action {action} ({self._spec.actions[action].label}){of} was illegal, and another was played "
            f"for it, as illegal_actions={self._policy!r} says; the legal ones are in the action mask. This "
            "environment says so once.",
            IllegalActionWarning,
            # The caller of the environment's `step`, unless there are wrappers.
            stacklevel=4,
        )


class Players(NamedTuple):
    """Who plays at the other seats, by seat.

    Attributes:
        bots: The names of those who play in the server.
        policies: Those who play in this process.
    """

    bots: dict[int, str]
    policies: dict[int, Policy]


def players(seats: int, agent_seat: int, opponents: Opponents) -> Players:
    """Seats the opponents beside the agent.

    Raises:
        ValueError: The agent's seat is not there, the opponents are too few or too many, or one is named as
            no bot is.
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
    """The seed of an environment's next episode."""
    return int(random.integers(2**64, dtype=np.uint64))


def one_seed(seed: SupportsIndex | None) -> int | None:
    """A seed as Gymnasium's generators take it, from numpy's whole numbers too.

    Raises:
        TypeError: It is no whole number.
    """
    return None if seed is None else operator.index(seed)


def is_one(seed: Seeds) -> bool:
    """Whether it is one number. Arrays would pass for one by their type."""
    return seed is not None and np.ndim(np.asarray(seed, dtype=object)) == 0


def for_each(seed: Seeds, environments: int) -> list[int | None] | None:
    """The seed of each environment: one number seeds environment i with it plus i.

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
    """The seeds of the first episodes that single environments with these seeds play.

    Raises:
        gymnasium.error.Error: A seed is negative.
    """
    return np.array([draw(seeding.np_random(seed)[0]) for seed in seeds], dtype=np.uint64)


def later_episodes(seeds: Mapping[int, int]) -> int:
    """The seed that the episodes after the first come from, by the seeds of environments.

    Where they count up from one number with the environments, it depends on that number alone, not on how
    many environments there are.
    """
    origins = sorted({(seed - environment) % 2**64 for environment, seed in seeds.items()})
    return int(np.random.SeedSequence(origins).generate_state(1, np.uint64)[0])


@contextlib.contextmanager
def unspent(random: np.random.Generator) -> Iterator[None]:
    """Puts a generator back if the block fails, so that the next try draws the same."""
    state = random.bit_generator.state
    try:
        yield
    except BaseException:
        random.bit_generator.state = state
        raise


def advised(
    failure: BoardwireError, advice: str = "reset the environment, which then begins anew"
) -> BoardwireError:
    """The same failure, with what to do about it."""
    return type(failure)(
        f"{advice}. {failure.message}",
        code=failure.code,
        reason=failure.reason,
        metadata=failure.metadata,
    )


def dealt(again: Callable[[], _T] | None, anew: Callable[[], _T], close: Callable[[], None]) -> _T:
    """Begins an episode: again at the table there is, or anew, when that one is gone or there is none.

    A table at which none begins is closed.
    """
    if again is not None:
        try:
            return again()
        except LOST:
            close()
    try:
        return anew()
    except BaseException:
        close()
        raise


def check_table(known: GameSpec, now: GameSpec) -> None:
    """Makes sure that what is played is what the environment's spaces were made for.

    Raises:
        BoardwireError: The server was started again with another version of the game.
    """
    if now.digest != known.digest:
        raise BoardwireError(
            f"the server plays {known.game.id} in another version than when the environment was made: make "
            "the environment again"
        )
