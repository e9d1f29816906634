"""Streams of requests and answers.

Generated from boardwire/_stream.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import time
from typing import Any
from .. import _core
from ._connection import Connection
from ..errors import BoardwireError, ConnectionLost, ServerFault, from_status
_TAGS = 2 ** 32
CLOSED = 'CLOSED'

class Stream:
    """Requests and their answers, in order, on one stream of messages.

    The stream opens at the first request of each process, and again after it broke.

    Attributes:
        openings: How often it was opened: no answer outlives the opening that its request was sent in.
    """

    def __init__(self, connection: Connection, token: str, method: str, *, advice: str, rows: _core.Rows | None=None) -> None:
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

    def send(self, request: dict[str, Any]) -> None:
        """Numbers a request and sends it, and waits for no answer.

        Raises:
            BoardwireError: The stream does not open.
        """
        pipe = self._pipe
        if pipe is None or not self.is_open:
            pipe = self._open()
        self._sent = request['tag'] = (self._sent + 1) % _TAGS
        pipe.send(request)

    async def receive(self, timeout: float) -> Any:
        """Waits for the answer to the earliest request that has none.

        Returns:
            Its fields; on the stream of a batch a `_core.Answer`.

        Raises:
            BoardwireError: The stream broke; nothing more is answered.
        """
        pipe = self._pipe
        assert pipe is not None
        try:
            if self._shape is not None:
                answer = await pipe.receive_rows(timeout, self._shape)
            else:
                answer = await pipe.receive(timeout)
        except BoardwireError as failure:
            self._end(pipe)
            raise await self._connection.explained(failure, self._advice) from None
        except BaseException:
            self.close()
            raise
        if answer is None:
            self._end(pipe)
            raise from_status('UNAVAILABLE', '', 'the stream was ended; the next call opens another')
        self._answered = (self._answered + 1) % _TAGS
        tag = answer['tag'] if self._shape is None else answer.tag
        if tag != self._answered:
            self.close()
            raise ServerFault(f'the answer to request {self._answered} is tagged {tag}')
        return answer

    def _end(self, pipe: _core.Pipe) -> None:
        """Ends a stream that has failed.

        Raises:
            ConnectionLost: This process itself has closed it, or its client, in the meantime.
        """
        is_closed_here = self._pipe is not pipe or not self.is_open
        self.close()
        if is_closed_here:
            raise from_status('UNAVAILABLE', CLOSED, 'the stream was ended here; the next call opens another')

    def _open(self) -> _core.Pipe:
        self._channel = self._connection.channel
        self.openings += 1
        self._sent = self._answered = 0
        self._pipe = self._channel.stream(self._method, self._token)
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
        self._stream = Stream(connection, token, 'MatchService/Play', advice=advice)

    async def ask(self, kind: str, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Sends a request and waits for its answer.

        A stream that had broken while nobody waited shows it only now, so the request is sent once more then,
        over another one: whatever a seat asks counts once.

        Args:
            kind: What is asked: `observe`, `act`, `reset` or `resign`.
            request: The fields of the request.
            timeout: Seconds.

        Returns:
            The fields of the observation.

        Raises:
            BoardwireError: The request was refused, or the stream broke.
        """
        due, was_open = (time.monotonic() + timeout, self._stream.is_open)
        self._stream.send({kind: request})
        try:
            answer = await self._stream.receive(timeout)
        except ConnectionLost as lost:
            if lost.reason or not was_open:
                raise
            self._stream.send({kind: request})
            answer = await self._stream.receive(due - time.monotonic())
        if answer['error'] is not None:
            raise answer['error']
        observation: dict[str, Any] = answer[kind]['observation']
        return observation

    def close(self) -> None:
        """Ends the stream; the next request opens another."""
        self._stream.close()