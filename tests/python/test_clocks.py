"""Clocks as agents see them. Tests in the server, with simulated time, check how they count."""

from __future__ import annotations

import time

import pytest

import boardwire
from boardwire import Clock

GAMES = ["faraway", "rauha", "golden_compass"]


def lowest(obs: boardwire.Observation) -> int:
    """Returns the lowest legal action."""
    return int(obs.mask.nonzero()[0][0])


def test_info_and_observations_have_the_clocks(client: boardwire.Client) -> None:
    clock = Clock(limit=2, bank=30, increment=0.5, strikes=1, on_timeout="greedy")
    with client.create_match("faraway", players=["agent", "random"], clock=clock) as match:
        assert match.info().clocks == (clock, None)
        seat = match.join(0)
        obs = seat.observe()
        own, clock_of_bot = obs.clocks
        assert clock_of_bot is None
        assert own is not None
        assert (own.running, own.strikes) == (True, 1)
        assert 20 < own.bank <= 30
        assert own.left == pytest.approx(own.bank + 2, abs=2)
        obs = seat.act(lowest(obs))
        assert not obs.timed_out
        frames = [frame for frame in seat.replay().frames if frame.seat == 0]
        assert frames[0].took is not None
        assert 0 < frames[0].took < 10


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("on_timeout", ["first_legal", "seeded_legal", "greedy"])
def test_the_server_makes_a_late_decision(client: boardwire.Client, game: str, on_timeout: str) -> None:
    clock = Clock(limit=0.15, on_timeout=on_timeout)
    with client.create_match(game, players=["agent", "agent"], clock={0: clock}) as match:
        assert match.info().clocks == (clock, None)
        late, other = match.join(0), match.join(1)
        obs = late.observe(wait=False)
        while 0 not in obs.pending:
            other.act(lowest(other.observe(wait=False)), wait=False)
            obs = late.observe(wait=False)
        decision = obs.decision
        deadline = time.monotonic() + 30
        while not late.observe(wait=False).timed_out:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        late.last = obs
        with pytest.raises(boardwire.errors.StaleRequest) as caught:
            late.act(lowest(obs))
        assert caught.value.metadata["decision"] == str(decision)
        assert late.observe(wait=False).decision > decision
        causes = [frame.played.cause for frame in late.replay().frames if frame.seat == 0 and frame.played]
        assert "timed_out" in causes


def test_a_late_seat_forfeits(client: boardwire.Client) -> None:
    with client.create_match("rauha", players=["agent", "agent"], clock=Clock(limit=0.05)) as match:
        seats = [match.join(0), match.join(1)]
        obs = seats[1].observe()
        while not obs.over:
            obs = seats[1].act(lowest(obs))
        assert obs.outcome is not None
        assert "time" in obs.outcome.forfeits


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
def test_invalid_clocks_are_rejected(client: boardwire.Client, clock: Clock, expected: str) -> None:
    with pytest.raises(boardwire.errors.InvalidRequest, match=expected):
        client.create_match("faraway", players=["agent", "random"], clock=clock)


def test_clocks_of_missing_seats_are_rejected(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="from 0 to 1; got 2"):
        client.create_match("faraway", players=["agent", "agent"], clock={2: Clock(limit=1)})


def test_a_match_without_clocks_has_none(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        assert match.info().clocks == ()
        assert match.info().watch_delay == 0
        assert match.join(0).observe(wait=False).clocks == ()


def test_an_expired_clock_is_still_in_observations(client: boardwire.Client) -> None:
    clock = Clock(limit=0.05)
    with client.create_match("faraway", players=["agent", "agent"], clock={0: clock}) as match:
        late = match.join(0)
        match.join(1)
        deadline = time.monotonic() + 30
        while not (obs := late.observe(wait=False)).over:
            assert obs.clocks[0] is not None
            assert obs.clocks[1] is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert obs.clocks[0] is not None
        assert obs.clocks[0].bank == 0
