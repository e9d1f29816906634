"""What environments do when their match or batch is gone: a step says so, and a reset opens anew."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from .._spec import GameSpec
from ..errors import GONE, BoardwireError

_T = TypeVar("_T")


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
        except GONE:
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


@contextlib.contextmanager
def unspent(random: np.random.Generator) -> Iterator[None]:
    """Puts a generator back if the block fails, so that the next try draws the same."""
    state = random.bit_generator.state
    try:
        yield
    except BaseException:
        random.bit_generator.state = state
        raise
