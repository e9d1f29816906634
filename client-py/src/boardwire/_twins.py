"""One implementation, and two ways to wait for it: in the thread that calls, or in an event loop.

Clients, matches, seats and batches are written once, as coroutines. On a way that blocks, none of them ever
gives up control, so `run` takes each to its end at one go; on a way of an event loop they are awaited. The
public classes list their methods, each `blocking` or `awaiting` the one that is written once.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .errors import (
    BatchOwnerOnly,
    BoardwireError,
    BotFailed,
    ConnectionLost,
    MatchClosed,
    UnknownBatch,
    UnknownMatch,
    UnknownSearch,
    WrongToken,
)

if TYPE_CHECKING:
    from typing_extensions import Self

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What says that a match or batch, or its whole server, is there no longer: nothing is left to close.
GONE = (
    ConnectionLost,
    UnknownMatch,
    MatchClosed,
    BotFailed,
    WrongToken,
    UnknownBatch,
    BatchOwnerOnly,
    UnknownSearch,
)


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Takes a coroutine to its end that waits for nothing but what blocks this thread."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    coroutine.close()
    raise RuntimeError("what blocks must not be awaited")


def blocking(method: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """The method as one that waits in the thread that calls it."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return run(method(*args, **kwargs))

    return _public(call)


def blocking_each(method: Callable[_P, AsyncIterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """The same for a method that gives one thing after another."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_T]:
        return _each(method(*args, **kwargs))

    return _public(call)


def awaiting(method: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """The method as one that is awaited: as it is written, under its public name."""

    @functools.wraps(method)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await method(*args, **kwargs)

    return _public(call)


def awaiting_each(method: Callable[_P, AsyncIterator[_T]]) -> Callable[_P, AsyncIterator[_T]]:
    """The same for a method that gives one thing after another."""

    @functools.wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_T]:
        return method(*args, **kwargs)

    return _public(call)


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _public(call: _Method) -> _Method:
    call.__name__ = call.__name__.lstrip("_")
    return call


def _each(things: AsyncIterator[_T]) -> Iterator[_T]:
    async def following() -> _T:
        return await anext(things)

    try:
        while True:
            try:
                thing = run(following())
            except StopAsyncIteration:
                return
            yield thing
    finally:
        if isinstance(things, AsyncGenerator):
            run(things.aclose())


class _Closable(abc.ABC):
    @abc.abstractmethod
    async def _close(self) -> object:
        """Ends it."""


class Closing(_Closable):
    """Something that `with` gives and closes."""

    def __enter__(self) -> Self:
        """Gives the thing itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it. What is gone needs no closing, and no failure to close hides that of the block."""
        run(_leave(self, error))


class AsyncClosing(_Closable):
    """Something that `async with` gives and closes."""

    async def __aenter__(self) -> Self:
        """Gives the thing itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it. What is gone needs no closing, and no failure to close hides that of the block."""
        await _leave(self, error)


async def _leave(thing: _Closable, error: BaseException | None) -> None:
    try:
        await thing._close()
    except BoardwireError as failure:
        if error is None and not isinstance(failure, GONE):
            raise
