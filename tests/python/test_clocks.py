"""Clocks, as agents meet them. What they count is tested in the server, where time can stand still."""

from __future__ import annotations

import time

import pytest

import boardwire
from boardwire import Clock

GAMES = ["faraway", "rauha", "golden_compass"]


def lowest(seen: boardwire.Observation) -> int:
    """The lowest legal action."""
    return int(seen.mask.nonzero()[0][0])


def test_everybody_sees_the_clocks(client: boardwire.Client) -> None:
    clock = Clock(limit=2, bank=30, increment=0.5, strikes=1, on_timeout="greedy")
    with client.create_match("faraway", players=["agent", "random"], clock=clock) as match:
        assert match.info().clocks == (clock, None)
        seat = match.join(0)
        seen = seat.observe()
        own, bots = seen.clocks
        assert (own is not None, bots) == (True, None)
        assert own is not None
        assert (own.running, own.strikes) == (True, 1)
        assert 20 < own.bank <= 30
        assert own.left == pytest.approx(own.bank + 2, abs=2)
        seen = seat.act(lowest(seen))
        assert not seen.timed_out
        frames = [frame for frame in seat.replay().frames if frame.seat == 0]
        assert frames[0].took is not None
        assert 0 < frames[0].took < 10


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("on_timeout", ["first_legal", "seeded_legal", "greedy"])
def test_a_late_decision_is_made_for_the_seat(client: boardwire.Client, game: str, on_timeout: str) -> None:
    clock = Clock(limit=0.15, on_timeout=on_timeout)
    with client.create_match(game, players=["agent", "agent"], clock={0: clock}) as match:
        assert match.info().clocks == (clock, None)
        late, other = match.join(0), match.join(1)
        seen = late.observe(wait=False)
        while 0 not in seen.pending:
            other.act(lowest(other.observe(wait=False)), wait=False)
            seen = late.observe(wait=False)
        decision = seen.decision
        # Its time, and what might be on the wire.
        deadline = time.monotonic() + 30
        while not late.observe(wait=False).timed_out:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        late.last = seen
        with pytest.raises(boardwire.errors.StaleRequest) as told:
            late.act(lowest(seen))
        assert told.value.metadata["decision"] == str(decision)
        assert late.observe(wait=False).decision > decision
        causes = [frame.played.cause for frame in late.replay().frames if frame.seat == 0 and frame.played]
        assert "timed_out" in causes


def test_who_is_late_forfeits(client: boardwire.Client) -> None:
    with client.create_match("rauha", players=["agent", "agent"], clock=Clock(limit=0.05)) as match:
        seats = [match.join(0), match.join(1)]
        over = seats[1].observe()
        while not over.over:
            over = seats[1].act(lowest(over))
        assert over.outcome is not None
        assert "time" in over.outcome.forfeits


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        (Clock(), r"limit \+ bank above 0 s"),
        (Clock(limit=90_000), "limit"),
        (Clock(limit=-1), "limit"),
        (Clock(limit=1, strikes=101), "strikes"),
        (Clock(limit=1, on_timeout="chess"), "bot"),
    ],
)
def test_clocks_that_cannot_be_are_refused(client: boardwire.Client, clock: Clock, expected: str) -> None:
    with pytest.raises(boardwire.errors.InvalidRequest, match=expected):
        client.create_match("faraway", players=["agent", "random"], clock=clock)


def test_clocks_are_for_seats_that_are_there(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="from 0 to 1; got 2"):
        client.create_match("faraway", players=["agent", "agent"], clock={2: Clock(limit=1)})


def test_a_match_without_clocks_has_none(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        assert match.info().clocks == ()
        assert match.info().watch_delay == 0
        assert match.join(0).observe(wait=False).clocks == ()


def test_a_clock_without_time_left_is_still_shown(client: boardwire.Client) -> None:
    clock = Clock(limit=0.05)
    with client.create_match("faraway", players=["agent", "agent"], clock={0: clock}) as match:
        late = match.join(0)
        match.join(1)
        deadline = time.monotonic() + 30
        while not (seen := late.observe(wait=False)).over:
            assert seen.clocks[0] is not None
            assert seen.clocks[1] is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert seen.clocks[0] is not None
        assert seen.clocks[0].bank == 0
