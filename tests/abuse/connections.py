"""Silent connections, invalid bytes, floods of frames, and too many connections."""

from __future__ import annotations

import random
import socket
import struct

from attacks import attack
from calls import Seat, Stubs, check_served
from target import Failed, Target, expect, wait_until
from wire import Wire, is_closed, raw_connection

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
#: The bytes that connections send before they are silent.
CONNECTION_PREFIXES = (b"", PREFACE[:1], PREFACE[:23], PREFACE, PREFACE + SETTINGS, PREFACE + SETTINGS[:5])
#: Bytes that are not HTTP/2.
INVALID = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
    bytes(64),
    b"PRI * HTTP/1.1\r\n",
)


def close(connections: list[socket.socket]) -> None:
    """Closes all connections."""
    for connection in connections:
        connection.close()


def pending(target: Target) -> socket.socket:
    """Starts a connection that the server may never accept."""
    connection = socket.socket()
    connection.setblocking(False)
    connection.connect_ex(target.host)
    return connection


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Returns an HTTP/2 frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@attack(quick=400, full=1_000, flags=lambda size: ("--handshake-timeout", 2), connects=True)
def silent_connections(target: Target, size: int) -> str:
    """Silent connections: the server closes those without a complete HTTP/2 preface in time."""
    before = target.descriptors()
    connections = [
        raw_connection(target, CONNECTION_PREFIXES[turn % len(CONNECTION_PREFIXES)]) for turn in range(size)
    ]
    silent = [each for turn, each in enumerate(connections) if turn % len(CONNECTION_PREFIXES) < 3]
    established = [each for turn, each in enumerate(connections) if turn % len(CONNECTION_PREFIXES) >= 3]
    took = wait_until(
        lambda: all(is_closed(each) for each in silent), 30, "the server did not close silent connections"
    )
    expect(not any(is_closed(each) for each in established), "the server closed an established connection")
    check_served(target)
    close(connections)
    wait_until(lambda: target.descriptors() <= before + 1, 30, "connections did not end")
    return f"{len(silent)} ended after {took:.1f} s, {len(established)} open"


@attack(quick=400, full=4_000)
def half_open_connections(target: Target, size: int) -> str:
    """Connections that are shut down in one direction or reset, in each state."""
    before = target.descriptors()
    for turn in range(size):
        connection = raw_connection(target, CONNECTION_PREFIXES[turn % len(CONNECTION_PREFIXES)])
        if turn % 3 == 0:
            connection.shutdown(socket.SHUT_WR)
        elif turn % 3 == 1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    waiting = []
    for turn in range(100):
        waiting.append(raw_connection(target, CONNECTION_PREFIXES[turn % len(CONNECTION_PREFIXES)]))
        waiting[-1].shutdown(socket.SHUT_WR)
    wait_until(
        lambda: all(is_closed(each) for each in waiting),
        30,
        "the server did not close connections without a writer",
    )
    close(waiting)
    wait_until(lambda: target.descriptors() <= before, 30, "connections did not end")
    check_served(target)
    return f"{size} connections"


@attack(quick=400, full=20_000)
def invalid_bytes(target: Target, size: int) -> str:
    """Bytes that are not HTTP/2, and invalid frames after a valid preface."""
    rng = random.Random(size)
    for turn in range(size):
        if turn % 2:
            data = INVALID[turn // 2 % len(INVALID)]
        else:
            data = PREFACE + SETTINGS + rng.randbytes(rng.randrange(200))
        try:
            connection = raw_connection(target, data)
        except OSError as error:
            raise Failed(f"the server did not accept connection {turn}: {error}") from None
        connection.close()
    check_served(target)
    return f"{size} connections"


@attack(quick=20_000, full=1_000_000)
def frames(target: Target, size: int) -> str:
    """Floods of cheap frames: pings, settings, empty data, endless headers."""
    floods = {
        "pings": frame(6, 0, 0, bytes(8)),
        "settings": SETTINGS,
        "priorities": frame(2, 0, 1, bytes(5)),
        "empty data": frame(0, 0, 1),
        "windows": frame(8, 0, 0, (1).to_bytes(4, "big")),
        "continuations": frame(9, 0, 1, bytes([0x40, 1, 97, 1, 98])),
        "resets": frame(3, 0, 1, (8).to_bytes(4, "big")),
    }
    # `:method POST`, `:scheme http`, `:path /` without end of stream: stream 1 is open.
    head = bytes([0x83, 0x86, 0x84])
    stopped = []
    for name, flood in floods.items():
        opening = frame(1, 0 if name == "continuations" else 4, 1, head)
        connection = raw_connection(target, PREFACE + SETTINGS + opening)
        connection.settimeout(5)
        sent = 0
        try:
            while sent < size:
                connection.sendall(flood * 100)
                sent += 100
        except OSError:
            # The server closed the connection, or stopped reading since this side reads nothing.
            stopped.append(name)
        connection.close()
        check_served(target)
    return f"stopped {', '.join(stopped) or 'none'}"


@attack(quick=300, full=1_500, flags=lambda size: ("--handshake-timeout", 60), connects=True)
def full_descriptor_table(target: Target, size: int) -> str:
    """More connections than the server has descriptors: it must neither spin nor end, and recover."""
    before = target.descriptors()
    usual = target.limit_descriptors(before + size // 2)
    # Two halves: each fits the queue of the listener. If the queue overflows, Linux reports connections as
    # open that the server does not have. So the attack opens connections until the table is full.
    connections = [pending(target) for _ in range(size // 2)]

    def is_full() -> bool:
        connections.append(pending(target))
        return target.descriptors() >= before + size // 2 - 2

    wait_until(is_full, 30, "the table did not fill")
    connections += [pending(target) for _ in range(size - size // 2)]
    busy = target.load(2)
    expect(busy < 0.6, f"the server uses {busy:.2f} processors while its table is full")
    used = target.descriptors()
    close(connections)
    # If the queue overflowed, the server has connections whose other side has vanished. They end with the
    # handshake timeout.
    took = wait_until(lambda: target.descriptors() <= before + 1, 90, "descriptors did not return")
    target.limit_descriptors(usual)
    check_served(target)
    return f"{used} descriptors of {before + size // 2}, {busy:.2f} processors, back after {took:.1f} s"


@attack(
    quick=200,
    full=2_000,
    flags=lambda size: ("--max-connections-per-caller", size // 2),
    connects=True,
)
def many_connections(target: Target, size: int) -> str:
    """More connections than allowed per caller: the server closes the excess, and other callers connect."""
    connections = [raw_connection(target, PREFACE + SETTINGS) for _ in range(size)]
    wait_until(
        lambda: sum(map(is_closed, connections)) >= size - size // 2,
        30,
        "the server did not close connections",
    )
    ended = sum(map(is_closed, connections))
    expect(ended == size - size // 2, f"{ended} of {size} connections were closed")
    # All addresses of this machine are one caller.
    elsewhere = socket.create_connection(target.host, source_address=("127.0.0.2", 0))
    wait_until(lambda: is_closed(elsewhere), 30, "another address of this machine was served")
    elsewhere.close()
    with Stubs(target.unix) as stubs:
        Seat(stubs).act()
    close(connections)

    def connects() -> bool:
        wire = Wire(target)
        wire.close()
        return bool(wire.h2.remote_settings.max_concurrent_streams < 2**31)

    wait_until(connects, 30, "a new connection was not served")
    check_served(target)
    return f"{ended} of {size} closed"
