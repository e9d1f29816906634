"""Other programs at the address of a server: HTTP/2 errors, HTTP/1, and HTTP proxies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import pytest

import boardwire
from boardwire import errors


class Peer(threading.Thread):
    """A program at the address of a server. It handles one connection after another.

    Attributes:
        address: The address on which it listens.
    """

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        """Takes the function that handles each connection."""
        super().__init__(daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._serve = serve
        self.start()

    def run(self) -> None:
        """Handles connections until it is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError, h2.exceptions.ProtocolError):
                    self._serve(connection)

    def close(self) -> None:
        """Stops listening."""
        self._listener.close()


def http2(
    answer: Callable[[h2.connection.H2Connection, int], None], names: list[set[str]] | None = None
) -> Callable[[socket.socket], None]:
    """Returns a function that handles a connection and answers its HTTP/2 requests.

    It appends the names of each request's headers to `names`.
    """

    def serve(sock: socket.socket) -> None:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        sock.sendall(connection.data_to_send())
        while data := sock.recv(1 << 16):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    if names is not None:
                        names.append({bytes(name).decode() for name, _ in event.headers})
                    answer(connection, event.stream_id)
            sock.sendall(connection.data_to_send())

    return serve


def status(code: str) -> Callable[[h2.connection.H2Connection, int], None]:
    """Responds with an HTML page, as proxies do."""

    def answer(connection: h2.connection.H2Connection, stream: int) -> None:
        connection.send_headers(stream, [(":status", code), ("content-type", "text/html")])
        connection.send_data(stream, b"<h1>words</h1>", end_stream=True)

    return answer


def reset(code: h2.errors.ErrorCodes) -> Callable[[h2.connection.H2Connection, int], None]:
    """Resets the stream of the request."""
    return lambda connection, stream: connection.reset_stream(stream, code)


def go_away(connection: h2.connection.H2Connection, stream: int) -> None:
    """Ends the connection with a GOAWAY frame."""
    connection.close_connection(h2.errors.ErrorCodes.NO_ERROR, last_stream_id=0)


@pytest.mark.parametrize(("timeout", "is_sent"), [(5.0, True), (None, False)])
def test_a_call_without_a_timeout_sends_none(timeout: float | None, is_sent: bool) -> None:
    names: list[set[str]] = []
    address = Peer(http2(status("400"), names)).address
    with boardwire.connect(address, timeout=timeout) as client, pytest.raises(errors.ServerFault):
        client.server()
    assert [("grpc-timeout" in each) for each in names] == [is_sent]


@pytest.mark.parametrize("use_asyncio", [False, True])
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (status("400"), "INTERNAL"),
        (status("401"), "UNAUTHENTICATED"),
        (status("403"), "PERMISSION_DENIED"),
        (status("404"), "UNIMPLEMENTED"),
        (status("429"), "UNAVAILABLE"),
        (status("502"), "UNAVAILABLE"),
        (status("503"), "UNAVAILABLE"),
        (status("504"), "UNAVAILABLE"),
        (status("500"), "UNKNOWN"),
        (reset(h2.errors.ErrorCodes.REFUSED_STREAM), "UNAVAILABLE"),
        (reset(h2.errors.ErrorCodes.INTERNAL_ERROR), "UNAVAILABLE"),
        (reset(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM), "RESOURCE_EXHAUSTED"),
        (go_away, "UNAVAILABLE"),
    ],
    ids=["400", "401", "403", "404", "429", "502", "503", "504", "500", "refused", "reset", "calm", "away"],
)
def test_http2_errors_of_other_servers_are_mapped_to_codes(
    answer: Callable[[h2.connection.H2Connection, int], None], code: str, use_asyncio: bool
) -> None:
    async def games(address: str) -> None:
        async with boardwire.aio.connect(address, timeout=20) as client:
            await client.games()

    peer = Peer(http2(answer))
    try:
        with pytest.raises(boardwire.BoardwireError) as caught:
            asyncio.run(games(peer.address)) if use_asyncio else boardwire.connect(peer.address).games()
        assert caught.value.code == code, caught.value
    finally:
        peer.close()


def test_an_error_says_when_a_server_does_not_speak_http2() -> None:
    def page(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

    peer = Peer(page)
    try:
        with pytest.raises(errors.ConnectionLost, match="does not speak HTTP/2") as caught:
            boardwire.connect(peer.address).games()
        assert caught.value.reason == "NOT_CONNECTED"
    finally:
        peer.close()


def tunnel(to: str, requests: list[bytes], answer: bytes) -> Callable[[socket.socket], None]:
    """Returns a proxy that records its requests, and forwards bytes if it answers with 200."""

    def serve(client: socket.socket) -> None:
        requests.append(client.recv(1 << 16))
        client.sendall(answer)
        if b" 200 " not in answer:
            return
        host, port = to.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as server:
            back = threading.Thread(target=forward, args=(server, client))
            back.start()
            forward(client, server)
            back.join()

    return serve


def forward(source: socket.socket, sink: socket.socket) -> None:
    """Forwards bytes until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def test_a_proxy_is_used_for_remote_addresses_only(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[bytes] = []
    proxy = Peer(tunnel(address, requests, b"HTTP/1.1 200 OK\r\n\r\n"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://ada:word@{proxy.address}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    try:
        for local in (address, address.replace("127.0.0.1", "localhost")):
            with boardwire.connect(local) as client:
                assert client.games()
        with boardwire.connect() as client:
            assert client.games()
        assert not requests
        with boardwire.connect("games.example:50051") as client:
            assert client.games()
        assert requests[0].startswith(b"CONNECT games.example:50051 ")
        assert b"Basic YWRhOndvcmQ=" in requests[0]
        monkeypatch.setenv("no_proxy", "games.example")
        with pytest.raises(errors.ConnectionLost, match="failed to connect"):
            boardwire.connect("games.example:50051", timeout=5).games()
        assert len(requests) == 1
    finally:
        proxy.close()


def test_an_error_names_the_proxy_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    proxy = Peer(tunnel("", [], b"HTTP/1.1 502 Bad Gateway\r\n\r\n"))
    for proxy_address in (proxy.address, "127.0.0.1:9"):
        monkeypatch.setenv("http_proxy", f"http://ada:secret@{proxy_address}")
        with pytest.raises(
            errors.ConnectionLost, match=f"the proxy http://{proxy_address}/ failed"
        ) as caught:
            boardwire.connect("games.example:50051", timeout=20).games()
        assert str(caught.value).count("tunnel error") == 1
        assert "secret" not in str(caught.value)
    proxy.close()
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(ValueError, match="must be an http:// proxy"):
        boardwire.connect("games.example:50051").games()
