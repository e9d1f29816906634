"""Connections to servers: calls, and what to do when one is lost.

Generated from boardwire/_connection.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import contextlib
import os
import weakref
from collections.abc import Callable, AsyncIterator
from typing import TYPE_CHECKING, Any
from .. import _core
from ._waiting import AWAITS, aside
from ..errors import BoardwireError, ConnectionLost
if TYPE_CHECKING:
    from typing_extensions import Self
MESSAGE_BYTES = 64 * 1024 * 1024
ATTEMPTS = 2
REPEAT = 'repeat the call when a server answers there again'
_UNKNOWN = ('MATCH_UNKNOWN', 'INVITATION_UNKNOWN', 'BATCH_UNKNOWN', 'SEARCH_UNKNOWN')
_OURS = ('', 'NOT_CONNECTED', 'CLOSED')

class Connection:
    """A channel to one server, opened at the first call of each process.

    Attributes:
        address: Where the server listens.
    """

    def __init__(self, address: str, *, tls: _core.Tls | None=None, account: str | None=None, story: Callable[[], str]=lambda: '', past: str='') -> None:
        """Opens nothing yet.

        Args:
            address: Where the server listens.
            tls: What the connection is secured with; without it it is not.
            account: The token of the account that calls are for.
            story: Tells why the server is gone, or nothing; it may take a moment.
            past: Why the server may not know what its client asks for.
        """
        self.address = address
        self._tls = tls
        self._account = account
        self._story = story
        self._past = past
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
        """Whether this is the channel of this process, and has not been closed."""
        return channel is not None and self._channels.get(os.getpid()) is channel

    async def call(self, method: str, request: dict[str, Any], *, timeout: float, token: str='', attempts: int=1, advice: str=REPEAT) -> dict[str, Any]:
        """Makes one call, again after a lost connection when more `attempts` are allowed.

        Args:
            method: The method, such as `MatchService/Act`.
            request: The fields of its request.
            timeout: Seconds that each attempt may take.
            token: What proves who calls.
            attempts: How often to try.
            advice: What to do when the connection is lost while the server may run on.

        Returns:
            The fields of its answer.

        Raises:
            BoardwireError: The call failed.
        """
        while True:
            attempts -= 1
            try:
                answer: dict[str, Any] = await self.channel.call(method, request, token, timeout)
            except BoardwireError as error:
                failure = await self.explained(error, advice)
                if attempts <= 0 or not isinstance(failure, ConnectionLost) or failure.reason:
                    raise failure from None
            else:
                return answer

    @property
    def connection(self) -> Self:
        """The connection for what the server knows already: this one."""
        return self

    async def ask(self, method: str, request: dict[str, Any], *, timeout: float, attempts: int=1) -> tuple[dict[str, Any], Connection]:
        """Makes a call that needs nothing that was there before.

        Returns:
            The answer, and the connection to the server that has given it.

        Raises:
            BoardwireError: The call failed.
        """
        return (await self.call(method, request, timeout=timeout, attempts=attempts), self)

    async def explained(self, error: BoardwireError, advice: str=REPEAT) -> BoardwireError:
        """The error of a call, with what is known of the server, and what to do."""
        if isinstance(error, ConnectionLost) and error.reason in _OURS:
            told = f'no answer from {self.address} ({error.message})'
            if not error.reason:
                told = f'{told}: {await self.what_now(advice)}'
            return ConnectionLost(told, code=error.code, reason=error.reason)
        if self._past and error.reason in _UNKNOWN:
            told = f'{error.message}; {self._past}'
            return type(error)(told, code=error.code, reason=error.reason, metadata=error.metadata)
        return error

    async def what_now(self, advice: str) -> str:
        """Why the server is gone, where that is known; else the advice."""
        return await aside(self._story) or advice

    def give_back(self, process: int, method: str, request: dict[str, Any], token: str) -> None:
        """Gives back what this process has opened, without waiting: the garbage collector may ask for it."""
        channel = self._channels.get(process)
        if process == os.getpid() and channel is not None:
            with contextlib.suppress(BoardwireError):
                channel.notify(method, request, token)

    async def close(self) -> None:
        """Closes the channel of this process; the next call opens another."""
        await aside(self.hang_up)

    def hang_up(self) -> None:
        """Does so at once."""
        channel = self._channels.pop(os.getpid(), None)
        if channel is not None:
            channel.close()

def lease(thing: object, connection: Connection, method: str, request: dict[str, Any], token: str) -> Any:
    """Sees to it that what a server holds for a thing is given back when nobody has the thing any more.

    Args:
        thing: The thing.
        connection: What it was opened over.
        method: The method that gives it back.
        request: The fields of its request.
        token: What proves the owner.

    Returns:
        What is to be detached when it has been given back.
    """
    finalizer = weakref.finalize(thing, connection.give_back, os.getpid(), method, request, token)
    finalizer.atexit = False
    return finalizer

async def pages(page: Callable[[str], Any]) -> AsyncIterator[dict[str, Any]]:
    """All answers of a call that answers page by page."""
    token = ''
    while True:
        answer = await page(token)
        yield answer
        token = answer['next_page_token']
        if not token:
            return