"""Connections to servers: calls, retries, the errors of a lost connection, and objects to close.

Generated from boardwire/_connection.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import abc
import contextlib
import math
import os
import time
import weakref
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import LOST, BoardwireError, ConnectionLost
from ._waiting import AWAITS, in_thread, ready

if TYPE_CHECKING:
    from typing_extensions import Self
MESSAGE_BYTES = 64 * 1024 * 1024
ATTEMPTS = 2
REPEAT_CALL = "repeat the call when a server responds at this address again"
CLOSED = "CLOSED"
_UNKNOWN_REASONS = ("MATCH_UNKNOWN", "INVITATION_UNKNOWN", "BATCH_UNKNOWN", "SEARCH_UNKNOWN")
_CLIENT_REASONS = ("", "NOT_CONNECTED", CLOSED)


class Closing(abc.ABC):
    """An object that a `with` statement enters and closes."""

    @abc.abstractmethod
    async def close(self) -> object:
        """Closes the object."""
        return await ready(None)

    async def __aenter__(self) -> Self:
        """Returns the object itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the object.

        It ignores `LOST` errors, since a lost object needs no closing. If the block raised an error, no
        `BoardwireError` from closing hides it.
        """
        try:
            await self.close()
        except BoardwireError as failure:
            if error is None and (not isinstance(failure, LOST)):
                raise


class Connection:
    """A connection to one server; each process opens its own channel at its first call.

    Attributes:
        address: The address at which the server listens.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: _core.Tls | None = None,
        account: str | None = None,
        reason_gone: Callable[[], str] = lambda: "",
        restart_note: str = "",
    ) -> None:
        """Stores the arguments, and opens no channel yet.

        Args:
            address: The address at which the server listens.
            tls: The TLS configuration; without it, the connection is plaintext.
            account: The token of the account that the calls belong to.
            reason_gone: Returns why the server is gone, or an empty string if unknown; may block briefly.
            restart_note: Why the server may have lost its matches, batches and searches; it is added to
                errors about them.
        """
        self.address = address
        self._tls = tls
        self._account = account
        self._reason_gone = reason_gone
        self._restart_note = restart_note
        self._channels: dict[int, _core.Channel] = {}

    @property
    def channel(self) -> _core.Channel:
        """The channel of this process."""
        process = os.getpid()
        channel = self._channels.get(process)
        if channel is None:
            opened = _core.Channel(self.address, tls=self._tls, account=self._account, awaits=AWAITS)
            channel = self._channels.setdefault(process, opened)
        return channel

    def has(self, channel: _core.Channel | None) -> bool:
        """Returns whether `channel` is the channel of this process and is not closed."""
        return channel is not None and self._channels.get(os.getpid()) is channel

    async def call(
        self,
        method: str,
        request: dict[str, Any],
        *,
        timeout: float | None,
        token: str = "",
        attempts: int = 1,
        advice: str = REPEAT_CALL,
    ) -> dict[str, Any]:
        """Makes one call, and retries it after a lost connection while `attempts` remain.

        An error with a reason is not retried.

        Args:
            method: The method, such as `MatchService/Act`.
            request: The fields of the request.
            timeout: The limit of each attempt, in seconds.
            token: The token that authenticates the caller.
            attempts: The largest number of attempts.
            advice: What the caller can do when the connection is lost while the server may still run.

        Returns:
            The fields of the response.

        Raises:
            BoardwireError: The call failed.
        """
        while True:
            attempts -= 1
            try:
                answer: dict[str, Any] = await self.channel.call(method, request, token, timeout)
            except BoardwireError as error:
                failure = await self.with_details(error, advice)
                if attempts <= 0 or not isinstance(failure, ConnectionLost) or failure.reason:
                    raise failure from None
            else:
                return answer

    @property
    def connection(self) -> Self:
        """The connection to the server that has the existing matches and batches: this one."""
        return self

    async def ask(
        self, method: str, request: dict[str, Any], *, timeout: float | None, attempts: int = 1
    ) -> tuple[dict[str, Any], Connection]:
        """Makes a call that needs no existing match, batch or search.

        Returns:
            The response, and the connection to the server that sent it.

        Raises:
            BoardwireError: The call failed.
        """
        return (await self.call(method, request, timeout=timeout, attempts=attempts), self)

    async def with_details(self, error: BoardwireError, advice: str = REPEAT_CALL) -> BoardwireError:
        """Returns the error to raise for a failed call, completed with what the client knows of the server.

        The error of a lost connection gets the address. If it has no reason, it also gets why the server is
        gone, or else `advice`. An error about an unknown match, invitation, batch or search gets the restart
        note.
        """
        if isinstance(error, ConnectionLost) and error.reason in _CLIENT_REASONS:
            message = f"no response from {self.address} ({error.message})"
            if not error.reason:
                message = f"{message}: {await self.cause_or(advice)}"
            return ConnectionLost(message, code=error.code, reason=error.reason)
        if self._restart_note and error.reason in _UNKNOWN_REASONS:
            message = f"{error.message}; {self._restart_note}"
            return type(error)(message, code=error.code, reason=error.reason, metadata=error.metadata)
        return error

    async def cause_or(self, advice: str) -> str:
        """Returns why the server is gone, if the client knows it; else `advice`."""
        return await in_thread(self._reason_gone) or advice

    def release(self, process: int, method: str, request: dict[str, Any], token: str) -> None:
        """Releases an object on the server if this process opened it.

        Waits for no response and raises no `BoardwireError`, because the garbage collector may call it.
        """
        channel = self._channels.get(process)
        if process == os.getpid() and channel is not None:
            with contextlib.suppress(BoardwireError):
                channel.notify(method, request, token)

    async def close(self) -> None:
        """Closes the channel of this process; the next call opens a new one."""
        await in_thread(self.disconnect)

    def disconnect(self) -> None:
        """Closes the channel of this process in the calling thread."""
        channel = self._channels.pop(os.getpid(), None)
        if channel is not None:
            channel.close()


def deadline(timeout: float | None) -> float:
    """Returns when a timeout in seconds ends, by `time.monotonic`; None means without limit."""
    return math.inf if timeout is None else time.monotonic() + timeout


def lease(thing: object, connection: Connection, method: str, request: dict[str, Any], token: str) -> Any:
    """Releases the server's part of a Python object when the garbage collector removes the object.

    The exit of the interpreter does not release it.

    Args:
        thing: The Python object, such as a batch.
        connection: The connection that opened it.
        method: The method that releases it.
        request: The fields of the request.
        token: The token that authenticates the owner.

    Returns:
        The `weakref.finalize`: the caller detaches it after releasing the object itself.
    """
    finalizer = weakref.finalize(thing, connection.release, os.getpid(), method, request, token)
    finalizer.atexit = False
    return finalizer


async def pages(page: Callable[[str], Any]) -> AsyncIterator[dict[str, Any]]:
    """Yields the response for each page of a paginated call; `page` fetches one page by its token."""
    token = ""
    while True:
        answer = await page(token)
        yield answer
        token = answer["next_page_token"]
        if not token:
            return
