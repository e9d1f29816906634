"""A way to a server that breaks when it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Proxy:
    """Passes bytes between clients and a server on TCP.

    Attributes:
        address: Where clients find it.
        cuts: How many connections it has cut.
        connections: How many clients are connected.
    """

    def __init__(self, address: str) -> None:
        """Listens on a free port, for the server at `address`."""
        host, port = address.rsplit(":", 1)
        self._server = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = self.connections = 0
        self._lock = threading.Lock()
        self._passes = threading.Event()
        self._passes.set()
        self._left: dict[str, int | None] = {"requests": None, "answers": None}
        self._ends: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, *, requests: int | None = None, answers: int | None = None) -> None:
        """Lets so many more bytes of either through, and then cuts the connection that they came on."""
        with self._lock:
            self._left = {"requests": requests, "answers": answers}

    def cut(self) -> None:
        """Cuts every connection, now."""
        with self._lock:
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds all answers back for as long as the context lasts."""
        self._passes.clear()
        try:
            yield
        finally:
            self._passes.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._count(1)
                server = socket.create_connection(self._server)
                with self._lock:
                    self._ends |= {client, server}
                for kind, source, sink in (("requests", client, server), ("answers", server, client)):
                    threading.Thread(target=self._pass, args=(kind, source, sink), daemon=True).start()

    def _pass(self, kind: str, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    left = self._left[kind]
                    passed = data if left is None else data[:left]
                    if left is not None:
                        self._left[kind] = left - len(passed)
                    cut = len(passed) < len(data)
                    if cut:
                        self._left = {"requests": None, "answers": None}
                        self.cuts += 1
                if kind == "answers":
                    self._passes.wait()
                sink.sendall(passed)
                if cut:
                    break
        if kind == "requests":
            self._count(-1)
        with self._lock:
            self._ends -= {source, sink}
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _count(self, more: int) -> None:
        with self._lock:
            self.connections += more

    def close(self) -> None:
        """Listens no longer."""
        self._listener.close()


@contextlib.contextmanager
def proxy_of(address: str) -> Iterator[Proxy]:
    """A proxy for as long as the context lasts."""
    proxy = Proxy(address)
    try:
        yield proxy
    finally:
        proxy.close()
