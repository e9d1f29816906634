"""Floods on a public server: HAProxy with `deploy/haproxy.cfg`, and the server behind it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import trustme

from attacks import attack
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1 import match_service_pb2_grpc
from connections import PREFACE, SETTINGS, close
from memory import BESIDE, bounded, reset_calls
from target import Target, expect, wait_until
from wire import is_closed

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
#: Where attackers come from, so that the proxy can tell them from others: all of 127.0.0.0/8 is this machine.
ATTACKER = "127.0.0.9"
#: The connections that the configuration grants an address at once.
MOST = 64


def flags(size: int) -> tuple[object, ...]:
    """A server behind a proxy on this machine."""
    return "--trusted-proxy", "127.0.0.1"


class Proxy:
    """A proxy before a server."""

    def __init__(self, port: int, authority: trustme.CA) -> None:
        """One that listens at a port, with a certificate of this authority."""
        self.port = port
        self.root = authority.cert_pem.bytes()
        self.tls = ssl.create_default_context()
        self.tls.set_alpn_protocols(["h2"])
        authority.configure_trust(self.tls)

    def connect(self) -> ssl.SSLSocket:
        """A connection of an attacker, after the handshake."""
        plain = self.begin()
        try:
            return self.tls.wrap_socket(plain, server_hostname="localhost")
        except OSError:
            plain.close()
            raise

    def begin(self) -> socket.socket:
        """A connection of an attacker, before the handshake."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(ATTACKER, 0))


def free_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def proxied(target: Target) -> Iterator[Proxy]:
    """The proxy before a server, for as long as the context lasts."""
    authority, port = trustme.CA(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        certificate, configuration = Path(folder) / "server.pem", Path(folder) / "haproxy.cfg"
        issued = authority.issue_cert("localhost")
        issued.private_key_and_cert_chain_pem.write_to_path(certificate)
        text = CONFIGURATION.read_text()
        for written, here in (
            (":::443 v4v6", f"127.0.0.1:{port}"),
            # The suite need not be root.
            ("    user haproxy\n    group haproxy\n    chroot /var/lib/haproxy\n", ""),
            ("/etc/haproxy/boardwire.pem", str(certificate)),
            ("127.0.0.1:50051 send-proxy-v2", f"{target.address} send-proxy-v2"),
        ):
            expect(text.count(written) == 1, f"{CONFIGURATION} has no {written}")
            text = text.replace(written, here)
        configuration.write_text(text)
        # Without a master it stays in this process, and says what is wrong with the configuration.
        process = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(configuration)])
        try:
            proxy = Proxy(port, authority)
            wait_until(lambda: listens(port, process), 30, "the proxy does not listen")
            yield proxy
        finally:
            process.kill()
            process.wait()


def listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Whether the proxy accepts connections."""
    expect(process.poll() is None, "the proxy has ended")
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


class Visitor:
    """A client from another address that calls through the proxy, on a new connection each time."""

    def __init__(self, proxy: Proxy) -> None:
        """Begins."""
        self.proxy = proxy
        self.trips: list[float] = []
        self.errors: list[str] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.visit, daemon=True)

    def visit(self) -> None:
        """Calls until told that it is over."""
        credentials = grpc.ssl_channel_credentials(self.proxy.root)
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        while not self.over.wait(0.2):
            start = time.monotonic()
            try:
                with grpc.secure_channel(f"localhost:{self.proxy.port}", credentials, options) as channel:
                    stub = match_service_pb2_grpc.MatchServiceStub(channel)
                    stub.ListMatches(pb.ListMatchesRequest(), timeout=30, wait_for_ready=True)
            except grpc.RpcError as error:
                self.errors.append(str(error))
            self.trips.append(time.monotonic() - start)

    def __enter__(self) -> Visitor:
        """Begins to call."""
        self.thread.start()
        wait_until(lambda: self.trips, 60, "the visitor was not answered")
        return self

    def __exit__(self, *_: object) -> None:
        """Ends."""
        self.over.set()
        self.thread.join()

    def judge(self) -> str:
        """Fails unless all calls were answered in time; gives the figures."""
        expect(not self.errors, f"a visitor from another address was refused: {self.errors[:1]}")
        expect(max(self.trips) < 5, f"a visitor from another address waited {max(self.trips):.1f} s")
        return f"{len(self.trips)} visitors, at most {1000 * max(self.trips):.0f} ms"


@attack(quick=0, full=5_000, flags=flags)
def proxied_handshakes(target: Target, size: int) -> str:
    """Handshakes of TLS as fast as one address can ask for them."""
    with proxied(target) as proxy:
        with Visitor(proxy) as visitor:
            made = 0
            for _ in range(size):
                with contextlib.suppress(OSError), proxy.connect():
                    made += 1
        expect(0 < made < size / 2, f"{made} of {size} handshakes were made")
        return f"{made} were made; {visitor.judge()}"


@attack(quick=0, full=2_000, flags=flags, connects=True)
def proxied_connections(target: Target, size: int) -> str:
    """More connections than an address may have, which say nothing, or nothing after HTTP/2 has begun."""
    with proxied(target) as proxy, Visitor(proxy) as visitor:
        silent: list[socket.socket] = []
        for turn in range(size):
            with contextlib.suppress(OSError):
                if turn % 2:
                    silent.append(proxy.begin())
                else:
                    silent.append(proxy.connect())
                    silent[-1].sendall(PREFACE + SETTINGS)
            if turn % 100 == 0:
                # A slow flood: the limit of what is open is reached, not only that of what is opened.
                time.sleep(1)
        held = sum(not is_closed(each) for each in silent)
        expect(0 < held <= MOST, f"{held} connections of one address are open")
        close(silent)
    return f"{held} were held; {visitor.judge()}"


@attack(quick=0, full=1_000_000, flags=flags)
def proxied_resets(target: Target, size: int) -> str:
    """Calls that are reset as soon as they are made, through the proxy."""

    def connect() -> socket.socket:
        while True:
            try:
                return proxy.connect()
            except OSError:
                # The address has asked too often.
                time.sleep(0.2)

    with proxied(target) as proxy:
        with bounded(target, 1.5 * BESIDE):
            connections = reset_calls(connect, size)
        wait_until(lambda: target.load() < 0.5, 30, "the server was not done with calls that were reset")
        with Visitor(proxy) as visitor:
            pass
    return f"{connections} connections; {visitor.judge()}"
