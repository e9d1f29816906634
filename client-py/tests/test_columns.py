"""Optional columns: the views of all seats, and the choices of a bot."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from tables import TABLES, lowest
from transports import client, local, served

import boardwire
from boardwire import NOBODY, Decisions

__all__ = ["client", "local", "served"]


@pytest.mark.slow
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_the_oracle_has_the_views_of_all_seats_from_the_deciding_seat_on(
    client: boardwire.Client, served: boardwire.Client, game: str, seats: int
) -> None:
    match = served.create_match(game, players=["agent"] * seats, seed=11)
    table = [match.join(seat) for seat in range(seats)]
    with client.open_batch(
        game, seats=seats, environments=1, columns=["oracle"], autoreset="disabled"
    ) as batch:
        step = batch.reset(seeds=[11])
        while not step.over.any():
            assert step.oracle is not None
            assert step.oracle.shape == (1, seats, batch.spec.view_bytes)
            assert step.oracle.dtype == np.uint8
            first = int(step.seat[0])
            views = [table[(first + turn) % seats].observe(wait=False).view for turn in range(seats)]
            np.testing.assert_array_equal(step.oracle[0], views)
            masks = [table[(first + turn) % seats].observe(wait=False).mask for turn in range(seats)]
            assert step.oracle_mask is not None
            bits = np.unpackbits(step.oracle_mask[0], axis=1, count=step.action_count, bitorder="little")
            np.testing.assert_array_equal(bits, masks)
            np.testing.assert_array_equal(step.oracle[:, 0], step.view)
            features = batch.spec.features(step.oracle.reshape(seats, -1))
            assert features.shape == (seats, batch.spec.features(step.view).shape[1])
            actions = lowest(step.mask)
            table[first].act(actions[0], wait=False)
            step = batch.step(actions)
        assert step.oracle is not None
        assert not step.oracle.any()
    match.close()


@pytest.mark.parametrize("bot", ["greedy:2", "mc:8"])
def test_advice_is_legal_and_changes_no_other_column(client: boardwire.Client, bot: str) -> None:
    n, settings = 6, dict[str, Any](environments=6, opponents={1: "random"}, seed=5)
    with (
        client.open_batch("rauha", advice=bot, columns=["advice_shares"], **settings) as advised,
        client.open_batch("rauha", **settings) as plain,
        client.open_batch("rauha", advice=bot, **settings) as halved,
    ):
        step, other, halves = advised.reset(), plain.reset(), halved.halves()
        halved.reset()
        for _ in range(60):
            assert step.advice is not None
            assert step.advice_shares is not None
            actions = len(advised.spec.actions)
            assert step.advice.shape == (n,)
            assert step.advice.dtype == np.uint8
            assert step.advice_shares.shape == (n, actions)
            assert step.advice_shares.dtype == np.float32
            due = step.seat != NOBODY
            assert step.mask[due, step.advice[due]].all()
            assert (step.advice[~due] == NOBODY).all()
            np.testing.assert_allclose(step.advice_shares.sum(axis=1), due, atol=1e-5)
            assert not step.advice_shares[~step.mask].any()
            assert (step.advice_shares[due, step.advice[due]] > 0).all()
            if bot == "greedy:2":
                np.testing.assert_array_equal(step.advice_shares.argmax(axis=1)[due], step.advice[due])
            for name in ("seat", "view", "mask", "reward", "ply", "flags", "ended"):
                np.testing.assert_array_equal(getattr(step, name), getattr(other, name))
            assert (other.advice, other.advice_shares, other.oracle) == (None, None, None)
            # All three batches play the advice; finished rows ignore it. Halves get the same advice.
            for half in halves:
                half.send(step.advice[half.rows])
            other = plain.step(step.advice)
            step = advised.step(step.advice)
            assert step.advice is not None
            for half in halves:
                part = half.recv()
                assert part.advice_shares is None
                np.testing.assert_array_equal(part.advice, step.advice[half.rows])


def test_estimates_are_what_greedy_compares(client: boardwire.Client) -> None:
    n, settings = 6, dict[str, Any](environments=6, opponents={1: "random"}, seed=5)
    with (
        client.open_batch("rauha", advice="greedy", columns=["estimates"], **settings) as batch,
        client.open_batch("rauha", **settings) as plain,
    ):
        step, other = batch.reset(), plain.reset()
        for _ in range(30):
            assert step.estimates is not None
            assert step.advice is not None
            assert step.estimates.shape == step.mask.shape
            assert step.estimates.dtype == np.float32
            np.testing.assert_array_equal(~np.isnan(step.estimates), step.mask)
            due = step.seat != NOBODY
            np.testing.assert_array_equal(np.nanargmax(step.estimates[due], axis=1), step.advice[due])
            assert other.estimates is None
            np.testing.assert_array_equal(step.view, other.view)
            part = step.part(slice(1, 3))
            assert part.estimates is not None
            np.testing.assert_array_equal(part.estimates, step.estimates[1:3])
            actions = step.advice
            step, other = batch.step(actions), plain.step(actions)
    seen = []

    def learner(decisions: boardwire.Decisions) -> tuple[Any, Any, Any]:
        assert decisions.estimates is not None
        np.testing.assert_array_equal(~np.isnan(decisions.estimates), decisions.mask)
        seen.append(len(decisions.seat))
        return np.nanargmax(decisions.estimates, axis=1), np.zeros(seen[-1]), np.zeros(seen[-1])

    with client.open_batch("rauha", seats=2, environments=n, columns=["estimates"], seed=5) as batch:
        rollout = boardwire.Rollouts(batch, steps=20).collect(learner)
        assert rollout.estimates is not None
        np.testing.assert_array_equal(np.nanargmax(rollout.estimates, axis=1), rollout.action)
    assert sum(seen) >= len(rollout.action) > 0


def test_loaded_environments_get_the_same_advice(client: boardwire.Client) -> None:
    with (
        client.open_batch("faraway", environments=4, seed=1, advice="greedy") as one,
        client.open_batch("faraway", environments=4, seed=2) as plain,
        client.open_batch("faraway", environments=4, seed=3, advice="greedy") as other,
    ):
        step = one.reset()
        for _ in range(7):
            assert step.advice is not None
            step = one.step(step.advice)
        plain.reset()
        assert plain.load(one.save()).advice is None
        loaded = other.load(plain.save())
        for _ in range(7):
            advice = loaded.advice
            assert advice is not None
            np.testing.assert_array_equal(advice, step.advice)
            loaded, step = other.step(advice), one.step(advice)
        mask = np.arange(4) == 2
        after = one.reset(where=mask)
        assert after.advice is not None
        assert step.advice is not None
        np.testing.assert_array_equal(after.advice[~mask], step.advice[~mask])


def test_invalid_advice_is_refused(client: boardwire.Client) -> None:
    for settings, field, message in (
        ({"advice": "clever"}, "columns.advice", "greedy:WORLDS"),
        ({"advice": "agent"}, "columns.advice", "greedy:WORLDS"),
        ({"advice": "policy:lion"}, "columns.advice", "no policy is registered|no registered policy"),
        ({"columns": ["advice_shares"]}, "columns.advice_shares", "names a bot"),
    ):
        with pytest.raises(boardwire.errors.InvalidRequest, match=message) as caught:
            client.open_batch("faraway", environments=2, **settings)
        assert caught.value.metadata["field"] == field


def test_columns_count_towards_the_size_of_a_message(client: boardwire.Client) -> None:
    def most_environments(**settings: Any) -> int:
        with pytest.raises(boardwire.errors.InvalidRequest) as caught:
            client.open_batch("faraway", environments=10**9, **settings)
        return int(caught.value.metadata["expected"].split()[3].rstrip(","))

    spec = client.game("faraway")
    plain, oracle, advised = (
        most_environments(),
        most_environments(columns=["oracle"]),
        most_environments(advice="random", columns=["advice_shares"]),
    )
    assert plain > oracle > 0
    assert plain > advised > 0
    assert 64e6 / oracle - 64e6 / plain == pytest.approx(spec.seats * spec.view_bytes, rel=0.1)
    assert 64e6 / advised - 64e6 / plain == pytest.approx(1 + 4 * len(spec.actions), rel=0.1)


@pytest.mark.parametrize("n", [1, 5])
def test_rollouts_have_the_columns_of_their_rows(client: boardwire.Client, n: int) -> None:
    calls: list[Decisions] = []

    def learner(decisions: Decisions) -> tuple[Any, Any, Any]:
        calls.append(decisions)
        assert decisions.oracle is not None
        assert decisions.advice is not None
        np.testing.assert_array_equal(decisions.oracle[:, 0], decisions.view)
        value = decisions.oracle.sum(axis=(1, 2)).astype(np.float32)
        return decisions.advice, np.zeros(len(value)), value

    settings = dict[str, Any](columns=["oracle", "advice_shares"], advice="mc:8")
    with client.open_batch("faraway", environments=n, seed=3, **settings) as batch:
        rollouts = boardwire.Rollouts(batch, 60)
        for rollout in (rollouts.collect(learner), rollouts.collect(learner)):
            rows = len(rollout.view)
            assert rows > 0
            assert rollout.oracle is not None
            assert rollout.advice is not None
            assert rollout.advice_shares is not None
            assert rollout.oracle.shape == (rows, 2, batch.spec.view_bytes)
            np.testing.assert_array_equal(rollout.oracle[:, 0], rollout.view)
            np.testing.assert_array_equal(rollout.value, rollout.oracle.sum(axis=(1, 2)))
            np.testing.assert_array_equal(rollout.action, rollout.advice)
            assert rollout.advice.dtype == np.int64
            assert rollout.advice_shares.shape == rollout.mask.shape
            np.testing.assert_allclose(rollout.advice_shares.sum(axis=1), 1, atol=1e-5)
            assert not rollout.advice_shares[~rollout.mask].any()
    assert calls


def test_rollouts_have_only_the_columns_of_their_batch(client: boardwire.Client) -> None:
    def learner(decisions: Decisions) -> tuple[Any, Any, Any]:
        assert (decisions.oracle, decisions.advice) == (None, None)
        return lowest(decisions.mask), np.zeros(len(decisions.seat)), np.zeros(len(decisions.seat))

    with client.open_batch("faraway", environments=2, seed=3) as batch:
        rollout = boardwire.Rollouts(batch, 30).collect(learner)
        assert (rollout.oracle, rollout.advice, rollout.advice_shares) == (None, None, None)


def test_the_async_client_gets_the_same_columns(client: boardwire.Client) -> None:
    settings = dict[str, Any](environments=3, seed=4, columns=["oracle", "advice_shares"], advice="mc:8")
    with client.open_batch("golden_compass", **settings) as batch:
        expected = batch.reset()

    async def first_step() -> boardwire.BatchStep:
        async with (
            boardwire.aio.connect(client.address) as other,
            await other.open_batch("golden_compass", **settings) as batch,
        ):
            return await batch.reset()

    step = asyncio.run(first_step())
    for name in ("oracle", "advice", "advice_shares"):
        np.testing.assert_array_equal(getattr(step, name), getattr(expected, name))
