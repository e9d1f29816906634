"""Floods of calls while matches with clocks are played."""

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
from target import Target, expect
from wire import Wire, framed

#: A clock may run slower during a flood: by this factor plus this number of seconds.
MOST_FACTOR, MOST_SECONDS = 1.05, 0.1
#: The time that an agent with a clock plays during the flood, in seconds.
PLAY_SECONDS = 2.0


class TimedSeat(Seat):
    """A seat with a clock: it forfeits after this many milliseconds for a decision."""

    def __init__(self, stubs: Stubs, milliseconds: int) -> None:
        """Creates a match with a clock and joins it."""
        clock = match_pb2.Clock(limit=Duration(nanos=milliseconds * 1_000_000))
        super().__init__(stubs, clocks=[clock])
        self.began = time.monotonic()

    def seconds_to_forfeit(self, observer: Stubs) -> float:
        """Makes no decision and returns the seconds until the seat forfeits."""
        match = match_pb2.Match()
        while match.state != match_pb2.MATCH_STATE_OVER:
            request = pb.GetMatchRequest(match_id=self.match_id, known_etag=match.etag)
            match = observer.matches.GetMatch(request, timeout=60).match
        return time.monotonic() - self.began


@contextlib.contextmanager
def flooded(target: Target, size: int) -> Iterator[list[int]]:
    """Keeps `size` calls running; returns the number of responses in a list of one number."""
    over, answered = threading.Event(), [0]
    # No match has this label.
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


def play_with_clock(stubs: Stubs) -> int:
    """Plays an episode with 0.1 s for each decision and returns the number of decisions."""
    seat, decisions = TimedSeat(stubs, 100), 0
    obs = seat.observe()
    while not obs.terminated:
        obs = seat.play_first(obs, thought=Duration(nanos=240_000), wait=True)
        decisions += 1
        expect(not obs.timed_out, f"time ran out at decision {decisions}")
    expect(not any(obs.outcome.forfeits), f"a seat forfeited after {decisions} decisions")
    seat.close()
    return decisions


@attack(quick=2_000, full=12_000, slack=128)
def timed_floods(target: Target, size: int) -> str:
    """During a flood, no agent within its limit loses on time, and no clock of the caller runs slower."""
    matches = min(10_000, size)
    with Stubs(target.address) as stubs, Stubs(target.unix) as others:
        request = match_request(["agent", "random"])
        created = flood(stubs.matches.CreateMatch.future, [request] * matches)
        expect(created == {OK: matches}, f"matches were created as {format_counts(created)}")
        alone = TimedSeat(stubs, 999).seconds_to_forfeit(others)
        slow, decisions = TimedSeat(stubs, 999), 0
        with flooded(target, size) as answered:
            during = slow.seconds_to_forfeit(others)
            deadline = time.monotonic() + PLAY_SECONDS
            while time.monotonic() < deadline:
                decisions += play_with_clock(others)
    expect(
        during <= MOST_FACTOR * alone + MOST_SECONDS,
        f"a clock of {alone:.2f} s took {during:.2f} s during a flood",
    )
    figures = f"{alone:.2f} s alone, {during:.2f} s during {answered[0]:,} calls"
    return f"{decisions} decisions in time; a clock took {figures}"
