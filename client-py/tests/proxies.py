"""A TCP proxy that cuts connections and delays responses when a test asks for it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Proxy:
    """Forwards bytes between clients and a server over TCP.

    Attributes:
        address: The address for clients.
        cuts: The number of connections that it cut after a limit of `cut_after`.
        connections: The number of connected clients.
    """

    def __init__(self, address: str) -> None:
        """Listens on a free port and connects clients to the server at `address`."""
        host, port = address.rsplit(":", 1)
        self._server = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = self.connections = 0
        self._lock = threading.Lock()
        self._may_respond = threading.Event()
        self._may_respond.set()
        self._remaining: dict[str, int | None] = {"requests": None, "responses": None}
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, *, requests: int | None = None, responses: int | None = None) -> None:
        """Forwards at most this many more bytes of either kind, then cuts the connection that exceeds it."""
        with self._lock:
            self._remaining = {"requests": requests, "responses": responses}

    def cut(self) -> None:
        """Cuts all connections now."""
        with self._lock:
            for end in self._sockets:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def hold_responses(self) -> Iterator[None]:
        """Holds all responses back while the context lasts."""
        self._may_respond.clear()
        try:
            yield
        finally:
            self._may_respond.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._count(1)
                server = socket.create_connection(self._server)
                with self._lock:
                    self._sockets |= {client, server}
                for kind, source, sink in (("requests", client, server), ("responses", server, client)):
                    threading.Thread(target=self._forward, args=(kind, source, sink), daemon=True).start()

    def _forward(self, kind: str, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    remaining = self._remaining[kind]
                    forwarded = data if remaining is None else data[:remaining]
                    if remaining is not None:
                        self._remaining[kind] = remaining - len(forwarded)
                    cut = len(forwarded) < len(data)
                    if cut:
                        self._remaining = {"requests": None, "responses": None}
                        self.cuts += 1
                if kind == "responses":
                    self._may_respond.wait()
                sink.sendall(forwarded)
                if cut:
                    break
        if kind == "requests":
            self._count(-1)
        with self._lock:
            self._sockets -= {source, sink}
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _count(self, change: int) -> None:
        with self._lock:
            self.connections += change

    def close(self) -> None:
        """Stops listening."""
        self._listener.close()


@contextlib.contextmanager
def proxy_of(address: str) -> Iterator[Proxy]:
    """Runs a proxy while the context lasts."""
    proxy = Proxy(address)
    try:
        yield proxy
    finally:
        proxy.close()
