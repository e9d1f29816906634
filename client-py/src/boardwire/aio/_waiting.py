"""Helpers of the generated modules for calls that are awaited; `boardwire._waiting` is the blocking version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Whether the extension returns awaitables for an event loop.
AWAITS = True


async def in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Calls a function that may block for long, in a thread."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def ready(value: _T) -> _T:
    """Returns a value that is already available, as an awaitable."""
    return value
