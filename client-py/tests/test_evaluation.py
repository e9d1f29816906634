"""Evaluation: deals from every seat, reproducible figures, intervals with the truth, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carriers import client, local, served
from tables import GAMES, first_legal, last_legal

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
    given: Any = {"deals": 4, "seats": 3 if game != "faraway" else 4, "reward": reward, "client": client}
    found = boardwire.evaluate(first_legal, game, opponents=first_legal, **given)
    worst, fair = (-1, 0) if reward == "rank" else (0, 1 / given["seats"])
    assert found.fair == fair
    # The policy plays every seat of each deal once, and all seats play alike.
    np.testing.assert_allclose(found.rewards.mean(axis=1), fair, atol=1e-6)
    assert found.mean == pytest.approx(fair, abs=1e-6)
    # All deals went alike, but four are few.
    assert found.interval == pytest.approx(((fair + worst) / 2, (fair + 1) / 2))
    assert str(found).endswith(f"{found.rewards.size} matches")


def test_two_policies_divide_what_there_is(client: boardwire.Client) -> None:
    given: Any = {"deals": 30, "seed": 5, "client": client}
    one = boardwire.evaluate(first_legal, "faraway", opponents=last_legal, **given)
    other = boardwire.evaluate(last_legal, "faraway", opponents=first_legal, **given)
    # The same matches, seen from the other side.
    np.testing.assert_allclose(one.rewards, -other.rewards[:, ::-1], atol=1e-6)
    again = boardwire.evaluate(first_legal, "faraway", opponents=last_legal, **given)
    assert (one.mean, one.interval) == (again.mean, again.interval)
    assert one.interval[0] <= one.mean <= one.interval[1]


def test_bots_play_in_the_server_the_same_deals_in_chunks_or_not(
    client: boardwire.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: Any = {"opponents": "random", "deals": 9, "seed": 2, "reward": "margin", "client": client}
    whole = boardwire.evaluate(first_legal, "rauha", **given)
    monkeypatch.setattr("boardwire._evaluation._AT_ONCE", 8)
    np.testing.assert_array_equal(whole.rewards, boardwire.evaluate(first_legal, "rauha", **given).rewards)
    assert whole.fair is None
    assert whole.rewards.shape == (9, 2)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        _, (low, high) = estimate((random.random((80, 2)) < 0.6).mean(axis=1), UNBOUNDED)
        held += low <= 0.6 <= high
    assert 180 <= held <= 199


@pytest.mark.parametrize("deals", [60, 200])
@pytest.mark.parametrize("together", [True, False], ids=["deals", "matches"])
@pytest.mark.parametrize("rate", [0.998, 0.99, 0.97, 0.9, 0.003])
def test_intervals_near_none_and_all_hold_the_truth(
    monkeypatch: pytest.MonkeyPatch, rate: float, together: bool, deals: int
) -> None:
    monkeypatch.setattr("boardwire._evaluation._SAMPLES", 400)
    random, held = np.random.default_rng(3), 0
    for _ in range(100):
        # Both matches of a deal are won or lost together, or each by itself.
        won = random.random((deals, 1 if together else 2)) < rate
        _, (low, high) = estimate(won.mean(axis=1), BOUNDS["win"])
        assert 0 <= low < high <= 1
        held += low <= rate <= high
    assert held >= 90


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.85])
def test_intervals_far_from_none_and_all_are_those_of_the_bootstrap(rate: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(10):
        means = (random.random((200, 2)) < rate).mean(axis=1)
        assert estimate(means, BOUNDS["win"]) == estimate(means, UNBOUNDED)


def test_deals_that_all_went_alike_leave_others_possible() -> None:
    won, never = np.ones(60), np.zeros(60)
    assert estimate(won, BOUNDS["win"])[1] == pytest.approx((60 / 64, 1))
    assert estimate(never, BOUNDS["win"])[1] == pytest.approx((0, 4 / 64))
    assert estimate(won, BOUNDS["rank"])[1] == pytest.approx((56 / 64, 1))
    # A control that has won all knows no more.
    mean, interval = estimate(won, BOUNDS["win"], np.ones(90), 0.5)
    assert mean == 1
    assert interval == pytest.approx((60 / 64, 1))
    assert estimate(7 * won, BOUNDS["margin"]) == (7, (7, 7))


def test_a_single_deal_makes_nothing_certain(client: boardwire.Client) -> None:
    for reward, bounds in (("win", (0, 1)), ("rank", (-1, 1)), ("score", (-np.inf, np.inf))):
        given: Any = {"opponents": "random", "deals": 1, "reward": reward, "client": client}
        assert boardwire.evaluate(first_legal, "faraway", **given).interval == pytest.approx(bounds)


def test_a_control_takes_its_own_luck_out(client: boardwire.Client) -> None:
    given: Any = {"opponents": "random", "seed": 4, "client": client}
    control = boardwire.evaluate(first_legal, "faraway", deals=60, **given)
    found = boardwire.evaluate(first_legal, "faraway", deals=20, control=control, control_weight=1, **given)
    np.testing.assert_array_equal(found.rewards, control.rewards[:20])
    # A policy that is as lucky as the control has all of its luck taken out.
    assert found.mean == pytest.approx(control.mean)
    alone = boardwire.evaluate(first_legal, "faraway", deals=20, **given)
    assert found.interval[1] - found.interval[0] < alone.interval[1] - alone.interval[0]
    unmoved = boardwire.evaluate(first_legal, "faraway", deals=20, control=control, control_weight=0, **given)
    assert unmoved.mean == pytest.approx(alone.mean)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_intervals_with_a_control_hold_the_truth_as_often_as_they_say(weight: float) -> None:
    random = np.random.default_rng(2)
    held, wide = 0, 0.0
    for _ in range(200):
        luck = random.normal(size=300)
        means = 0.6 + luck[:80] + random.normal(size=80) / 2
        mean, (low, high) = estimate(means, UNBOUNDED, luck + random.normal(size=300) / 2, weight)
        held += low <= 0.6 <= high
        wide += (high - low) / 200
        assert low < mean < high
    assert 180 <= held <= 199
    # What is left: 1.25 without; with, the rest of these deals and the luck of all 300.
    share = 220 / 300
    variance = ((1 - weight * share) ** 2 + 0.25 + (weight * share) ** 2 / 4) / 80 + (
        weight * share
    ) ** 2 * 1.25 / 220
    assert wide == pytest.approx(2 * 1.96 * variance**0.5, rel=0.05)


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
def test_a_control_is_of_the_same_deals_and_more(
    client: boardwire.Client, changed: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {"opponents": "random", "seed": 4, "client": client}
    control = boardwire.evaluate(first_legal, "faraway", deals=9, **given)
    with pytest.raises(ValueError, match=message):
        boardwire.evaluate(first_legal, "faraway", control=control, **{"deals": 3, **given, **changed})


def test_what_cannot_be_evaluated_is_refused(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="`deals` must be at least 1"):
        boardwire.evaluate(first_legal, "faraway", deals=0, client=client)
    with pytest.raises(errors.InvalidRequest) as told:
        boardwire.evaluate(first_legal, "faraway", opponents="clever", deals=1, client=client)
    assert told.value.reason == "BOT_UNKNOWN"
    with pytest.raises(ValueError, match="'agent' is no bot"):
        boardwire.evaluate(first_legal, "faraway", opponents="agent", deals=1, client=client)
    for policy in (lambda asked: asked.mask.argmax(axis=1) + 0.5, lambda asked: 0):
        with pytest.raises(ValueError, match=r"the policy must return one integer for each of"):
            boardwire.evaluate(policy, "faraway", deals=1, client=client)
    with pytest.raises(errors.IllegalAction, match="may not choose"):
        boardwire.evaluate(lambda asked: asked.mask.argmin(axis=1), "faraway", deals=1, client=client)


@pytest.mark.slow
def test_a_server_is_started_where_there_is_none() -> None:
    assert boardwire.evaluate(first_legal, "faraway", opponents="random", deals=2).rewards.shape == (2, 2)


def test_everybody_meets_everybody_over_the_same_deals(client: boardwire.Client) -> None:
    given: Any = {"deals": 40, "seed": 4, "client": client}
    field = {"first": first_legal, "last": last_legal}
    met = boardwire.versus(field, "faraway", bots=["random"], **given)
    assert set(met.evaluations) == {
        ("first", "last"),
        ("first", "random"),
        ("last", "first"),
        ("last", "random"),
    }
    for (name, other), found in met.evaluations.items():
        opponents = other if other == "random" else field[other]
        alone = boardwire.evaluate(field[name], "faraway", opponents=opponents, **given)
        np.testing.assert_array_equal(found.rewards, alone.rewards)
    first, last = (met.evaluations[name, "random"] for name in ("first", "last"))
    mean, (low, high) = met.difference("first", "last", against="random")
    assert mean == pytest.approx(first.mean - last.mean)
    assert low <= mean <= high
    # Who has never differed may yet differ in a deal of ten.
    mean, interval = met.difference("first", "first", against="random")
    assert mean == 0
    assert interval == pytest.approx((-8 / 44, 8 / 44))
    head, *rows = str(met).splitlines()
    assert head.split() == ["last", "random", "first"]
    assert rows[0].startswith(f"first {first.mean:.3f}"[:5])
    assert rows[1].split()[0] == "last"
    assert f"{first.mean:.3f}" in rows[0]
    assert "-" in rows[1].split()
    with pytest.raises(KeyError):
        met.difference("first", "last", against="first")


def test_a_name_is_of_one_player(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="'greedy' is the name of a policy and of a bot"):
        boardwire.versus({"greedy": first_legal}, "faraway", bots=["greedy"], client=client)
