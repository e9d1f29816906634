"""Ways to a server: what waits, and how. One blocks the thread that calls, one awaits in an event loop.

All that is told apart by how it waits stands here; what is asked and answered does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

# A forked process opens channels of its own, but in versions of grpcio that leave this off by default the
# library itself does not survive the fork. No other module imports grpcio before this one.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")

import grpc
import grpc.aio
from google.rpc import status_pb2

from ._native import Failed, NativeMethod, native_channel
from ._status import error_info
from ._tls import Pems

_T = TypeVar("_T")

#: What is raised for a call or stream that failed.
RpcError = grpc.RpcError
#: Metadata of a call.
Metadata = tuple[tuple[str, str], ...]
#: Options of a channel.
Options = list[tuple[str, str | int]]


class Pipe(Protocol):
    """One opening of a stream."""

    async def send(self, request: Any) -> None:
        """Sends a request. What is wrong with the stream, `receive` tells."""

    async def receive(self, timeout: float) -> Any:
        """Waits for the next answer; nothing at the end of the stream.

        Raises:
            TimeoutError: It did not come within `timeout` seconds.
            RpcError: The stream broke.
        """

    def close(self) -> None:
        """Ends the stream."""


class Way(Protocol):
    """How calls are made and awaited."""

    def place(self) -> tuple[int, object]:
        """Where a channel that is opened now can be used: a process, or an event loop of it."""

    def open(self, target: str, options: Options, pems: Pems | None) -> Any:
        """Opens a channel, with TLS if there is something to secure it with."""

    async def close(self, channel: Any) -> None:
        """Closes a channel, and with it all that goes over it."""

    async def call(self, method: Any, request: Any, timeout: float, metadata: Metadata) -> Any:
        """Makes a call.

        Raises:
            RpcError: It failed.
        """

    def pipe(self, method: Any, metadata: Metadata, request: Any = None) -> Pipe:
        """Opens a stream: of answers to one request where that is given, else of requests too."""

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        """Calls what blocks for long."""


def _uri(target: str) -> str:
    """A target as grpcio reads it: the path of a socket is a part of a URI to it."""
    scheme, colon, path = target.partition(":")
    return f"{scheme}:{quote(path)}" if colon and scheme == "unix" else target


class _Grpcio:
    """What forks need to know of grpcio: it survives them only while none of its threads is at work."""

    #: Seconds after which they rest.
    REST = 0.05

    def __init__(self) -> None:
        self._process = 0

    def is_opened(self) -> None:
        """A channel is opened in this process."""
        self._process = os.getpid()

    def rest(self) -> None:
        """Waits a moment where there are such threads: a lock that one holds stays held in the child."""
        if self._process == os.getpid():
            time.sleep(self.REST)


grpcio = _Grpcio()


class _Blocking:
    """The thread that calls waits."""

    def place(self) -> tuple[int, object]:
        return os.getpid(), None

    def open(self, target: str, options: Options, pems: Pems | None) -> Any:
        grpcio.is_opened()
        if pems is None:
            return grpc.insecure_channel(_uri(target), options=options)
        return grpc.secure_channel(_uri(target), _credentials(pems), options=options)

    async def close(self, channel: Any) -> None:
        channel.close()

    async def call(self, method: Any, request: Any, timeout: float, metadata: Metadata) -> Any:
        return method(request, timeout=timeout, metadata=metadata)

    def pipe(self, method: Any, metadata: Metadata, request: Any = None) -> Pipe:
        return _BlockingPipe(method, metadata, request)

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        return function(*args)


class _Native(_Blocking):
    """The same without grpcio, which takes twice as long for few environments; never with TLS."""

    def open(self, target: str, options: Options, pems: Pems | None) -> Any:
        native = native_channel(target) if pems is None else None
        return super().open(target, options, pems) if native is None else native

    def pipe(self, method: Any, metadata: Metadata, request: Any = None) -> Pipe:
        if isinstance(method, NativeMethod):
            return method.pipe(metadata, request)
        return super().pipe(method, metadata, request)


class _Awaiting:
    """An event loop waits; the channel belongs to it."""

    def place(self) -> tuple[int, object]:
        return os.getpid(), asyncio.get_running_loop()

    def open(self, target: str, options: Options, pems: Pems | None) -> Any:
        grpcio.is_opened()
        if pems is None:
            return grpc.aio.insecure_channel(_uri(target), options=options)
        return grpc.aio.secure_channel(_uri(target), _credentials(pems), options=options)

    async def close(self, channel: Any) -> None:
        await channel.close()

    async def call(self, method: Any, request: Any, timeout: float, metadata: Metadata) -> Any:
        return await method(request, timeout=timeout, metadata=metadata)

    def pipe(self, method: Any, metadata: Metadata, request: Any = None) -> Pipe:
        return _AwaitingPipe(method, metadata, request)

    async def aside(self, function: Callable[..., _T], *args: Any) -> _T:
        return await asyncio.to_thread(function, *args)


BLOCKING: Way = _Native()
AWAITING: Way = _Awaiting()


#: What grpcio puts in the place of the true status when a message goes to an ended stream: grpc#36066.
_OVERWRITTEN = "Internal error from Core"


def _credentials(pems: Pems) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(pems.roots, pems.key, pems.cert)


def read_status(status: RpcError) -> tuple[str, str, str, dict[str, str]]:
    """Code, message, reason and metadata of a failed call."""
    if isinstance(status, Failed):
        return status.kind, status.message, *error_info(status_pb2.Status.FromString(status.status))
    # Every RpcError raised by a call is also that call, or tells what one does.
    assert isinstance(status, grpc.Call | grpc.aio.AioRpcError)
    code, message = status.code().name, status.details() or ""
    if message.startswith(_OVERWRITTEN):
        return "UNAVAILABLE", "the stream broke", "", {}
    for key, value in status.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            return code, message, *error_info(status_pb2.Status.FromString(value))
    return code, message, "", {}


class _AwaitingPipe:
    """A stream of an event loop."""

    def __init__(self, method: Any, metadata: Metadata, request: Any = None) -> None:
        self._call = method(*() if request is None else (request,), metadata=metadata)
        self._closed = False

    async def send(self, request: Any) -> None:
        with contextlib.suppress(RpcError, asyncio.InvalidStateError):
            await self._call.write(request)

    async def receive(self, timeout: float) -> Any:
        try:
            answer = await asyncio.wait_for(self._call.read(), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError from None
        except asyncio.CancelledError:
            # Another task may have closed the stream; then it is not this one that is cancelled.
            if self._closed:
                return None
            raise
        return None if answer is grpc.aio.EOF else answer

    def close(self) -> None:
        self._closed = True
        self._call.cancel()


class _BlockingPipe:
    """A stream that grpcio reads and writes in threads of its own."""

    def __init__(self, method: Any, metadata: Metadata, request: Any = None) -> None:
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._requests = requests
        given = iter(requests.get, None) if request is None else request
        self._answers = method(given, metadata=metadata)
        _keep_until_ended(self._answers)
        self._watch = _Watch(self._answers.cancel)
        self._hang_up = weakref.finalize(self, _hang_up, os.getpid(), requests)

    async def send(self, request: Any) -> None:
        self._requests.put(request)

    async def receive(self, timeout: float) -> Any:
        self._watch.arm(timeout)
        try:
            return next(self._answers, None)
        except RpcError:
            if self._watch.expired:
                raise TimeoutError from None
            raise
        finally:
            self._watch.disarm()

    def close(self) -> None:
        self._hang_up()
        self._watch.cancel()


#: Streams that have not ended.
_not_ended: set[Any] = set()


def _keep_until_ended(call: Any) -> None:
    """Keeps the garbage collector from a stream until it has ended.

    grpcio's finalizer of a stream waits for a lock. The thread that ends the stream's requests holds that one
    while it waits for the channel's; and a new call, in whose midst garbage may be collected, holds the
    channel's.
    """
    _not_ended.add(call)
    if not call.add_callback(functools.partial(_not_ended.discard, call)):
        _not_ended.discard(call)


def _hang_up(pid: int, requests: queue.SimpleQueue[Any]) -> None:
    """Tells the server that nothing more is asked.

    The garbage collector may call this at any moment, also while grpcio holds a lock: no more is done here
    than to put into a queue that is made for it.
    """
    if pid == os.getpid():
        requests.put(None)


class _Watch:
    """The time by which a streamed answer is due: grpcio cannot block for one with a timeout."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self.cancel = cancel
        self.due = float("inf")
        self.expired = False
        _watchman.on_duty().enlist(self)

    def arm(self, seconds: float) -> None:
        """Expects the answer within so many seconds."""
        self.expired = False
        self.due = time.monotonic() + seconds
        if self.due < _watchman.wake:
            _watchman.rouse()

    def disarm(self) -> None:
        """Expects nothing."""
        self.due = float("inf")


class _Watchman:
    """Cancels overdue calls: one thread a process, asleep until the earliest is due.

    Attributes:
        wake: When it looks around next. Never, while it does: whoever is due meanwhile rouses it, and so no
            lock is taken for answers that are due after that.
    """

    def __init__(self) -> None:
        self.wake = float("inf")
        self._pid = os.getpid()
        self._condition = threading.Condition()
        self._watches: weakref.WeakSet[_Watch] = weakref.WeakSet()
        self._thread: threading.Thread | None = None

    def on_duty(self) -> _Watchman:
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        return self

    def enlist(self, watch: _Watch) -> None:
        with self._condition:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._patrol, name="boardwire-deadlines", daemon=True)
                self._thread.start()

    def rouse(self) -> None:
        with self._condition:
            self._condition.notify()

    def _patrol(self) -> None:
        with self._condition:
            while True:
                self.wake = float("inf")
                now = time.monotonic()
                self._cancel_overdue(now)
                self.wake = min((watch.due for watch in self._watches), default=float("inf"))
                self._condition.wait(None if self.wake == float("inf") else self.wake - now)

    def _cancel_overdue(self, now: float) -> None:
        # On its own, so that the thread holds no watch, and no call, while it sleeps.
        for watch in list(self._watches):
            if watch.due <= now:
                watch.disarm()
                watch.expired = True
                watch.cancel()


_watchman = _Watchman()
