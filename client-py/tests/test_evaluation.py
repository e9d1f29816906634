"""Evaluation: every deal from every seat, the same figures again, and intervals that hold the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carriers import client, local, served
from tables import GAMES, first_legal, last_legal

import boardwire
from boardwire import errors
from boardwire._evaluation import bootstrap, bounds_of, controlled

__all__ = ["client", "local", "served"]


@pytest.mark.parametrize("game", [game.id for game in GAMES])
def test_a_policy_against_itself_gets_its_fair_share(client: boardwire.Client, game: str) -> None:
    found = boardwire.evaluate(
        first_legal, game, opponents=first_legal, deals=4, seats=3 if game != "faraway" else 4, client=client
    )
    assert found.fair is not None
    # Of every deal each seat is played once by the policy, and all seats play alike.
    np.testing.assert_allclose(found.rewards.sum(axis=1), 1, atol=1e-6)
    assert found.mean == pytest.approx(found.fair)
    # All deals went alike, but four are few.
    assert found.interval == pytest.approx((found.fair / 2, (found.fair + 1) / 2))
    assert str(found).endswith(f"{found.rewards.size} matches")


def test_two_policies_divide_what_there_is(client: boardwire.Client) -> None:
    given: Any = {"deals": 30, "seed": 5, "client": client}
    one = boardwire.evaluate(first_legal, "faraway", opponents=last_legal, **given)
    other = boardwire.evaluate(last_legal, "faraway", opponents=first_legal, **given)
    # The same matches, seen from the other side.
    np.testing.assert_allclose(one.rewards + other.rewards[:, ::-1], 1, atol=1e-6)
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
        low, high = bootstrap((random.random((80, 2)) < 0.6).mean(axis=1))
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
        low, high = bootstrap(won.mean(axis=1), bounds_of("win"))
        assert 0 <= low < high <= 1
        held += low <= rate <= high
    assert held >= 90


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.85])
def test_intervals_far_from_none_and_all_are_those_of_the_bootstrap(rate: float) -> None:
    random = np.random.default_rng(4)
    for _ in range(10):
        means = (random.random((200, 2)) < rate).mean(axis=1)
        assert bootstrap(means, bounds_of("win")) == bootstrap(means)


def test_deals_that_all_went_alike_leave_others_possible() -> None:
    won, never = np.ones(60), np.zeros(60)
    assert bootstrap(won, bounds_of("win")) == pytest.approx((60 / 64, 1))
    assert bootstrap(never, bounds_of("win")) == pytest.approx((0, 4 / 64))
    assert bootstrap(won, bounds_of("rank")) == pytest.approx((56 / 64, 1))
    # A control that has won all knows no more.
    mean, interval = controlled(won, np.ones(90), 0.5, bounds_of("win"))
    assert mean == 1
    assert interval == pytest.approx((60 / 64, 1))
    assert bootstrap(7 * won, bounds_of("margin")) == (7, 7)


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
        mean, (low, high) = controlled(means, luck + random.normal(size=300) / 2, weight)
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
        ({"reward": "rank"}, "reward 'win', not 'rank'"),
        ({"options": {"variant": "advanced"}}, "options"),
        ({"deals": 9}, "9 deals: it takes more than the 9"),
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
    with pytest.raises(ValueError, match="at least one deal"):
        boardwire.evaluate(first_legal, "faraway", deals=0, client=client)
    with pytest.raises(errors.InvalidRequest):
        boardwire.evaluate(first_legal, "faraway", opponents="clever", deals=1, client=client)
    with pytest.raises(ValueError, match="'agent' is no bot"):
        boardwire.evaluate(first_legal, "faraway", opponents="agent", deals=1, client=client)
    for policy in (lambda asked: asked.mask.argmax(axis=1) + 0.5, lambda asked: 0):
        with pytest.raises(ValueError, match=r"the policy chose .* not an action for each of"):
            boardwire.evaluate(policy, "faraway", deals=1, client=client)
    with pytest.raises(errors.IllegalAction, match="may not choose"):
        boardwire.evaluate(lambda asked: asked.mask.argmin(axis=1), "faraway", deals=1, client=client)


@pytest.mark.slow
def test_a_server_is_started_where_there_is_none() -> None:
    assert boardwire.evaluate(first_legal, "faraway", opponents="random", deals=2).rewards.shape == (2, 2)
