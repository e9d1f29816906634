"""Too many streams, and calls that the client cancels immediately."""

from __future__ import annotations

import contextlib
from collections import Counter

from attacks import attack
from boardwire_v1 import match_service_pb2 as pb
from calls import CALL_TIMEOUT, OK, Seat, Stubs, bearer, check_served, format_counts, outcome
from target import Target, expect, wait_until
from wire import Wire, framed, open_calls

PLAY = "/boardwire.v1.MatchService/Play"
OBSERVE = "/boardwire.v1.MatchService/Observe"
#: The gRPC status RESOURCE_EXHAUSTED.
FULL = "8"
#: The memory of a stream, as in docs/operations.md.
STREAM_BYTES = 16 << 10


def statuses(wires: list[Wire]) -> Counter[str]:
    """Returns the statuses of all finished calls."""
    counts = Counter[str]()
    for wire in wires:
        wire.receive(0)
        counts.update(wire.ended.values())
    return counts


@attack(quick=2_000, full=20_000, flags=lambda size: ("--max-bytes", size * STREAM_BYTES * 136 // 100))
def streams(target: Target, size: int) -> str:
    """More streams than allowed per caller: the server rejects the excess, and closed streams free memory."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs)
        wires = open_calls(target, size, lambda wire: wire.call(PLAY, seat.tokens[0], end=False))
        # One caller may use three quarters of `--max-bytes`, connections included.
        wait_until(
            lambda: statuses(wires)[FULL] >= size // 100, CALL_TIMEOUT, "the server did not reject streams"
        )
        rejected = statuses(wires)
        expect(
            set(rejected) == {FULL} and rejected[FULL] < size // 20,
            f"streams ended as {format_counts(rejected)}",
        )
        # Calls of another caller still succeed.
        with Stubs(target.unix) as other:
            Seat(other).act()
        for wire in wires:
            wire.close()

        def opens() -> bool:
            # The server closes a connection while memory is full.
            with contextlib.closing(Wire(target)) as again:
                stream = again.call(PLAY, seat.tokens[0], end=False)
                again.flush()
                return again.pump(lambda: stream in again.answered, 10) and stream not in again.ended

        wait_until(opens, 30, "closed streams did not free memory")
        seat.close()
    return f"{len(wires)} connections, {rejected[FULL]:,} of {size:,} rejected"


@attack(quick=2_000, full=20_000)
def cancelled_calls(target: Target, size: int) -> str:
    """The client cancels waiting calls immediately, most of them before the server reads them."""
    connections = calls = 0
    with Stubs(target.address) as stubs:
        seat = Seat(stubs, ["agent", "agent"])
        seat.act(0)
        message = framed(pb.ObserveRequest(match_id=seat.match_id, wait=True).SerializeToString())
        wire = None
        while calls < size:
            if wire is None or wire.closed:
                wire, connections = Wire(target), connections + 1
            for _ in range(min(500, size - calls)):
                stream = wire.call(OBSERVE, seat.tokens[0], message)
                wire.h2.reset_stream(stream, 8)
                calls += 1
            wire.flush()
            wire.receive(0)
        if wire is not None:
            wire.close()
        # Cancelled calls no longer count, so the seat can wait again.
        request = pb.ObserveRequest(match_id=seat.match_id, wait=True)
        waiting = stubs.matches.Observe.future(request, metadata=bearer(seat.tokens[0]))
        seat.alternate()
        expect(outcome(waiting) == OK, "the seat cannot wait again")
        seat.close()
    check_served(target)
    return f"{connections} connections"
