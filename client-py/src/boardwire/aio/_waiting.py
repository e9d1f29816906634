"""How the calls of a client are awaited; the other one is `boardwire._waiting`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: Whether the extension is to give what an event loop awaits.
AWAITS = True


async def aside(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Calls what blocks for long, in a thread."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def given(value: _T) -> _T:
    """What is there already, where others wait for it."""
    return value
