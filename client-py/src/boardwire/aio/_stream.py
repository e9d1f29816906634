"""Streams of requests and responses.

Generated from boardwire/_stream.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import time
from typing import Any

from .. import _core
from ..errors import BoardwireError, ConnectionLost, ServerFault
from ._connection import CLOSED, Connection, deadline

_TAGS = 2**32


class Stream:
    """A bidirectional stream, on which responses come in the order of their requests.

    The stream opens at the first request of each process, and reopens at the next request after it breaks.

    Attributes:
        openings: The number of times the stream was opened. A request of an earlier opening gets no response.
    """

    def __init__(
        self, connection: Connection, token: str, method: str, *, advice: str, rows: _core.Rows | None = None
    ) -> None:
        """Stores the arguments, and opens no stream yet.

        Args:
            connection: The connection that carries the stream.
            token: The token that authenticates the caller.
            method: The method, such as `MatchService/Play`.
            advice: What the caller can do when the connection is lost.
            rows: The layout of the rows in each response, for the stream of a batch.
        """
        self.openings = 0
        self._connection = connection
        self._token = token
        self._method = method
        self._advice = advice
        self._shape = rows
        self._channel: _core.Channel | None = None
        self._call_stream: _core.CallStream | None = None
        self._sent = self._answered = 0

    @property
    def is_open(self) -> bool:
        """Whether the stream is open in this process, as far as the client knows."""
        return self._call_stream is not None and self._connection.has(self._channel)

    def send(self, request: dict[str, Any]) -> None:
        """Numbers and sends a request, and opens the stream if necessary; does not wait for the response.

        Raises:
            BoardwireError: The stream does not open.
        """
        call_stream = self._call_stream
        if call_stream is None or not self.is_open:
            call_stream = self._open()
        tag = request["tag"] = (self._sent + 1) % _TAGS
        call_stream.send(request)
        self._sent = tag

    async def receive(self, timeout: float | None) -> Any:
        """Waits for the response to the earliest unanswered request.

        Any exception ends the stream.

        Returns:
            The fields of the response; on the stream of a batch, a `_core.BatchResponse`.

        Raises:
            BoardwireError: The stream broke; pending requests get no response.
        """
        call_stream = self._call_stream
        assert call_stream is not None
        try:
            if self._shape is not None:
                answer = await call_stream.receive_rows(timeout, self._shape)
            else:
                answer = await call_stream.receive(timeout)
        except BoardwireError as failure:
            self._end(call_stream)
            raise await self._connection.with_details(failure, self._advice) from None
        except BaseException:
            self.close()
            raise
        if answer is None:
            self._end(call_stream)
            raise ConnectionLost("the stream ended; the next call opens another")
        self._answered = (self._answered + 1) % _TAGS
        tag = answer["tag"] if self._shape is None else answer.tag
        if tag != self._answered:
            self.close()
            raise ServerFault(f"the response to request {self._answered} has the tag {tag}")
        return answer

    def _end(self, call_stream: _core.CallStream) -> None:
        """Closes the stream after a failure of `call_stream`.

        Raises:
            ConnectionLost: This process has closed the stream or its client; the reason is `CLOSED`.
        """
        is_closed_here = self._call_stream is not call_stream or not self.is_open
        self.close()
        if is_closed_here:
            raise ConnectionLost("this process closed the stream; the next call opens another", reason=CLOSED)

    def _open(self) -> _core.CallStream:
        self._channel = self._connection.channel
        self.openings += 1
        self._sent = self._answered = 0
        self._call_stream = self._channel.stream(self._method, self._token)
        return self._call_stream

    def close(self) -> None:
        """Closes the stream; the next request opens a new one."""
        call_stream, self._call_stream = (self._call_stream, None)
        if call_stream is not None:
            call_stream.close()


class PlayStream:
    """The `Play` stream of one seat, with one pending request at a time."""

    def __init__(self, connection: Connection, token: str, *, advice: str) -> None:
        """Opens no stream yet; `advice` says what the caller can do when the connection is lost."""
        self._stream = Stream(connection, token, "MatchService/Play", advice=advice)

    async def ask(self, kind: str, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """Sends a request and waits for its response.

        A stream may have broken between two requests, and the client notices it only at the next request.
        Then the client sends the request once more on a new stream: requests of a seat are idempotent.

        Args:
            kind: The kind of request: `observe`, `act`, `reset` or `resign`.
            request: The fields of the request.
            timeout: The limit of both attempts together, in seconds.

        Returns:
            The fields of the observation.

        Raises:
            BoardwireError: The server refused the request, or the stream broke.
        """
        due, was_open = (deadline(timeout), self._stream.is_open)
        self._stream.send({kind: request})
        try:
            answer = await self._stream.receive(timeout)
        except ConnectionLost as lost:
            if lost.reason or not was_open:
                raise
            self._stream.send({kind: request})
            answer = await self._stream.receive(due - time.monotonic())
        if answer["error"] is not None:
            raise answer["error"]
        observation: dict[str, Any] = answer[kind]["observation"]
        return observation

    def close(self) -> None:
        """Closes the stream; the next request opens a new one."""
        self._stream.close()
