"""Two ways to wait: one blocks the thread that calls, one awaits in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class Way(Protocol):
    """How answers are waited for.

    Attributes:
        awaits: Whether the extension is to give what an event loop awaits.
    """

    awaits: bool

    async def given(self, answer: Any) -> Any:
        """The answer that the extension gave, or that it gave a future for."""

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        """Calls what blocks for long."""


class _Blocking:
    awaits = False

    async def given(self, answer: Any) -> Any:
        return answer

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        return function(*args)


class _Awaiting:
    awaits = True

    async def given(self, answer: Any) -> Any:
        return await answer

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        return await asyncio.to_thread(function, *args)


BLOCKING: Way = _Blocking()
AWAITING: Way = _Awaiting()
