"""Floods on a server behind HAProxy with `deploy/haproxy.cfg`."""

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
from memory import OVERHEAD, bounded, reset_calls
from target import Target, expect, wait_until
from wire import is_closed

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
#: The source address of attackers, by which the proxy identifies them. All of 127.0.0.0/8 is this machine.
ATTACKER = "127.0.0.9"
#: The concurrent connections per address that the configuration allows.
MOST_CONNECTIONS = 64


def flags(size: int) -> tuple[object, ...]:
    """The flags of a server behind a proxy on this machine."""
    return "--trusted-proxy", "127.0.0.1"


class Proxy:
    """A proxy in front of a server."""

    def __init__(self, port: int, authority: trustme.CA) -> None:
        """Takes the port of the proxy and the authority of its certificate."""
        self.port = port
        self.root = authority.cert_pem.bytes()
        self.tls = ssl.create_default_context()
        self.tls.set_alpn_protocols(["h2"])
        authority.configure_trust(self.tls)

    def connect(self) -> ssl.SSLSocket:
        """Opens a connection of an attacker with a TLS handshake."""
        plain = self.begin()
        try:
            return self.tls.wrap_socket(plain, server_hostname="localhost")
        except OSError:
            plain.close()
            raise

    def begin(self) -> socket.socket:
        """Opens a connection of an attacker without a TLS handshake."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(ATTACKER, 0))


def free_port() -> int:
    """Returns an unused port."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


@contextlib.contextmanager
def running_proxy(target: Target) -> Iterator[Proxy]:
    """Runs the proxy in front of a server during the context."""
    authority, port = trustme.CA(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        certificate, configuration = Path(folder) / "server.pem", Path(folder) / "haproxy.cfg"
        issued = authority.issue_cert("localhost")
        issued.private_key_and_cert_chain_pem.write_to_path(certificate)
        text = CONFIGURATION.read_text()
        for original, replacement in (
            (":::443 v4v6", f"127.0.0.1:{port}"),
            # The suite can run without root.
            ("    user haproxy\n    group haproxy\n    chroot /var/lib/haproxy\n", ""),
            ("/etc/haproxy/boardwire.pem", str(certificate)),
            ("127.0.0.1:50051 send-proxy-v2", f"{target.address} send-proxy-v2"),
        ):
            expect(text.count(original) == 1, f"{CONFIGURATION} has no {original}")
            text = text.replace(original, replacement)
        configuration.write_text(text)
        # `-db` keeps the proxy in the foreground, and it prints errors of the configuration.
        process = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(configuration)])
        try:
            proxy = Proxy(port, authority)
            wait_until(lambda: listens(port, process), 30, "the proxy does not listen")
            yield proxy
        finally:
            process.kill()
            process.wait()


def listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Returns whether the proxy accepts connections."""
    expect(process.poll() is None, "the proxy has ended")
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


class Visitor:
    """A client from another address. It calls through the proxy, each time on a new connection."""

    def __init__(self, proxy: Proxy) -> None:
        """Takes the proxy."""
        self.proxy = proxy
        self.trips: list[float] = []
        self.errors: list[str] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.visit, daemon=True)

    def visit(self) -> None:
        """Calls until the event is set."""
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
        """Starts to call."""
        self.thread.start()
        wait_until(lambda: self.trips, 60, "the visitor had no response")
        return self

    def __exit__(self, *_: object) -> None:
        """Stops to call."""
        self.over.set()
        self.thread.join()

    def check(self) -> str:
        """Fails unless all calls succeeded in time; returns the results."""
        expect(not self.errors, f"a visitor from another address got an error: {self.errors[:1]}")
        expect(max(self.trips) < 5, f"a visitor from another address waited {max(self.trips):.1f} s")
        return f"{len(self.trips)} visitors, at most {1000 * max(self.trips):.0f} ms"


@attack(quick=0, full=5_000, flags=flags)
def proxied_handshakes(target: Target, size: int) -> str:
    """One address makes TLS handshakes as fast as possible."""
    with running_proxy(target) as proxy:
        with Visitor(proxy) as visitor:
            handshakes = 0
            for _ in range(size):
                with contextlib.suppress(OSError), proxy.connect():
                    handshakes += 1
        expect(0 < handshakes < size / 2, f"{handshakes} of {size} handshakes succeeded")
        return f"{handshakes} succeeded; {visitor.check()}"


@attack(quick=0, full=2_000, flags=flags, connects=True)
def proxied_connections(target: Target, size: int) -> str:
    """More connections than allowed per address, silent from the start or after the HTTP/2 preface."""
    with running_proxy(target) as proxy, Visitor(proxy) as visitor:
        silent: list[socket.socket] = []
        for turn in range(size):
            with contextlib.suppress(OSError):
                if turn % 2:
                    silent.append(proxy.begin())
                else:
                    silent.append(proxy.connect())
                    silent[-1].sendall(PREFACE + SETTINGS)
            if turn % 100 == 0:
                # A slow flood reaches the limit of open connections, not only the limit of the rate.
                time.sleep(1)
        still_open = sum(not is_closed(each) for each in silent)
        expect(0 < still_open <= MOST_CONNECTIONS, f"{still_open} connections of one address are open")
        close(silent)
    return f"{still_open} stayed open; {visitor.check()}"


@attack(quick=0, full=1_000_000, flags=flags)
def proxied_resets(target: Target, size: int) -> str:
    """Calls through the proxy that the client resets immediately."""

    def connect() -> socket.socket:
        while True:
            try:
                return proxy.connect()
            except OSError:
                # The proxy limits the rate of the address.
                time.sleep(0.2)

    with running_proxy(target) as proxy:
        with bounded(target, 1.5 * OVERHEAD):
            connections = reset_calls(connect, size)
        wait_until(lambda: target.load() < 0.5, 30, "the server did not finish reset calls")
        with Visitor(proxy) as visitor:
            pass
    return f"{connections} connections; {visitor.check()}"
