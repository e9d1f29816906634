"""Markers of blocking calls: in these modules a call blocks the thread of the caller.

Each client module is written once, with blocking calls, which `result_of`, `each_of` or `in_thread` mark.
From these modules `client-py/tools/aio.py` generates `boardwire.aio`, where the same calls are awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Whether the extension returns awaitables for an event loop.
AWAITS = False


def result_of(answer: _T) -> _T:
    """Returns the result of a blocking call; `boardwire.aio` awaits the call instead."""
    return answer


def each_of(answers: Iterable[_T]) -> Iterable[_T]:
    """Returns a generator that blocks for each item; `boardwire.aio` iterates it with `async for`."""
    return answers


def in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Calls a function that may block for long; `boardwire.aio` runs it in a thread."""
    return function(*args, **kwargs)


def ready(value: _T) -> _T:
    """Returns a value that is already available; `boardwire.aio` makes it awaitable."""
    return value
