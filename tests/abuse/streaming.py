"""Too many streams, and calls that are given up as soon as they are made."""

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
FULL = "8"
#: What a stream takes: docs/operations.md.
STREAM_BYTES = 16 << 10


def ended(wires: list[Wire]) -> Counter[str]:
    """How the calls of all connections have ended."""
    counts = Counter[str]()
    for wire in wires:
        wire.receive(0)
        counts.update(wire.ended.values())
    return counts


@attack(quick=2_000, full=20_000, flags=lambda size: ("--max-bytes", size * STREAM_BYTES * 136 // 100))
def streams(target: Target, size: int) -> str:
    """More streams than one caller may have; the rest is refused, and those that are ended make room."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs)
        wires = open_calls(target, size, lambda wire: wire.call(PLAY, seat.tokens[0], end=False))
        # A caller may have three quarters; connections take something, too, and the last one finds room.
        wait_until(lambda: ended(wires)[FULL] >= size // 100, CALL_TIMEOUT, "streams were not refused")
        refused = ended(wires)
        expect(
            set(refused) == {FULL} and refused[FULL] < size // 20,
            f"streams ended as {format_counts(refused)}",
        )
        # Another caller's calls still go through.
        with Stubs(target.unix) as others:
            Seat(others).act()
        for wire in wires:
            wire.close()

        def opens() -> bool:
            # A connection for which there is no room yet is closed.
            with contextlib.closing(Wire(target)) as again:
                stream = again.call(PLAY, seat.tokens[0], end=False)
                again.flush()
                return again.pump(lambda: stream in again.answered, 10) and stream not in again.ended

        wait_until(opens, 30, "streams did not make room")
        seat.close()
    return f"{len(wires)} connections, {refused[FULL]:,} of {size:,} refused"


@attack(quick=2_000, full=20_000)
def cancelled_calls(target: Target, size: int) -> str:
    """Calls that wait are cancelled at once, most before the server has seen them."""
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
        # The seat may wait again: nothing of what was cancelled is left.
        request = pb.ObserveRequest(match_id=seat.match_id, wait=True)
        waiting = stubs.matches.Observe.future(request, metadata=bearer(seat.tokens[0]))
        seat.alternate()
        expect(outcome(waiting) == OK, "the seat may not wait any more")
        seat.close()
    check_served(target)
    return f"{connections} connections"
