"""Streams of requests and answers."""

from __future__ import annotations

import os
from typing import Any, Generic, Protocol, TypeVar

from . import _core
from ._channel import ANSWERS, Connection, path
from ._status import error
from .errors import BoardwireError, ServerFault
from .v1 import match_service_pb2 as pb
from .v1 import observation_pb2

#: What a seat can ask for.
SeatRequest = pb.ObserveRequest | pb.ActRequest | pb.ResetRequest | pb.ResignRequest

_TAGS = 2**32


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
        self,
        connection: Connection,
        token: str,
        method: str,
        *,
        advice: str,
        rows: _core.Rows | None = None,
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
        self._process = 0
        self._pipe: _core.Pipe | None = None
        self._sent = self._answered = 0

    @property
    def is_open(self) -> bool:
        """Whether answers may still come to this process."""
        return self._pipe is not None and self._process == os.getpid()

    async def send(self, request: Any) -> None:
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
        assert self._pipe is not None
        try:
            answer = await self._next(self._pipe, timeout)
        except BoardwireError as failure:
            await self.close()
            raise await self._connection.explained(failure, self._advice) from None
        except BaseException:
            # An interrupt: the answer is still to come, and must not be taken for the next one.
            await self.close()
            raise
        if answer is None:
            await self.close()
            raise error("UNAVAILABLE", "", "the stream was ended; the next call opens another")
        self._answered = (self._answered + 1) % _TAGS
        if answer.tag != self._answered:
            await self.close()
            raise ServerFault(f"the answer to request {self._answered} is tagged {answer.tag}")
        return answer

    async def _next(self, pipe: _core.Pipe, timeout: float) -> _Res | None:
        given = self._connection.way.given
        if self._shape is not None:
            rows: _Res | None = await given(pipe.receive_rows(timeout, self._shape))
            return rows
        answer = await given(pipe.receive(timeout))
        return None if answer is None else ANSWERS[self._method].FromString(answer)

    def _open(self) -> _core.Pipe:
        self._process = os.getpid()
        self.openings += 1
        self._sent = self._answered = 0
        self._pipe = self._connection.channel.stream(path(self._method), self._token)
        return self._pipe

    async def close(self) -> None:
        """Ends the stream; the next request opens another."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None and self._process == os.getpid():
            pipe.close()


class PlayStream:
    """One seat's `Play` stream: a request, its answer, and so on."""

    def __init__(self, connection: Connection, token: str, *, advice: str) -> None:
        """Nothing is sent yet; `advice` is for who loses the connection."""
        self._stream: Stream[pb.PlayResponse] = Stream(connection, token, "MatchService/Play", advice=advice)

    async def ask(self, request: SeatRequest, timeout: float) -> observation_pb2.Observation:
        """Sends a request and waits for its answer.

        Raises:
            BoardwireError: The request was refused, or the stream broke.
        """
        await self._stream.send(_play_request(request))
        return _observation(await self._stream.receive(timeout))

    async def close(self) -> None:
        """Ends the stream; the next request opens another."""
        await self._stream.close()


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
