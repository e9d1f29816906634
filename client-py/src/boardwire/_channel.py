"""Channels: options, deadlines, statuses as exceptions, and one channel for each process.

grpcio is kept below this module: callers hand in and get messages, and catch `BoardwireError` alone.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

# A forked process opens channels of its own, but in versions of grpcio that leave this off by default the
# library itself does not survive the fork. No other module imports grpcio before this one.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")

import grpc
from google.rpc import status_pb2

from ._status import error, error_info
from .errors import (
    BoardwireError,
    CallTimeout,
    ConnectionLost,
    UnknownBatch,
    UnknownInvitation,
    UnknownMatch,
)
from .v1 import batch_service_pb2_grpc, catalog_pb2_grpc, match_service_pb2_grpc

#: The largest message either way, as the server has it.
MESSAGE_BYTES = 64 * 1024 * 1024
#: The server allows a ping every 10 seconds.
KEEPALIVE_MS = 20_000

#: What a lost connection means for whoever asked for nothing that was there before.
REPEAT = "repeat the call when a server answers there again"

# What is said of things that a server may have lost.
_UNKNOWN = tuple(kind.REASON for kind in (UnknownMatch, UnknownInvitation, UnknownBatch))

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


if hasattr(os, "register_at_fork"):
    _garbage = _Garbage()
    os.register_at_fork(before=_garbage.freeze, after_in_parent=_garbage.thaw)

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
        self.batch = batch_service_pb2_grpc.BatchServiceStub(channel)


class Connection:
    """A channel to one target, opened at the first call of each process.

    A channel does not survive a fork. In a process with another id than the one that opened it, it is
    left alone, and another one opened. The same goes for a channel that has lost its server: it would wait
    longer and longer before it tried again, and refuse calls meanwhile.
    """

    def __init__(
        self,
        target: str,
        *,
        channel: grpc.Channel | None = None,
        story: Callable[[], str] = lambda: "",
        past: str = "",
    ) -> None:
        """Opens nothing yet.

        Args:
            target: Where the server listens.
            channel: What tests use instead of opening one.
            story: Tells why the server is gone, or nothing.
            past: Why the server may not know what its client asks for.
        """
        self.target = target
        self._given = channel
        self._story = story
        self._past = past
        self._lock = threading.Lock()
        self._pid = 0
        self._stubs: Stubs | None = None

    @property
    def stubs(self) -> Stubs:
        """The services over this process's channel."""
        stubs = self._stubs
        return stubs if stubs is not None and self._pid == os.getpid() else self._opened()

    def _opened(self) -> Stubs:
        if self._pid != os.getpid():
            # Another thread may have held the lock at the fork.
            self._lock = threading.Lock()
            inherited.append(self._stubs)
            self._stubs = None
            self._pid = os.getpid()
        with self._lock:
            if self._stubs is None:
                channel = self._given or grpc.insecure_channel(self.target, options=_options(self.target))
                self._stubs = Stubs(channel)
            return self._stubs

    def borrow(self) -> Stubs:
        """The services, over a channel that stays open until they are given back."""
        while True:
            stubs = self.stubs
            with self._lock:
                if not stubs.dropped:
                    stubs.users += 1
                    return stubs

    def give_back(self, stubs: Stubs) -> None:
        """Ends what was borrowed."""
        with self._lock:
            stubs.users -= 1
            unused = stubs.dropped and not stubs.users
        if unused:
            stubs.channel.close()

    def drop(self, stubs: Stubs | None = None) -> None:
        """Lets the next call open another channel than this one; whoever uses this one still closes it."""
        if self._given is not None or self._pid != os.getpid():
            return
        with self._lock:
            stubs = stubs or self._stubs
            if stubs is None or stubs.dropped:
                return
            stubs.dropped = True
            if self._stubs is stubs:
                self._stubs = None
            unused = not stubs.users
        if unused:
            stubs.channel.close()

    def call(
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
                return method(stubs)(request, timeout=timeout, metadata=bearer(token))
            except grpc.RpcError as status:
                failure = self.failure(status, stubs, advice)
                if attempts <= 0 or type(failure) is not ConnectionLost:
                    raise failure from None
            finally:
                self.give_back(stubs)

    def failure(
        self, status: grpc.RpcError, stubs: Stubs | None = None, advice: str = REPEAT
    ) -> BoardwireError:
        """The exception for a failed call; a lost connection's channel is dropped."""
        code, message, reason, metadata = read_status(status)
        if code == "DEADLINE_EXCEEDED":
            # The server knows a call's deadline too, and may be faster to end it.
            reason = CallTimeout.REASON
        if code == "UNAVAILABLE" and not reason:
            if stubs is not None:
                self.drop(stubs)
            message = f"no answer from {self.target} ({message}): {self.what_now(advice)}"
        if self._past and reason in _UNKNOWN:
            message = f"{message}; {self._past}"
        return error(code, reason, message, metadata)

    def what_now(self, advice: str) -> str:
        """Why the server is gone, where that is known; else the advice."""
        return self._story() or advice

    def close(self) -> None:
        """Closes the channel of this process; the next call opens another."""
        if self._stubs is not None and self._pid == os.getpid():
            self._stubs.channel.close()
            self._stubs = None


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata in which a seat or host proves itself; none without a token."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def read_status(status: grpc.RpcError) -> tuple[str, str, str, dict[str, str]]:
    """Code, message, reason and metadata of a failed call."""
    # Every RpcError raised by a call is also that call.
    assert isinstance(status, grpc.Call)
    code, message = status.code().name, status.details() or ""
    for key, value in status.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return code, message, *error_info(status_pb2.Status.FromString(value))
    return code, message, "", {}


def check_target(target: str) -> str:
    """The target as given, if it can be one.

    Raises:
        ValueError: It is neither `host:port` nor `unix:/path`.
    """
    host, _, port = target.rpartition(":")
    if target.startswith("unix:") or (host and port.isdecimal()):
        return target
    raise ValueError(f"an address is 'host:port' or 'unix:/path', not {target!r}")


def _options(target: str) -> list[tuple[str, str | int]]:
    options: list[tuple[str, str | int]] = [
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
