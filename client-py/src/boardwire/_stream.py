"""Streams of requests and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from ._channel import Connection, Stubs, inherited
from ._status import error, refused
from ._ways import Pipe, RpcError
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

    The stream opens at the first request of each process, or of each event loop, and again after it broke.

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
        self._place: tuple[int, object] = (0, None)
        self._pipe: Pipe | None = None
        self._stubs: Stubs | None = None
        self._sent = self._answered = 0

    @property
    def is_open(self) -> bool:
        """Whether answers may still come to this process, or event loop."""
        return self._pipe is not None and self._place == self._connection.way.place()

    async def send(self, request: _Req) -> None:
        """Numbers a request and sends it, and waits for no answer.

        Raises:
            BoardwireError: The stream does not open.
        """
        pipe = self._pipe
        if pipe is None or not self.is_open:
            pipe = self._open()
        self._sent = request.tag = (self._sent + 1) % _TAGS
        try:
            await pipe.send(request)
        except BaseException:
            # Cancelled: nobody knows whether it is on its way, and answers are told apart by their number.
            await self.close()
            raise

    async def receive(self, timeout: float) -> _Res:
        """Waits for the answer to the earliest request that has none.

        Raises:
            BoardwireError: The stream broke; nothing more is answered.
        """
        assert self._pipe is not None
        try:
            answer: _Res | None = await self._pipe.receive(timeout)
        except TimeoutError:
            await self.close()
            raise error("DEADLINE_EXCEEDED", "", f"no answer within {timeout:g} s") from None
        except RpcError as status:
            stubs = self._stubs
            await self.close()
            raise await self._connection.failure(status, stubs, self._advice) from None
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

    def _open(self) -> Pipe:
        place = self._connection.way.place()
        if self._pipe is not None and self._place[0] != place[0]:
            inherited.append((self._pipe, self._stubs))
        self._place = place
        self.openings += 1
        self._sent = self._answered = 0
        stubs = self._stubs = self._connection.borrow()
        metadata = self._connection.metadata(self._token)
        pipe = self._pipe = self._connection.way.pipe(self._method(stubs), metadata)
        return pipe

    async def close(self) -> None:
        """Ends the stream; the next request opens another."""
        pipe, stubs, is_open = self._pipe, self._stubs, self.is_open
        self._pipe = self._stubs = None
        if pipe is not None and is_open:
            pipe.close()
            if stubs is not None:
                await self._connection.give_back(stubs)


class PlayStream:
    """One seat's `Play` stream: a request, its answer, and so on."""

    def __init__(self, connection: Connection, token: str, *, advice: str) -> None:
        """Nothing is sent yet; `advice` is for who loses the connection."""
        self._stream: Stream[pb.PlayRequest, pb.PlayResponse] = Stream(
            connection, token, lambda on: on.match.Play, advice=advice
        )

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
    raise refused(answer.error)
