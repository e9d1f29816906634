"""Floods of calls beside matches with clocks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from google.protobuf.duration_pb2 import Duration

from attacks import attack
from boardwire_v1 import match_pb2
from boardwire_v1 import match_service_pb2 as pb
from calls import OK, Seat, Stubs, flood, format_counts, match_request
from target import Target, expect, wait_until
from wire import Wire, framed

#: How much slower a clock may run beside a flood: by a twentieth, and by so many seconds that are uncertain.
SLOWER, UNSURE = 1.05, 0.1
#: How long a timed agent plays beside the flood, in seconds.
PLAYED = 2.0


class TimedSeat(Seat):
    """A seat whose agent may think for so many milliseconds for each decision, or forfeits."""

    def __init__(self, stubs: Stubs, milliseconds: int) -> None:
        """Creates a match and joins it."""
        clock = match_pb2.Clock(limit=Duration(nanos=milliseconds * 1_000_000))
        super().__init__(stubs, clocks=[clock])
        self.began = time.monotonic()

    def lost(self, watching: Stubs) -> float:
        """Makes no decision; gives how long the server let it think, in seconds."""

        def over() -> bool:
            request = pb.GetMatchRequest(match_id=self.match_id)
            return watching.matches.GetMatch(request).match.state == match_pb2.MATCH_STATE_OVER

        wait_until(over, 60, "time did not run out")
        return time.monotonic() - self.began


@contextlib.contextmanager
def flooded(target: Target, size: int) -> Iterator[list[int]]:
    """Keeps so many calls under way; gives how many have been answered, in a list of one number."""
    over, answered = threading.Event(), [0]
    # A label that no match has.
    data = framed(pb.ListMatchesRequest(page_size=1, labels={"a": "b"}).SerializeToString())

    def repeat() -> None:
        while not over.is_set():
            wires = [Wire(target) for _ in range(max(1, size // 1_000))]
            for wire in wires:
                for _ in range(min(size, 1_000)):
                    wire.call("/boardwire.v1.MatchService/ListMatches", data=data)
                wire.flush()
            for wire in wires:
                wire.pump(lambda wire=wire: len(wire.ended) >= min(size, 1_000), 60)  # type: ignore[misc]
                answered[0] += len(wire.ended)
                wire.close()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()


def played(stubs: Stubs) -> int:
    """Plays an episode with 0.1 s for each decision, and thinks for less; gives how many there were."""
    seat, decisions = TimedSeat(stubs, 100), 0
    obs = seat.observe()
    while not obs.terminated:
        obs = seat.choose_first(obs, thought=Duration(nanos=240_000), wait=True)
        decisions += 1
        expect(not obs.timed_out, f"time ran out at decision {decisions}")
    expect(not any(obs.outcome.forfeits), f"it has forfeited after {decisions} decisions")
    seat.close()
    return decisions


@attack(quick=2_000, full=12_000, slack=128)
def timed_floods(target: Target, size: int) -> str:
    """Nobody who thinks less than the limit loses on time, and no clock runs slower for who floods."""
    matches = min(10_000, size)
    with Stubs(target.address) as stubs, Stubs(target.unix) as others:
        request = match_request(["agent", "random"])
        created = flood(stubs.matches.CreateMatch.future, [request] * matches)
        expect(created == {OK: matches}, f"matches were created as {format_counts(created)}")
        alone = TimedSeat(stubs, 999).lost(others)
        slow, decisions = TimedSeat(stubs, 999), 0
        with flooded(target, size) as answered:
            beside = slow.lost(others)
            end = time.monotonic() + PLAYED
            while time.monotonic() < end:
                decisions += played(others)
    expect(beside <= SLOWER * alone + UNSURE, f"a clock of {alone:.2f} s took {beside:.2f} s beside a flood")
    figures = f"{alone:.2f} s alone, {beside:.2f} s beside {answered[0]:,} calls"
    return f"{decisions} decisions in time; a clock took {figures}"
