"""The wire without grpcio: channels of the extension, for generated stubs to call by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import code_pb2

from . import _core, _extension

if TYPE_CHECKING:
    from ._spec import GameSpec
    from ._ways import Metadata
    from .v1 import batch_pb2


class Failed(grpc.RpcError):
    """A call that failed.

    Attributes:
        kind: The name of the status code.
        message: What the server says, or what is wrong with the connection.
        status: A `google.rpc.Status`, where the server has sent one; else empty.
    """

    def __init__(self, code: int, message: str, status: bytes) -> None:
        """Is raised by the extension."""
        super().__init__(message)
        self.kind = code_pb2.Code.Name(code)
        self.message = message
        self.status = status


class NativeChannel:
    """A connection to one server, without TLS."""

    def __init__(self, channel: _core.Channel) -> None:
        """Opens it with the first call."""
        self._channel = channel

    def unary_unary(
        self,
        path: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **_: Any,
    ) -> Callable[[Any, float, Metadata], Any]:
        """A method that takes one message and gives one."""

        def call(request: Any, timeout: float, metadata: Metadata) -> Any:
            answer = self._channel.call(path, request_serializer(request), metadata, timeout)
            return response_deserializer(answer)

        return call

    def stream_stream(
        self,
        path: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **_: Any,
    ) -> NativeMethod:
        """A method that gives a stream of messages, for one message or a stream of them."""
        return NativeMethod(self._channel, path, request_serializer, response_deserializer)

    unary_stream = stream_stream

    def close(self) -> None:
        """Ends all that goes over it."""
        self._channel.close()


def native_channel(target: str) -> NativeChannel | None:
    """A channel of the extension; nothing where grpcio is asked for."""
    channel = _extension.channel(target)
    return None if channel is None else NativeChannel(channel)


@dataclass(frozen=True)
class NativeMethod:
    """A method that gives a stream of messages.

    Attributes:
        channel: The channel that it is called over.
        path: Its path.
        write: Turns a request into bytes.
        read: Turns bytes into an answer.
        rows: What the rows of its answers are shaped like, where it is a batch's stream.
    """

    channel: _core.Channel
    path: str
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    rows: _core.Rows | None = None

    def of_rows(self, about: batch_pb2.Batch, spec: GameSpec) -> NativeMethod:
        """The same for the stream of a batch: its answers hold their rows, uncopied, as a `BatchStep`."""
        rows = _core.Rows(about.SerializeToString(), spec.seats, spec.view_bytes, len(spec.actions))
        return replace(self, rows=rows)

    def pipe(self, metadata: Metadata, request: Any) -> NativePipe:
        """Opens a stream."""
        message = None if request is None else self.write(request)
        return NativePipe(self, self.channel.stream(self.path, metadata, message))


class NativePipe:
    """A stream that is read and written by who waits for its answers."""

    def __init__(self, method: NativeMethod, pipe: _core.Pipe) -> None:
        """Is open."""
        self._method = method
        self._pipe = pipe

    async def send(self, request: Any) -> None:
        """Sends a request. What is wrong with the stream, `receive` tells."""
        self._pipe.send(self._method.write(request))

    async def receive(self, timeout: float) -> Any:
        """Waits for the next answer; nothing at the end of the stream."""
        if self._method.rows is not None:
            return self._pipe.receive_rows(timeout, self._method.rows)
        answer = self._pipe.receive(timeout)
        return None if answer is None else self._method.read(answer)

    def close(self) -> None:
        """Ends the stream."""
        self._pipe.close()
