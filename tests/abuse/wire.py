"""Connections below gRPC: HTTP/2 with `h2`, or raw bytes."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterable

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from target import Target, expect


def framed(message: bytes) -> bytes:
    """Returns a message with its gRPC prefix."""
    return b"\x00" + len(message).to_bytes(4, "big") + message


class Wire:
    """One HTTP/2 connection. It opens calls without waiting for responses."""

    def __init__(self, target: Target, *, window: int | None = None, unread: bool = False) -> None:
        """Connects. `window` is the initial window of each stream; `unread` never extends the windows."""
        self.socket = socket.create_connection(target.host)
        self.socket.setblocking(False)
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.h2 = h2.connection.H2Connection(config)
        if window is not None:
            settings = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
            self.h2.local_settings = h2.settings.Settings(client=True, initial_values=settings)
        self.unread = unread
        self.h2.initiate_connection()
        #: The status of each finished call by stream: its gRPC status, or its HTTP status without one.
        self.ended: dict[int, str] = {}
        #: The streams with response headers.
        self.answered: set[int] = set()
        #: Whether the connection is closed.
        self.closed = False
        self.flush()
        self.pump(lambda: self.h2.remote_settings.max_concurrent_streams < 2**31, 30)

    def call(
        self,
        method: str,
        token: str = "",
        data: bytes = b"",
        *,
        end: bool = True,
        content: str = "application/grpc",
        headers: Iterable[tuple[str, str]] = (),
    ) -> int:
        """Opens a call and returns its stream."""
        stream = self.h2.get_next_available_stream_id()
        sent = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", method),
            (":authority", "localhost"),
            ("content-type", content),
            ("te", "trailers"),
            *headers,
        ]
        if token:
            sent.append(("authorization", f"Bearer {token}"))
        self.h2.send_headers(stream, sent, end_stream=end and not data)
        if data:
            self.send(stream, data, end=end)
        return stream

    def send(self, stream: int, data: bytes, *, end: bool = False) -> int:
        """Sends data within the windows and returns the number of sent bytes."""
        sent = 0
        while sent < len(data) and not self.closed:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            piece = data[sent : sent + room]
            if not piece:
                moved = self.pump(
                    lambda: stream in self.ended or self.h2.local_flow_control_window(stream) > 0, 5
                )
                if not moved or stream in self.ended:
                    break
                continue
            try:
                self.h2.send_data(stream, piece, end_stream=end and sent + len(piece) == len(data))
            except h2.exceptions.StreamClosedError:
                # The server rejected the call.
                break
            sent += len(piece)
            self.flush()
        return sent

    def flush(self) -> None:
        """Sends pending bytes."""
        out = memoryview(self.h2.data_to_send())
        while out and not self.closed:
            try:
                out = out[self.socket.send(out) :]
            except BlockingIOError:
                self.receive(0.05)
                select.select([], [self.socket], [], 1)
            except OSError:
                self.closed = True

    def receive(self, seconds: float) -> None:
        """Reads available bytes; waits at most this many seconds."""
        if self.closed or not select.select([self.socket], [], [], seconds)[0]:
            return
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.closed = True
            return
        for event in events:
            self.handle(event)

    def handle(self, event: h2.events.Event) -> None:
        """Records statuses and response headers of calls."""
        if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            headers = dict(event.headers)
            self.answered.add(event.stream_id)
            status, http = headers.get(b"grpc-status"), headers.get(b":status", b"200")
            if status is not None:
                self.ended[event.stream_id] = status.decode()
            elif http != b"200":
                self.ended[event.stream_id] = f"HTTP {http.decode()}"
        elif isinstance(event, h2.events.StreamReset):
            self.ended.setdefault(event.stream_id, f"reset {event.error_code}")
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.closed = True
        elif isinstance(event, h2.events.DataReceived) and not self.unread:
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)

    def pump(self, condition: Callable[[], object], seconds: float) -> bool:
        """Reads and writes until the condition is true or time is over; returns whether it is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self.closed or time.monotonic() > deadline:
                return False
            self.receive(0.05)
            self.flush()
        return True

    def close(self) -> None:
        """Closes the socket without a GOAWAY frame."""
        self.closed = True
        self.socket.close()


def open_calls(
    target: Target, count: int, open_one: Callable[[Wire], object], *, unread: bool = False
) -> list[Wire]:
    """Opens `count` calls over as few connections as possible and returns the connections."""
    wires: list[Wire] = []
    remaining = count
    while remaining:
        wire = Wire(target, window=0 if unread else None, unread=unread)
        wires.append(wire)
        for _ in range(min(remaining, wire.h2.remote_settings.max_concurrent_streams)):
            open_one(wire)
            remaining -= 1
        wire.flush()
        expect(not wire.closed, "the server closed a connection")
    return wires


def raw_connection(target: Target, data: bytes = b"") -> socket.socket:
    """Opens a connection and sends these bytes."""
    connection = socket.create_connection(target.host)
    if data:
        connection.sendall(data)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Returns whether the server closed a connection."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
