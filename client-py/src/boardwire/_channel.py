"""Channels: options, deadlines, statuses as exceptions, and one channel for each process or event loop.

grpcio is kept below this module: callers hand in and get messages, and catch `BoardwireError` alone.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ._status import error
from ._tls import Pems, why_not
from ._ways import Metadata, Options, RpcError, Way, grpcio, read_status
from .errors import (
    BoardwireError,
    CallTimeout,
    ConnectionLost,
    UnknownBatch,
    UnknownInvitation,
    UnknownMatch,
    UnknownSearch,
)
from .v1 import batch_pb2_grpc, catalog_pb2_grpc, match_service_pb2_grpc, search_pb2_grpc

if TYPE_CHECKING:
    import grpc

#: The largest message either way, as the server has it.
MESSAGE_BYTES = 64 * 1024 * 1024
#: How often a request with a request id is sent when its response is lost.
ATTEMPTS = 2
#: The server allows a ping every 10 seconds.
KEEPALIVE_MS = 20_000

#: What a lost connection means for whoever asked for nothing that was there before.
REPEAT = "repeat the call when a server answers there again"

# What is said of things that a server may have lost.
_UNKNOWN = tuple(kind.REASON for kind in (UnknownMatch, UnknownInvitation, UnknownBatch, UnknownSearch))

#: What was opened before a fork: ending it here would wait for threads that did not come along, and speak
#: on the parent's connection.
inherited: list[object] = []


class _Garbage:
    """The same for what nobody holds any more: no forked process collects the garbage of its parent."""

    def __init__(self) -> None:
        self._is_frozen = False

    def freeze(self) -> None:
        # Whoever freezes objects for forks of their own knows best when they thaw.
        self._is_frozen = not gc.get_freeze_count()
        if self._is_frozen:
            gc.freeze()

    def thaw(self) -> None:
        if self._is_frozen:
            gc.unfreeze()


# What connections of this process hold while they open and count. What the garbage collector finds in the
# meantime may give back what it had borrowed, in the same thread.
_lock = threading.RLock()


def lock() -> AbstractContextManager[bool]:
    """Guards what all threads of this process share of connections; never held while anything is awaited."""
    return _lock


def _before_fork() -> None:
    grpcio.rest()
    _garbage.freeze()


def _after_fork() -> None:
    global _lock
    # Another thread may have held it at the fork.
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    _garbage = _Garbage()
    os.register_at_fork(before=_before_fork, after_in_parent=_garbage.thaw, after_in_child=_after_fork)

_Req = TypeVar("_Req", contravariant=True)
_Res = TypeVar("_Res", covariant=True)


class Unary(Protocol[_Req, _Res]):
    """A method of a service that takes one message and gives one."""

    def __call__(self, request: _Req, timeout: float, metadata: Any) -> _Res:
        """Makes the call."""


class Stubs:
    """The services over one channel.

    Attributes:
        users: How many calls and streams are under way on it, as far as `Connection` lends it to them.
        dropped: Whether the last of them closes it.
    """

    def __init__(self, channel: grpc.Channel) -> None:
        """Makes the stubs; nothing is sent."""
        self.channel = channel
        self.users = 0
        self.dropped = False
        self.catalog = catalog_pb2_grpc.CatalogServiceStub(channel)
        self.match = match_service_pb2_grpc.MatchServiceStub(channel)
        self.batch = batch_pb2_grpc.BatchServiceStub(channel)
        self.search = search_pb2_grpc.SearchServiceStub(channel)


class Connection:
    """A channel to one target, opened at the first call of each process, or of each event loop in it.

    A channel does not survive a fork. In a process with another id than the one that opened it, it is
    left alone, and another one opened. The same goes for a channel that has lost its server: it would wait
    longer and longer before it tried again, and refuse calls meanwhile.

    Attributes:
        target: Where the server listens.
        way: How calls are made and awaited.
    """

    def __init__(
        self,
        target: str,
        way: Way,
        *,
        pems: Pems | None = None,
        account: Metadata = (),
        channel: grpc.Channel | None = None,
        story: Callable[[], str] = lambda: "",
        past: str = "",
    ) -> None:
        """Opens nothing yet.

        Args:
            target: Where the server listens.
            way: How calls are made and awaited.
            pems: What the connection is secured with; without any it is not.
            account: The metadata that proves whose account calls are for.
            channel: What tests use instead of opening one.
            story: Tells why the server is gone, or nothing; it may take a moment.
            past: Why the server may not know what its client asks for.
        """
        self.target = target
        self.way = way
        self._pems = pems
        self._account = account
        self._given = channel
        self._story = story
        self._past = past
        self._place: tuple[int, object] = (os.getpid(), None)
        self._stubs: Stubs | None = None

    @property
    def stubs(self) -> Stubs:
        """The services over the channel of this place."""
        stubs = self._stubs
        return stubs if stubs is not None and self._place == self.way.place() else self._opened()

    def _opened(self) -> Stubs:
        place = self.way.place()
        with lock():
            if self._place[0] != place[0]:
                inherited.append(self._stubs)
            if self._stubs is None or self._place != place:
                channel = self._given or self.way.open(self.target, _options(self.target), self._pems)
                self._stubs, self._place = Stubs(channel), place
            return self._stubs

    def borrow(self) -> Stubs:
        """The services, over a channel that stays open until they are given back."""
        while True:
            stubs = self.stubs
            with lock():
                if not stubs.dropped:
                    stubs.users += 1
                    return stubs

    async def give_back(self, stubs: Stubs) -> None:
        """Ends what was borrowed."""
        with lock():
            stubs.users -= 1
            unused = stubs.dropped and not stubs.users
        if unused:
            await self.way.close(stubs.channel)

    async def drop(self, stubs: Stubs | None = None) -> None:
        """Lets the next call open another channel than this one; whoever uses this one still closes it."""
        if self._given is not None or self._place != self.way.place():
            return
        with lock():
            stubs = stubs or self._stubs
            if stubs is None or stubs.dropped:
                return
            stubs.dropped = True
            if self._stubs is stubs:
                self._stubs = None
            unused = not stubs.users
        if unused:
            await self.way.close(stubs.channel)

    async def call(
        self,
        method: Callable[[Stubs], Unary[_Req, _Res]],
        request: _Req,
        *,
        timeout: float,
        token: str = "",
        attempts: int = 1,
        advice: str = REPEAT,
    ) -> _Res:
        """Makes one call, again after a lost connection when more `attempts` are allowed.

        Args:
            method: The method of the services.
            request: Its request.
            timeout: Seconds that each attempt may take.
            token: What proves who calls.
            attempts: How often to try.
            advice: What to do when the connection is lost while the server may run on.

        Raises:
            BoardwireError: The call failed.
        """
        while True:
            attempts -= 1
            stubs = self.borrow()
            try:
                answer: _Res = await self.way.call(method(stubs), request, timeout, self.metadata(token))
                return answer
            except RpcError as status:
                failure = await self.failure(status, stubs, advice)
                if attempts <= 0 or type(failure) is not ConnectionLost:
                    raise failure from None
            finally:
                await self.give_back(stubs)

    def metadata(self, token: str) -> Metadata:
        """The metadata of a call that proves itself with this token, if it has one."""
        return (*self._account, *bearer(token))

    async def failure(
        self, status: RpcError, stubs: Stubs | None = None, advice: str = REPEAT
    ) -> BoardwireError:
        """The exception for a failed call; a lost connection's channel is dropped."""
        code, message, reason, metadata = read_status(status)
        if code == "DEADLINE_EXCEEDED":
            # The server knows a call's deadline too, and may be faster to end it.
            reason = CallTimeout.REASON
        if code == "UNAVAILABLE" and not reason:
            if stubs is not None:
                await self.drop(stubs)
            told = await self._why_not(message) or await self.what_now(advice)
            message = f"no answer from {self.target} ({message}): {told}"
        if self._past and reason in _UNKNOWN:
            message = f"{message}; {self._past}"
        return error(code, reason, message, metadata)

    async def _why_not(self, message: str) -> str:
        """Why no connection came about, if it did not and TLS is the reason."""
        if "failed to connect" not in message or self.target.startswith("unix:"):
            return ""
        return await self.way.aside(why_not, self.target, self._pems)

    async def what_now(self, advice: str) -> str:
        """Why the server is gone, where that is known; else the advice."""
        return await self.way.aside(self._story) or advice

    async def close(self) -> None:
        """Closes the channel of this place; the next call opens another."""
        stubs = self._stubs
        if stubs is not None and self._place == self.way.place():
            self._stubs = None
            await self.way.close(stubs.channel)


def bearer(token: str) -> Metadata:
    """The metadata in which a seat or host proves itself; none without a token."""
    return (("authorization", f"Bearer {token.strip()}"),) if token else ()


def check_target(target: str) -> str:
    """The target as given, if it can be one.

    Raises:
        ValueError: It is neither `host:port` nor `unix:/path`.
    """
    host, _, port = target.rpartition(":")
    if target.startswith("unix:") or (host and port.isdecimal()):
        return target
    raise ValueError(f"an address is 'host:port' or 'unix:/path', not {target!r}")


def _options(target: str) -> Options:
    options: Options = [
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_MS // 2),
        # A seat may wait for long without a byte.
        ("grpc.http2.max_pings_without_data", 0),
        # Channels of different clients share no connection: closing one is the end of it.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if target.startswith("unix:"):
        # grpcio would name the escaped path as authority, which HTTP/2 servers refuse.
        options.append(("grpc.default_authority", "localhost"))
    return options
