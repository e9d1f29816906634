"""Callers that make the server store more and more: it must not exceed `--max-bytes`."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator

from attacks import attack
from boardwire_v1 import batch_pb2 as batch_pb
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1.match_pb2 import MatchConfig
from boardwire_v1.search_pb2 import CreateSearchRequest, RolloutRequest
from calls import (
    OK,
    Seat,
    Stubs,
    batch_request,
    bearer,
    check_served,
    flood,
    format_counts,
    match_request,
    outcome,
)
from connections import PREFACE, SETTINGS
from target import Target, expect, wait_until
from wire import Wire, framed, raw_connection

MIB = 1 << 20
#: The value of `--max-bytes` here, and the additional memory that the server may use, in MiB.
ALL, OVERHEAD = 256, 64
#: The most playouts of one call.
MOST_PLAYOUTS = 1 << 16
#: The largest flow-control window of HTTP/2.
LARGEST_WINDOW = (1 << 31) - 1


def flags(size: int) -> tuple[object, ...]:
    """The flags of a server with a small `--max-bytes`."""
    return "--max-bytes", ALL * MIB


@contextlib.contextmanager
def bounded(target: Target, maximum: float = ALL + OVERHEAD) -> Iterator[None]:
    """Fails if the memory of the server grows more during the context."""
    before = target.resident()
    yield
    grown = target.peak() - before
    expect(grown <= maximum, f"memory grew by {grown:.0f} MiB, more than {maximum:.0f}")


def wait_until_idle(target: Target) -> None:
    """Waits until the server only serves the normal client."""
    wait_until(lambda: target.load() < 0.3, 60, "the server did not finish unread calls")


def unread_connection(target: Target) -> Wire:
    """Opens a connection with the largest windows that reads nothing."""
    wire = Wire(target, window=LARGEST_WINDOW, unread=True)
    wire.h2.increment_flow_control_window(LARGEST_WINDOW - (1 << 16))
    wire.flush()
    return wire


def literal(name: bytes, value: bytes) -> bytes:
    """Returns a header field that HPACK does not index."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


@attack(quick=200_000, full=4_000_000, flags=flags)
def rapid_resets(target: Target, size: int) -> str:
    """Calls without a token that the client resets immediately, as fast as possible."""
    with bounded(target, 1.5 * OVERHEAD):
        connections = reset_calls(lambda: raw_connection(target), size)
    wait_until(lambda: target.load() < 0.5, 30, "the server did not finish reset calls")
    wait_until_served(target)
    return f"{connections} connections"


def reset_calls(connect: Callable[[], socket.socket], size: int) -> int:
    """Makes calls and resets each immediately; returns the number of connections."""
    head = bytes([0x83, 0x86]) + literal(b":path", b"/boardwire.v1.MatchService/ListMatches")
    head += literal(b":authority", b"a") + literal(b"content-type", b"application/grpc")
    header_frame = len(head).to_bytes(3, "big") + b"\x01\x04"
    reset, cancel = (4).to_bytes(3, "big") + b"\x03\x00", (8).to_bytes(4, "big")
    connections = sent = 0
    while sent < size:
        connection, stream = connect(), 1
        connection.settimeout(10)
        connections += 1
        with contextlib.suppress(OSError):
            connection.sendall(PREFACE + SETTINGS)
            while sent < size:
                numbers = (struct.pack(">I", stream + 2 * at) for at in range(1_000))
                connection.sendall(
                    b"".join(header_frame + number + head + reset + number + cancel for number in numbers)
                )
                stream, sent = stream + 2_000, sent + 1_000
        connection.close()
    return connections


def wait_until_served(target: Target) -> None:
    """Waits until the rate limit accepts calls of this caller again."""

    def accepted() -> bool:
        with Stubs(target.address) as stubs:
            return outcome(stubs.matches.ListMatches.future(pb.ListMatchesRequest())) == OK

    wait_until(accepted, 30, "the caller was not served again")


def finished_match(stubs: Stubs) -> str:
    """Plays a match to its end and returns its id."""
    seat = Seat(stubs)
    obs = seat.observe()
    while not obs.terminated:
        obs = seat.play_first(obs, wait=True)
    return seat.match_id


@attack(quick=500, full=3_000, flags=flags)
def unread_watches(target: Target, size: int) -> str:
    """Watchers with pictures that read nothing, a thousand on each connection."""
    with Stubs(target.address) as stubs:
        match_id = finished_match(stubs)
    request = framed(pb.WatchRequest(match_id=match_id, after=0, depict=True).SerializeToString())
    wires = []
    with bounded(target):
        for turn in range(size):
            if turn % 1_000 == 0:
                wires.append(unread_connection(target))
            wires[-1].call("/boardwire.v1.MatchService/Watch", data=request)
        for wire in wires:
            wire.flush()
        wait_until_idle(target)
    for wire in wires:
        wire.close()
    check_served(target)
    return f"{size} watchers on {len(wires)} connections"


@attack(quick=600, full=2_000, flags=flags)
def unread_plays(target: Target, size: int) -> str:
    """`Play` streams whose responses are not read."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs)
        observe = pb.ObserveRequest(match_id=seat.match_id)
        observe.extras.text = observe.extras.explanation = observe.extras.actions = True
        one = framed(pb.PlayRequest(tag=1, observe=observe).SerializeToString())
        sent = 0
        with bounded(target):
            wires = [unread_connection(target) for _ in range(4)]
            for turn in range(size):
                wire = wires[turn % len(wires)]
                stream = wire.call("/boardwire.v1.MatchService/Play", seat.tokens[0], end=False)
                room = wire.h2.local_flow_control_window(stream)
                if room > 10 * len(one):
                    sent += wire.send(stream, one * (min(room, 1 << 16) // len(one)))
            wait_until_idle(target)
        for wire in wires:
            wire.close()
        seat.act()
    return f"{size} streams, {sent // len(one):,} requests"


@attack(quick=8_000, full=40_000, flags=flags)
def unread_pages(target: Target, size: int) -> str:
    """Unread pages of sixteen matches with many labels, on many connections."""
    labels = {f"{number:063}": "x" * 128 for number in range(16)}
    request = match_request(["agent", "random"], config=MatchConfig(labels=labels))
    page = framed(pb.ListMatchesRequest(page_size=16).SerializeToString())
    with Stubs(target.address) as stubs:
        flood(stubs.matches.CreateMatch.future, [request] * 16)
        with bounded(target):
            wires = [Wire(target, window=0, unread=True) for _ in range(40)]
            for wire in wires:
                for _ in range(size // len(wires)):
                    wire.call("/boardwire.v1.MatchService/ListMatches", data=page)
                wire.flush()
            wait_until_idle(target)
        for wire in wires:
            wire.close()
    check_served(target)
    return f"{len(wires)} connections"


@attack(quick=400, full=1_000, flags=flags)
def many_rollouts(target: Target, size: int) -> str:
    """Concurrent rollouts of one seat, each with the largest number of playouts."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs)
        token = bearer(seat.tokens[0])
        # The number of places limits the concurrent rollouts.
        request = CreateSearchRequest(match_id=seat.match_id, places=size)
        search = stubs.searches.CreateSearch(request, metadata=token)
        rollout = RolloutRequest(search_id=search.search.id, worlds=bytes(4), playouts=MOST_PLAYOUTS)
        with bounded(target, OVERHEAD):
            calls = [stubs.searches.Rollout.future(rollout, metadata=token) for _ in range(size)]
            # A later call on the same connection has a response when all rollouts have started.
            seat.observe()
            wait_until(lambda: target.load(0.25) > 0.5, 30, "no playout runs")
        for call in calls:
            call.cancel()
        seat.close()
    wait_until(lambda: target.load() < 0.5, 30, "abandoned playouts still run")
    return f"{size} rollouts"


@attack(quick=100, full=500, flags=flags)
def announced_messages(target: Target, size: int) -> str:
    """Announced messages of 63 MiB, of which five bytes arrive. Other callers still get large responses."""
    wires = []
    for _ in range(size):
        wire = Wire(target)
        wire.call(
            "/boardwire.v1.BatchService/LoadBatch", data=b"\x00" + (63 * MIB).to_bytes(4, "big"), end=False
        )
        wire.flush()
        wires.append(wire)
    with Stubs(target.unix) as stubs:
        batch = stubs.batches.OpenBatch(batch_request(["agent", "random"], 1 << 15))
        reset = batch_pb.ResetBatchRequest(batch_id=batch.batch.id)
        outcomes = Counter[str]()
        for _ in range(20):
            outcomes[outcome(stubs.batches.ResetBatch.future(reset, metadata=bearer(batch.token)))] += 1
    for wire in wires:
        wire.close()
    expect(outcomes == {OK: 20}, f"large responses to another caller ended as {format_counts(outcomes)}")
    return f"{size} announced"


@attack(quick=500, full=4_000, flags=lambda size: ("--handshake-timeout", 2))
def silent_calls(target: Target, size: int) -> str:
    """Calls and health checks whose message never arrives: each ends in time."""
    paths = ("/grpc.health.v1.Health/Check", "/boardwire.v1.MatchService/ListMatches")
    wires, opened_on = [], 500
    for turn in range(size):
        if turn % opened_on == 0:
            wires.append(Wire(target))
        # Some calls send a part of the message.
        wires[-1].call(paths[turn % 2], data=bytes(4) if turn % 3 else b"", end=False)
    for wire in wires:
        wire.flush()
    outcomes = Counter[str]()
    for wire in wires:
        wire.pump(lambda wire=wire: len(wire.ended) >= min(size, opened_on), 30)  # type: ignore[misc]
        outcomes.update(wire.ended.values())
        wire.close()
    expect(
        outcomes.total() == size,
        f"{size - outcomes.total():,} calls did not end; the other calls ended as {format_counts(outcomes)}",
    )
    return f"ended as {format_counts(outcomes)}"


@attack(quick=100, full=300, flags=flags)
def idle_streams(target: Target, size: int) -> str:
    """Streams that stay open after the response to a request of 4 MiB."""
    step = batch_pb.StepBatchRequest(batch_id="x", actions=bytes(4 * MIB - 64))
    data = framed(batch_pb.RunBatchRequest(tag=1, step=step).SerializeToString())
    wire = Wire(target)
    with bounded(target):
        for _ in range(size):
            stream = wire.call("/boardwire.v1.BatchService/RunBatch", "x", data, end=False)
            expect(wire.pump(lambda stream=stream: stream in wire.answered, 30), "a stream had no response")  # type: ignore[misc]
            expect(stream not in wire.ended, f"a stream ended as {wire.ended.get(stream)}")
        wait_until_idle(target)
    wire.close()
    check_served(target)
    return f"{size} streams"
