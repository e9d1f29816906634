"""Streams of requests and answers, and the time by which each answer is due."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import grpc

from ._channel import Connection, Stubs, bearer, inherited
from ._status import error, refused
from .errors import ServerFault
from .v1 import match_service_pb2 as pb
from .v1 import observation_pb2

#: What a seat can ask for.
SeatRequest = pb.ObserveRequest | pb.ActRequest | pb.ResetRequest | pb.ResignRequest

_TAGS = 2**32


class Tagged(Protocol):
    """A request of a stream, or the answer that repeats its tag."""

    tag: int


_Req = TypeVar("_Req", bound=Tagged)
_Res = TypeVar("_Res", bound=Tagged)


class Stream(Generic[_Req, _Res]):
    """Requests and their answers, in order, on one stream of messages.

    The stream opens at the first request of each process, and again after it broke.

    Attributes:
        openings: How often it was opened: no answer outlives the opening that its request was sent in.
    """

    def __init__(
        self, connection: Connection, token: str, method: Callable[[Stubs], Any], *, advice: str
    ) -> None:
        """Nothing is sent yet; `advice` is for who loses the connection."""
        self.openings = 0
        self._connection = connection
        self._token = token
        self._method = method
        self._advice = advice
        self._stubs: Stubs | None = None
        self._pid = 0
        self._requests: queue.SimpleQueue[_Req | None] = queue.SimpleQueue()
        self._answers: Iterator[_Res] | None = None
        self._sent = self._answered = 0
        self._watch = Watch()
        self._finalizer: weakref.finalize[..., Any] | None = None

    @property
    def is_open(self) -> bool:
        """Whether answers may still come to this process."""
        return self._answers is not None and self._pid == os.getpid()

    def send(self, request: _Req) -> None:
        """Numbers a request and sends it, and waits for nothing.

        Raises:
            BoardwireError: The stream does not open.
        """
        if not self.is_open:
            self._open()
        self._sent = request.tag = (self._sent + 1) % _TAGS
        self._requests.put(request)

    def receive(self, timeout: float) -> _Res:
        """Waits for the answer to the earliest request that has none.

        Raises:
            BoardwireError: The stream broke; nothing more is answered.
        """
        assert self._answers is not None
        self._watch.arm(timeout)
        try:
            answer = next(self._answers)
        except StopIteration:
            self.close()
            message = "the server ended the stream; the next call opens another"
            raise error("UNAVAILABLE", "", message) from None
        except grpc.RpcError as status:
            expired, stubs = self._watch.expired, self._stubs
            self.close()
            if expired:
                raise error("DEADLINE_EXCEEDED", "", f"no answer within {timeout:g} s") from None
            raise self._connection.failure(status, stubs, self._advice) from None
        except BaseException:
            # An interrupt: the answer is still to come, and must not be taken for the next one.
            self.close()
            raise
        self._watch.disarm()
        self._answered = (self._answered + 1) % _TAGS
        if answer.tag != self._answered:
            self.close()
            raise ServerFault(f"the answer to request {self._answered} is tagged {answer.tag}")
        return answer

    def _open(self) -> None:
        if self._pid != os.getpid():
            inherited.append((self._answers, self._stubs))
        self._pid = os.getpid()
        self.openings += 1
        self._sent = self._answered = 0
        requests = self._requests = queue.SimpleQueue()
        stubs = self._stubs = self._connection.borrow()
        call = self._method(stubs)(iter(requests.get, None), metadata=bearer(self._token))
        self._answers = call
        self._watch = Watch(call.cancel)
        self._finalizer = weakref.finalize(self, _hang_up, self._pid, requests)

    def close(self) -> None:
        """Ends the stream; the next request opens another."""
        self._watch.disarm()
        if self._finalizer is not None:
            self._finalizer()
        if self.is_open:
            self._watch.cancel()
            if self._stubs is not None:
                self._connection.give_back(self._stubs)
        self._answers = self._stubs = None


class PlayStream:
    """One seat's `Play` stream: a request, its answer, and so on."""

    def __init__(self, connection: Connection, token: str, *, advice: str) -> None:
        """Nothing is sent yet; `advice` is for who loses the connection."""
        self._stream: Stream[pb.PlayRequest, pb.PlayResponse] = Stream(
            connection, token, lambda on: on.match.Play, advice=advice
        )

    def ask(self, request: SeatRequest, timeout: float) -> observation_pb2.Observation:
        """Sends a request and waits for its answer.

        Raises:
            BoardwireError: The request was refused, or the stream broke.
        """
        self._stream.send(_play_request(request))
        return _observation(self._stream.receive(timeout))

    def close(self) -> None:
        """Ends the stream; the next request opens another."""
        self._stream.close()


def _hang_up(pid: int, requests: queue.SimpleQueue[Any]) -> None:
    """Tells the server that nothing more is asked.

    The garbage collector may call this at any moment, also while grpcio holds a lock: no more is done here
    than to put into a queue that is made for it.
    """
    if pid == os.getpid():
        requests.put(None)


class Watch:
    """The time by which a streamed answer is due: grpcio cannot await one with a timeout."""

    def __init__(self, cancel: Callable[[], object] = lambda: None) -> None:
        """Calls `cancel` when it is overdue."""
        self.cancel = cancel
        self.due = float("inf")
        self.expired = False

    def arm(self, seconds: float) -> None:
        """Expects the answer within so many seconds."""
        self.expired = False
        self.due = time.monotonic() + seconds
        _watchman.on_duty().see(self)

    def disarm(self) -> None:
        """Expects nothing."""
        self.due = float("inf")


class _Watchman:
    """Cancels overdue calls: one thread a process, asleep until the earliest is due."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._condition = threading.Condition()
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        self._wake = 0.0
        self._thread: threading.Thread | None = None

    def on_duty(self) -> _Watchman:
        if self._pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        return self

    def see(self, watch: Watch) -> None:
        with self._condition:
            self._watches.add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._patrol, name="boardwire-deadlines", daemon=True)
                self._thread.start()
            elif watch.due < self._wake:
                self._condition.notify()

    def _patrol(self) -> None:
        with self._condition:
            while True:
                now = time.monotonic()
                self._cancel_overdue(now)
                self._wake = min((watch.due for watch in self._watches), default=float("inf"))
                self._condition.wait(None if self._wake == float("inf") else self._wake - now)

    def _cancel_overdue(self, now: float) -> None:
        # On its own, so that the thread holds no watch, and no call, while it sleeps.
        for watch in list(self._watches):
            if watch.due <= now:
                watch.disarm()
                watch.expired = True
                watch.cancel()


_watchman = _Watchman()


def _play_request(request: SeatRequest) -> pb.PlayRequest:
    if isinstance(request, pb.ActRequest):
        return pb.PlayRequest(act=request)
    if isinstance(request, pb.ObserveRequest):
        return pb.PlayRequest(observe=request)
    if isinstance(request, pb.ResetRequest):
        return pb.PlayRequest(reset=request)
    return pb.PlayRequest(resign=request)


def _observation(answer: pb.PlayResponse) -> observation_pb2.Observation:
    kind = answer.WhichOneof("answer")
    if kind == "act":
        return answer.act.observation
    if kind == "observe":
        return answer.observe.observation
    if kind == "reset":
        return answer.reset.observation
    if kind == "resign":
        return answer.resign.observation
    raise refused(answer.error)
