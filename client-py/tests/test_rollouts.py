"""Rollouts: advantages against a slow reference, the players of seats, and the league."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tables import lowest
from transports import client, local, served

import boardwire
from boardwire import NOBODY, Decisions

__all__ = ["client", "local", "served"]

GAMMA, LAM = 0.9, 0.7


def reference(
    seat: Any, value: Any, reward: Any, over: Any, last_seat: Any, last_value: Any
) -> dict[tuple[int, int], float]:
    """Returns the valid advantages by step and environment, computed one by one."""
    steps, n, seats = reward.shape
    found = {}
    for environment in range(n):
        for own in range(seats):
            # The seat's decisions of an episode, and what it earned after each.
            episode: list[tuple[int, float]] = []

            def close(episode: list[tuple[int, float]], after: float | None, environment: int) -> None:
                following, gained = after, 0.0
                for step, earned in reversed(episode):
                    if following is not None:
                        surprise = earned + GAMMA * following - value[step, environment]
                        gained = surprise + GAMMA * LAM * gained
                        found[step, environment] = gained
                    following = value[step, environment]

            for step in range(steps):
                if seat[step, environment] == own:
                    episode.append((step, 0.0))
                if episode:
                    last, earned = episode[-1]
                    episode[-1] = last, earned + float(reward[step, environment, own])
                if over[step, environment]:
                    close(episode, 0.0, environment)
                    episode = []
            bootstrap = float(last_value[environment]) if last_seat[environment] == own else None
            close(episode, bootstrap, environment)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_advantages_equal_a_slow_reference(seed: int) -> None:
    random = np.random.default_rng(seed)
    steps, n, seats = 40, 7, 1 + seed % 4
    seat = random.integers(0, seats, (steps, n)).astype(np.uint8)
    seat[random.random((steps, n)) < 0.2] = NOBODY
    value, last_value = (random.normal(size=shape).astype(np.float32) for shape in ((steps, n), (n,)))
    reward = random.normal(size=(steps, n, seats)).astype(np.float32)
    over = random.random((steps, n)) < 0.1
    last_seat = random.choice([*range(seats), NOBODY], n).astype(np.uint8)
    columns: Any = (seat, value, reward, over, last_seat, last_value)
    advantage, valid = boardwire.advantages(*columns, gamma=GAMMA, lam=LAM)
    expected = reference(*columns)
    assert {(int(step), int(at)) for step, at in np.argwhere(valid)} == set(expected)
    for (step, at), known in expected.items():
        assert advantage[step, at] == pytest.approx(known, abs=1e-4)
    assert not advantage[~valid].any()


def policy(decisions: Decisions) -> tuple[Any, Any, Any]:
    """Chooses the lowest actions; values are a function of the view, so a test can compute them again."""
    assert decisions.mask.any(axis=1).all()
    return lowest(decisions.mask), -decisions.seat.astype(np.float32), value_of(decisions.view)


def value_of(view: NDArray[np.uint8]) -> NDArray[np.float32]:
    total: NDArray[np.float32] = (view.astype(np.float32).sum(axis=1) % 17) / 17
    return total


def played(
    client: boardwire.Client, autoreset: boardwire.Autoreset, steps: int, n: int, seats: int
) -> dict[str, Any]:
    """Returns the columns of the same episodes, stepped without `Rollouts`."""
    columns: dict[str, list[Any]] = {name: [] for name in ("seat", "view", "reward", "over")}
    with client.open_batch("faraway", seats=seats, environments=n, seed=3, autoreset=autoreset) as batch:
        batch_step = batch.reset()
        for _ in range(steps):
            columns["seat"].append(batch_step.seat)
            columns["view"].append(batch_step.view)
            batch_step = batch.step(lowest(batch_step.mask))
            columns["reward"].append(batch_step.reward)
            columns["over"].append(batch_step.over)
        last = {"last_seat": batch_step.seat, "last_value": value_of(batch_step.view)}
    return {name: np.stack(values) for name, values in columns.items()} | last


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize("n", [1, 5])
def test_a_rollout_has_the_steps_of_the_batch_and_advantages_by_seat(
    client: boardwire.Client, autoreset: boardwire.Autoreset, n: int
) -> None:
    steps, seats = 150, 3
    all_steps = played(client, autoreset, 2 * steps, n, seats)
    with client.open_batch("faraway", seats=seats, environments=n, seed=3, autoreset=autoreset) as batch:
        rollouts = boardwire.Rollouts(batch, steps, gamma=GAMMA, lam=LAM)
        for part in (slice(0, steps), slice(steps, 2 * steps)):
            rollout = rollouts.collect(policy)
            seat, view, reward, over = (all_steps[name][part] for name in ("seat", "view", "reward", "over"))
            value = np.stack([value_of(step) for step in view])
            if part.stop < 2 * steps:
                last_seat, last_view = all_steps["seat"][part.stop], all_steps["view"][part.stop]
                last_value = value_of(last_view)
            else:
                last_seat, last_value = all_steps["last_seat"], all_steps["last_value"]
            expected = reference(seat, value, reward, over, last_seat, last_value)
            order = sorted(expected)
            assert over.any(), "the test needs ends of episodes"
            np.testing.assert_array_equal(rollout.environment, [at for _, at in order])
            np.testing.assert_array_equal(rollout.view, [view[at] for at in order])
            np.testing.assert_array_equal(rollout.seat, [seat[at] for at in order])
            np.testing.assert_array_equal(rollout.action, lowest(rollout.mask))
            np.testing.assert_array_equal(rollout.log_prob, -rollout.seat.astype(np.float32))
            np.testing.assert_allclose(rollout.advantage, [expected[at] for at in order], atol=1e-4)
            np.testing.assert_allclose(rollout.returns, rollout.advantage + rollout.value)
            np.testing.assert_array_equal(rollout.rewards, reward[over])
            np.testing.assert_array_equal(rollout.ended, np.nonzero(over)[1])


def opponent(calls: list[Decisions]) -> Callable[[Decisions], Any]:
    def act(decisions: Decisions) -> Any:
        calls.append(decisions)
        return lowest(decisions.mask)

    return act


def test_opponents_decide_at_the_seats_assigned_to_them(client: boardwire.Client) -> None:
    n, calls = 6, ([], [])  # type: tuple[int, tuple[list[Decisions], list[Decisions]]]
    players = np.array([[0, 1], [1, 0], [0, 0], [2, 0], [0, 2], [0, 0]])
    with client.open_batch("faraway", environments=n, seed=1) as batch:
        opponents = [opponent(each) for each in calls]
        rollouts = boardwire.Rollouts(batch, 60)
        rollouts.play_against(opponents, players)
        rollout = rollouts.collect(policy)
        assert (players[rollout.environment, rollout.seat] == 0).all()
        assert set(zip(rollout.environment.tolist(), rollout.seat.tolist(), strict=True)) == {
            (int(at), int(seat)) for at, seat in np.argwhere(players == 0)
        }
        for number, decisions in enumerate(calls, start=1):
            decided = {
                (int(at), int(seat))
                for each in decisions
                for at, seat in zip(each.environment, each.seat, strict=True)
            }
            assert decided == {(int(at), int(seat)) for at, seat in np.argwhere(players == number)}
        rollouts.play_against((), np.zeros((n, 2), np.int64))
        for each in calls:
            each.clear()
        rollouts.collect(policy)
        assert calls == ([], [])


def test_a_rollout_after_a_failure_resets_the_batch(client: boardwire.Client) -> None:
    def fails(decisions: Decisions) -> tuple[Any, Any, Any]:
        left.pop()
        return policy(decisions)

    left = [None] * 5
    with client.open_batch("faraway", environments=4, seed=3, autoreset="same_step") as batch:
        rollouts = boardwire.Rollouts(batch, 8)
        with pytest.raises(IndexError):
            rollouts.collect(fails)
        found = rollouts.collect(policy)
    with client.open_batch("faraway", environments=4, seed=3, autoreset="same_step") as batch:
        batch.reset()
        expected = boardwire.Rollouts(batch, 8).collect(policy)
    for name in ("environment", "view", "mask", "action", "advantage"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_invalid_rollouts_are_refused(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, autoreset="disabled") as batch:
        assert batch.autoreset == "disabled"
        with pytest.raises(ValueError, match="must start episodes itself"):
            boardwire.Rollouts(batch, 10)
    with client.open_batch("faraway", environments=2) as batch:
        with pytest.raises(ValueError, match="`steps` must be at least 1; got 0"):
            boardwire.Rollouts(batch, 0)

        def half(decisions: boardwire.Decisions) -> tuple[Any, Any, Any]:
            zero = np.zeros(len(decisions.seat))
            return decisions.mask.argmax(axis=1) + 0.5, zero, zero

        with pytest.raises(ValueError, match=r"the learner must return one integer .* got float64\[[12]\]"):
            boardwire.Rollouts(batch, 10).collect(half)
        for players, message in (
            (np.zeros((2, 3), np.int64), r"`players` must have shape \(2, 2\); got \(2, 3\)"),
            (np.full((2, 2), 1), "`players` must be 0 to 0, the number of opponents; got 1 to 1"),
            (np.full((2, 2), -1), "`players` must be 0 to 0, the number of opponents; got -1 to -1"),
        ):
            with pytest.raises(ValueError, match=message):
                boardwire.Rollouts(batch, 10).play_against((), players)


class Snapshot:
    """A policy with a number."""

    def __init__(self, number: int) -> None:
        """Has made no decision yet."""
        self.number = number
        self.decided: set[tuple[int, int]] = set()

    def __call__(self, decisions: Decisions) -> Any:
        """Chooses the lowest actions, and notes environments and seats."""
        self.decided |= set(zip(decisions.environment.tolist(), decisions.seat.tolist(), strict=True))
        return lowest(decisions.mask)


def test_a_league_keeps_the_newest_snapshot_and_some_of_every_age() -> None:
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
    # Some old snapshots remain.
    assert ages[:90].sum() > 25


def test_a_member_plays_all_but_one_of_the_learners_seats(client: boardwire.Client) -> None:
    line_ups = [["agent"] * 3, ["agent", "greedy", "agent"], ["greedy", "agent", "greedy"]]
    n = 60
    with client.open_batch("rauha", environments=n, line_ups=line_ups, seed=3) as batch:
        league, learners = boardwire.League(size=2, seed=1), batch.agents.tolist()
        assert not league.players(batch, 1.0).any()
        members = Snapshot(1), Snapshot(2)
        for member in members:
            league.add(member)
        counts = np.zeros((3, 3))
        for _ in range(30):
            players = league.players(batch, 0.5)
            league_plays = np.asarray(players.any(axis=1))
            # Members play in half of the environments where the learner has several seats.
            assert league_plays.sum() == n * 2 // 3 // 2
            assert not league_plays[2::3].any()
            assert not (players * ~batch.agents).any()
            for at in np.flatnonzero(league_plays):
                seated = [int(player) for player, own in zip(players[at], learners[at], strict=True) if own]
                assert seated.count(0) == 1
                assert len(set(seated)) == 2
                own = [seat for seat in range(3) if learners[at][seat] and players[at, seat] == 0]
                counts[at % 3, own] += 1
        # The learner keeps each of its seats about equally often.
        assert (counts[0] > 100 / 2).all()
        assert (counts[1, [0, 2]] > 100 / 2).all()
        rollouts = boardwire.Rollouts(batch, 20)
        rollouts.play_against(league.members, players)
        learner = Snapshot(0)
        rollouts.collect(lambda decisions: (learner(decisions), *np.zeros((2, len(decisions.seat)))))
        for number, player in enumerate((learner, *members)):
            assert player.decided == {
                (int(at), int(seat)) for at, seat in np.argwhere((players == number) & batch.agents)
            }


def test_a_league_of_size_0_is_refused() -> None:
    with pytest.raises(ValueError, match="`size` must be at least 1; got 0"):
        boardwire.League(size=0)
