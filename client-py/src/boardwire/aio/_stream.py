"""Streams of requests and answers.

Generated from boardwire/_stream.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import time
from typing import Any, Generic, Protocol, TypeVar

from .. import _core
from .._status import error
from ..errors import BoardwireError, ConnectionLost, ServerFault
from ..v1 import match_service_pb2 as pb
from ..v1 import observation_pb2
from ._connection import ANSWERS, Connection, path

SeatRequest = pb.ObserveRequest | pb.ActRequest | pb.ResetRequest | pb.ResignRequest
_TAGS = 2**32
CLOSED = "CLOSED"


class Tagged(Protocol):
    """A request of a stream, or the answer that repeats its tag."""

    tag: int


_Res = TypeVar("_Res", bound=Tagged)


class Stream(Generic[_Res]):
    """Requests and their answers, in order, on one stream of messages.

    The stream opens at the first request of each process, and again after it broke.

    Attributes:
        openings: How often it was opened: no answer outlives the opening that its request was sent in.
    """

    def __init__(
        self, connection: Connection, token: str, method: str, *, advice: str, rows: _core.Rows | None = None
    ) -> None:
        """Nothing is sent yet.

        Args:
            connection: What it goes over.
            token: What proves who opens it.
            method: The method, such as `MatchService/Play`.
            advice: For who loses the connection.
            rows: What the rows of its answers are shaped like, where it is a batch's stream.
        """
        self.openings = 0
        self._connection = connection
        self._token = token
        self._method = method
        self._advice = advice
        self._shape = rows
        self._channel: _core.Channel | None = None
        self._pipe: _core.Pipe | None = None
        self._sent = self._answered = 0

    @property
    def is_open(self) -> bool:
        """Whether answers may still come to this process, as far as nothing has been heard of their end."""
        return self._pipe is not None and self._connection.has(self._channel)

    def send(self, request: Any) -> None:
        """Numbers a request and sends it, and waits for no answer.

        Raises:
            BoardwireError: The stream does not open.
        """
        pipe = self._pipe
        if pipe is None or not self.is_open:
            pipe = self._open()
        self._sent = request.tag = (self._sent + 1) % _TAGS
        pipe.send(request.SerializeToString())

    async def receive(self, timeout: float) -> _Res:
        """Waits for the answer to the earliest request that has none.

        Raises:
            BoardwireError: The stream broke; nothing more is answered.
        """
        pipe = self._pipe
        assert pipe is not None
        try:
            answer = await self._next(pipe, timeout)
        except BoardwireError as failure:
            self._end(pipe)
            raise await self._connection.explained(failure, self._advice) from None
        except BaseException:
            self.close()
            raise
        if answer is None:
            self._end(pipe)
            raise error("UNAVAILABLE", "", "the stream was ended; the next call opens another")
        self._answered = (self._answered + 1) % _TAGS
        if answer.tag != self._answered:
            self.close()
            raise ServerFault(f"the answer to request {self._answered} is tagged {answer.tag}")
        return answer

    async def _next(self, pipe: _core.Pipe, timeout: float) -> _Res | None:
        if self._shape is not None:
            rows: _Res | None = await pipe.receive_rows(timeout, self._shape)
            return rows
        answer = await pipe.receive(timeout)
        return None if answer is None else ANSWERS[self._method].FromString(answer)

    def _end(self, pipe: _core.Pipe) -> None:
        """Ends a stream that has failed.

        Raises:
            ConnectionLost: This process itself has closed it, or its client, in the meantime.
        """
        is_closed_here = self._pipe is not pipe or not self.is_open
        self.close()
        if is_closed_here:
            raise error("UNAVAILABLE", CLOSED, "the stream was ended here; the next call opens another")

    def _open(self) -> _core.Pipe:
        self._channel = self._connection.channel
        self.openings += 1
        self._sent = self._answered = 0
        self._pipe = self._channel.stream(path(self._method), self._token)
        return self._pipe

    def close(self) -> None:
        """Ends the stream; the next request opens another."""
        pipe, self._pipe = (self._pipe, None)
        if pipe is not None:
            pipe.close()


class PlayStream:
    """One seat's `Play` stream: a request, its answer, and so on."""

    def __init__(self, connection: Connection, token: str, *, advice: str) -> None:
        """Nothing is sent yet; `advice` is for who loses the connection."""
        self._stream: Stream[pb.PlayResponse] = Stream(connection, token, "MatchService/Play", advice=advice)

    async def ask(self, request: SeatRequest, timeout: float) -> observation_pb2.Observation:
        """Sends a request and waits for its answer.

        A stream that had broken while nobody waited shows it only now, so the request is sent once more then,
        over another one: whatever a seat asks counts once.

        Raises:
            BoardwireError: The request was refused, or the stream broke.
        """
        due, was_open = (time.monotonic() + timeout, self._stream.is_open)
        asked = _play_request(request)
        self._stream.send(asked)
        try:
            answer = await self._stream.receive(timeout)
        except ConnectionLost as lost:
            if lost.reason or not was_open:
                raise
            self._stream.send(asked)
            answer = await self._stream.receive(due - time.monotonic())
        return _observation(answer)

    def close(self) -> None:
        """Ends the stream; the next request opens another."""
        self._stream.close()


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
    raise _core.refusal(answer.error.SerializeToString())
