"""Evaluation: deals from every seat, reproducible results, coverage of intervals, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables import GAMES, first_legal, last_legal
from transports import client, local, served

import boardwire
from boardwire import errors
from boardwire._evaluation import BOUNDS, estimate

__all__ = ["client", "local", "served"]

UNBOUNDED = BOUNDS["margin"]


@pytest.mark.parametrize("reward", ["rank", "win"])
@pytest.mark.parametrize("game", [game.id for game in GAMES])
def test_a_policy_against_itself_gets_its_fair_share(
    client: boardwire.Client, game: str, reward: boardwire.Reward
) -> None:
    settings: Any = {"deals": 4, "seats": 3 if game != "faraway" else 4, "reward": reward, "client": client}
    result = boardwire.evaluate(first_legal, game, opponents=first_legal, **settings)
    worst, fair = (-1, 0) if reward == "rank" else (0, 1 / settings["seats"])
    assert result.fair == fair
    # The policy plays every seat of each deal once, and all seats play alike.
    np.testing.assert_allclose(result.rewards.mean(axis=1), fair, atol=1e-6)
    assert result.mean == pytest.approx(fair, abs=1e-6)
    # All deals have equal results, but four deals leave a wide interval.
    assert result.interval == pytest.approx(((fair + worst) / 2, (fair + 1) / 2))
    assert str(result).endswith(f"{result.rewards.size} matches")


def test_the_rewards_of_two_policies_sum_to_zero(client: boardwire.Client) -> None:
    settings: Any = {"deals": 30, "seed": 5, "client": client}
    one = boardwire.evaluate(first_legal, "faraway", opponents=last_legal, **settings)
    other = boardwire.evaluate(last_legal, "faraway", opponents=first_legal, **settings)
    # Both evaluations play the same matches.
    np.testing.assert_allclose(one.rewards, -other.rewards[:, ::-1], atol=1e-6)
    again = boardwire.evaluate(first_legal, "faraway", opponents=last_legal, **settings)
    assert (one.mean, one.interval) == (again.mean, again.interval)
    assert one.interval[0] <= one.mean <= one.interval[1]


def test_the_size_of_chunks_does_not_change_the_deals(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: Any = {"opponents": "random", "deals": 9, "seed": 2, "reward": "margin", "client": client}
    whole = boardwire.evaluate(first_legal, "rauha", **settings)
    monkeypatch.setattr("boardwire._evaluation._AT_ONCE", 8)
    np.testing.assert_array_equal(whole.rewards, boardwire.evaluate(first_legal, "rauha", **settings).rewards)
    assert whole.fair is None
    assert whole.rewards.shape == (9, 2)


@pytest.mark.slow
def test_intervals_cover_the_true_mean_95_percent_of_the_time() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        _, (low, high) = estimate((random.random((80, 2)) < 0.6).mean(axis=1), UNBOUNDED)
        covered += low <= 0.6 <= high
    assert 180 <= covered <= 199


@pytest.mark.parametrize("deals", [60, 200])
@pytest.mark.parametrize("together", [True, False], ids=["deals", "matches"])
@pytest.mark.parametrize("rate", [0.998, 0.99, 0.97, 0.9, 0.003])
def test_intervals_near_0_and_1_cover_the_true_rate(
    monkeypatch: pytest.MonkeyPatch, rate: float, together: bool, deals: int
) -> None:
    monkeypatch.setattr("boardwire._evaluation._SAMPLES", 400)
    random, covered = np.random.default_rng(3), 0
    for _ in range(100):
        # The two matches of a deal have the same result, or independent results.
        won = random.random((deals, 1 if together else 2)) < rate
        _, (low, high) = estimate(won.mean(axis=1), BOUNDS["win"])
        assert 0 <= low < high <= 1
        covered += low <= rate <= high
    assert covered >= 90


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.85])
def test_intervals_far_from_0_and_1_equal_the_bootstrap(rate: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(10):
        means = (random.random((200, 2)) < rate).mean(axis=1)
        assert estimate(means, BOUNDS["win"]) == estimate(means, UNBOUNDED)


def test_equal_results_still_give_an_interval() -> None:
    won, never = np.ones(60), np.zeros(60)
    assert estimate(won, BOUNDS["win"])[1] == pytest.approx((60 / 64, 1))
    assert estimate(never, BOUNDS["win"])[1] == pytest.approx((0, 4 / 64))
    assert estimate(won, BOUNDS["rank"])[1] == pytest.approx((56 / 64, 1))
    # A control that wins all deals adds no information.
    mean, interval = estimate(won, BOUNDS["win"], np.ones(90), 0.5)
    assert mean == 1
    assert interval == pytest.approx((60 / 64, 1))
    assert estimate(7 * won, BOUNDS["margin"]) == (7, (7, 7))


def test_a_single_deal_gives_the_widest_interval(client: boardwire.Client) -> None:
    for reward, bounds in (("win", (0, 1)), ("rank", (-1, 1)), ("score", (-np.inf, np.inf))):
        settings: Any = {"opponents": "random", "deals": 1, "reward": reward, "client": client}
        assert boardwire.evaluate(first_legal, "faraway", **settings).interval == pytest.approx(bounds)


def test_a_control_removes_the_luck_of_its_deals(client: boardwire.Client) -> None:
    kwargs: Any = {"opponents": "random", "seed": 4, "client": client}
    control = boardwire.evaluate(first_legal, "faraway", deals=60, **kwargs)
    result = boardwire.evaluate(first_legal, "faraway", deals=20, control=control, control_weight=1, **kwargs)
    np.testing.assert_array_equal(result.rewards, control.rewards[:20])
    # Policy and control have equal luck, so the control removes all of it.
    assert result.mean == pytest.approx(control.mean)
    alone = boardwire.evaluate(first_legal, "faraway", deals=20, **kwargs)
    assert result.interval[1] - result.interval[0] < alone.interval[1] - alone.interval[0]
    plain = boardwire.evaluate(first_legal, "faraway", deals=20, control=control, control_weight=0, **kwargs)
    assert plain.mean == pytest.approx(alone.mean)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_intervals_with_a_control_cover_the_true_mean_95_percent_of_the_time(weight: float) -> None:
    random = np.random.default_rng(2)
    covered, width = 0, 0.0
    for _ in range(200):
        luck = random.normal(size=300)
        means = 0.6 + luck[:80] + random.normal(size=80) / 2
        mean, (low, high) = estimate(means, UNBOUNDED, luck + random.normal(size=300) / 2, weight)
        covered += low <= 0.6 <= high
        width += (high - low) / 200
        assert low < mean < high
    assert 180 <= covered <= 199
    # The variance is 1.25 without a control. With it: the rest of these 80 deals, and the luck of all 300.
    share = 220 / 300
    variance = ((1 - weight * share) ** 2 + 0.25 + (weight * share) ** 2 / 4) / 80 + (
        weight * share
    ) ** 2 * 1.25 / 220
    assert width == pytest.approx(2 * 1.96 * variance**0.5, rel=0.05)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": 5}, "seed 4, not 5"),
        ({"seats": 3}, "seats 2, not 3"),
        ({"reward": "win"}, "reward 'rank', not 'win'"),
        ({"options": {"variant": "advanced"}}, "options"),
        ({"deals": 9}, "must have more than 9 deals; it has 9"),
    ],
)
def test_a_control_needs_the_same_settings_and_more_deals(
    client: boardwire.Client, changed: dict[str, Any], message: str
) -> None:
    settings: dict[str, Any] = {"opponents": "random", "seed": 4, "client": client}
    control = boardwire.evaluate(first_legal, "faraway", deals=9, **settings)
    with pytest.raises(ValueError, match=message):
        boardwire.evaluate(first_legal, "faraway", control=control, **{"deals": 3, **settings, **changed})


def test_invalid_evaluations_are_refused(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="`deals` must be at least 1"):
        boardwire.evaluate(first_legal, "faraway", deals=0, client=client)
    with pytest.raises(errors.InvalidRequest) as caught:
        boardwire.evaluate(first_legal, "faraway", opponents="clever", deals=1, client=client)
    assert caught.value.reason == "BOT_UNKNOWN"
    with pytest.raises(ValueError, match="'agent' is not a bot"):
        boardwire.evaluate(first_legal, "faraway", opponents="agent", deals=1, client=client)
    for policy in (lambda decisions: decisions.mask.argmax(axis=1) + 0.5, lambda decisions: 0):
        with pytest.raises(ValueError, match=r"the policy must return one integer for each of"):
            boardwire.evaluate(policy, "faraway", deals=1, client=client)
    with pytest.raises(errors.IllegalAction, match="may not choose"):
        boardwire.evaluate(lambda decisions: decisions.mask.argmin(axis=1), "faraway", deals=1, client=client)


@pytest.mark.slow
def test_evaluate_starts_a_server_by_default() -> None:
    assert boardwire.evaluate(first_legal, "faraway", opponents="random", deals=2).rewards.shape == (2, 2)


def test_versus_plays_all_pairs_over_the_same_deals(client: boardwire.Client) -> None:
    settings: Any = {"deals": 40, "seed": 4, "client": client}
    policies = {"first": first_legal, "last": last_legal}
    results = boardwire.versus(policies, "faraway", bots=["random"], **settings)
    assert set(results.evaluations) == {
        ("first", "last"),
        ("first", "random"),
        ("last", "first"),
        ("last", "random"),
    }
    for (name, other), result in results.evaluations.items():
        opponents = other if other == "random" else policies[other]
        alone = boardwire.evaluate(policies[name], "faraway", opponents=opponents, **settings)
        np.testing.assert_array_equal(result.rewards, alone.rewards)
    first, last = (results.evaluations[name, "random"] for name in ("first", "last"))
    mean, (low, high) = results.difference("first", "last", against="random")
    assert mean == pytest.approx(first.mean - last.mean)
    assert low <= mean <= high
    # Equal results still leave a small difference possible.
    mean, interval = results.difference("first", "first", against="random")
    assert mean == 0
    assert interval == pytest.approx((-8 / 44, 8 / 44))
    head, *rows = str(results).splitlines()
    assert head.split() == ["last", "random", "first"]
    assert rows[0].startswith(f"first {first.mean:.3f}"[:5])
    assert rows[1].split()[0] == "last"
    assert f"{first.mean:.3f}" in rows[0]
    assert "-" in rows[1].split()
    with pytest.raises(KeyError):
        results.difference("first", "last", against="first")


def test_names_of_players_are_unique(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="'greedy' is the name of a policy and of a bot"):
        boardwire.versus({"greedy": first_legal}, "faraway", bots=["greedy"], client=client)
