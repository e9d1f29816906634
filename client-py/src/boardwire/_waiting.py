"""How the calls of a client wait: they block the thread that calls.

Whatever waits is written once, as calls that block, and marked by `result_of`, `each_of` or `aside`. From
these modules `client-py/tools/aio.py` makes those of `boardwire.aio`, where the same is awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Whether the extension is to give what an event loop awaits.
AWAITS = False


def result_of(answer: _T) -> _T:
    """What a call gives that has waited for it."""
    return answer


def each_of(answers: Iterable[_T]) -> Iterable[_T]:
    """One after another what a generator gives that waits for each."""
    return answers


def aside(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Calls what blocks for long."""
    return function(*args, **kwargs)


def given(value: _T) -> _T:
    """What is there already, where others wait for it."""
    return value
