"""The league: who stays in it, and who plays where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carriers import client, local, served
from tables import lowest

import boardwire
from boardwire import Decisions

__all__ = ["client", "local", "served"]


class Snapshot:
    """A policy with a number."""

    def __init__(self, number: int) -> None:
        """Has been asked nothing yet."""
        self.number = number
        self.asked: set[tuple[int, int]] = set()

    def __call__(self, asked: Decisions) -> Any:
        """Chooses lowest actions and notes where."""
        self.asked |= set(zip(asked.environment.tolist(), asked.seat.tolist(), strict=True))
        return lowest(asked.mask)


def test_the_newest_stays_and_some_of_every_age() -> None:
    ages = np.zeros(100)
    for seed in range(50):
        league = boardwire.League(size=5, seed=seed)
        for number in range(100):
            league.add(Snapshot(number))
            assert len(league.members) == min(number + 1, 5)
            assert league.members[-1].number == number  # type: ignore[attr-defined]
        numbers = [member.number for member in league.members]  # type: ignore[attr-defined]
        assert numbers == sorted(set(numbers))
        ages[numbers] += 1
    # Those that are older are fewer, but they are not gone.
    assert ages[:90].sum() > 25


def test_members_have_all_seats_but_one_of_the_learners(client: boardwire.Client) -> None:
    line_ups = [["agent"] * 3, ["agent", "greedy", "agent"], ["greedy", "agent", "greedy"]]
    n = 60
    with client.open_batch("rauha", environments=n, line_ups=line_ups, seed=3) as batch:
        league, learners = boardwire.League(size=2, seed=1), batch.agents.tolist()
        assert not league.players(batch, 1.0).any()
        members = Snapshot(1), Snapshot(2)
        for member in members:
            league.add(member)
        seen = np.zeros((3, 3))
        for _ in range(30):
            players = league.players(batch, 0.5)
            league_plays = np.asarray(players.any(axis=1))
            # Where the learner has but one seat nobody takes it; of the others it is half.
            assert league_plays.sum() == n * 2 // 3 // 2
            assert not league_plays[2::3].any()
            assert not (players * ~batch.agents).any()
            for at in np.flatnonzero(league_plays):
                seated = [int(player) for player, own in zip(players[at], learners[at], strict=True) if own]
                assert seated.count(0) == 1
                assert len(set(seated)) == 2
                own = [seat for seat in range(3) if learners[at][seat] and players[at, seat] == 0]
                seen[at % 3, own] += 1
        # The learner's seat is any of those it may have.
        assert (seen[0] > 100 / 2).all()
        assert (seen[1, [0, 2]] > 100 / 2).all()
        rollouts = boardwire.Rollouts(batch, 20)
        rollouts.play_against(league.members, players)
        learner = Snapshot(0)
        rollouts.collect(lambda asked: (learner(asked), np.zeros(len(asked.seat)), np.zeros(len(asked.seat))))
        for number, player in enumerate((learner, *members)):
            assert player.asked == {
                (int(at), int(seat)) for at, seat in np.argwhere((players == number) & batch.agents)
            }


def test_a_league_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one snapshot, not 0"):
        boardwire.League(size=0)
