"""Batches: columns, parts, autoreset, snapshots and refusals. The same seed plays the same in a match."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from outages import break_stream
from proxies import proxy_of
from tables import TABLES, lowest
from transports import client, local, served

import boardwire

__all__ = ["client", "local", "served"]


def same(one: boardwire.BatchStep, other: boardwire.BatchStep) -> bool:
    """Returns whether two steps are equal in every column."""
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(boardwire.BatchStep)
        if getattr(one, field.name) is not None
    )


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_columns_have_the_documented_shapes_types_and_ranges(
    client: boardwire.Client, game: str, seats: int
) -> None:
    n = 24
    settings: dict[str, Any] = {"columns": ["scores", "final_views", "episodes"]}
    with client.open_batch(game, seats=seats, environments=n, seed=1, skip_forced=True, **settings) as batch:
        spec, step, ends = batch.spec, batch.reset(), 0
        while ends < n:
            k = len(step.ended)
            shapes = {
                "seat": (np.uint8, (n,)),
                "view": (np.uint8, (n, spec.view_bytes)),
                "mask": (np.bool_, (n, len(spec.actions))),
                "packed_mask": (np.uint8, (n, (len(spec.actions) + 7) // 8)),
                "reward": (np.float32, (n, seats)),
                "ply": (np.uint32, (n,)),
                "flags": (np.uint8, (n,)),
                "ended": (np.uint32, (k,)),
                "episode": (np.uint32, (n,)),
                "scores": (np.int32, (k, seats)),
                "ranks": (np.uint8, (k, seats)),
                "final_view": (np.uint8, (k, seats, spec.view_bytes)),
            }
            for name, (dtype, shape) in shapes.items():
                column = getattr(step, name)
                assert (column.dtype, column.shape) == (dtype, shape), name
            assert step.over.dtype == np.bool_
            np.testing.assert_array_equal(np.flatnonzero(step.over), step.ended)
            np.testing.assert_array_equal(step.over, step.seat == boardwire.NOBODY)
            np.testing.assert_array_equal(step.over, ~step.mask.any(axis=1))
            assert (step.seat[~step.over] < seats).all()
            assert not step.reward[~step.over].any()
            assert not (step.substituted | step.forfeited | step.truncated).any()
            assert step.scores is not None
            assert step.ranks is not None
            assert (step.ranks >= 1).all()
            best = step.scores[np.arange(k), step.ranks.argmin(axis=1)] if k else step.scores
            assert (best >= 0).all()
            ends += k
            step = batch.step(lowest(step.mask))


@pytest.mark.slow
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_environment_plays_like_a_match_with_the_same_seed(
    client: boardwire.Client, served: boardwire.Client, game: str, seats: int
) -> None:
    random = np.random.default_rng(seats)
    seeds = random.integers(2**64, size=3, dtype=np.uint64)
    with client.open_batch(game, seats=seats, environments=3, columns=["scores"]) as batch:
        step = batch.reset(seeds=seeds)
        matches = [served.create_match(game, players=["agent"] * seats, seed=int(seed)) for seed in seeds]
        joined = [[match.join(seat) for seat in range(seats)] for match in matches]
        playing = np.ones(3, np.bool_)
        while playing.any():
            actions = lowest(step.mask[:, ::-1])
            actions = (step.mask.shape[1] - 1 - actions).astype(np.uint8)
            for row in np.flatnonzero(playing):
                seat = joined[row][step.seat[row]]
                obs = seat.observe(wait=False)
                np.testing.assert_array_equal(obs.view, step.view[row])
                np.testing.assert_array_equal(obs.mask, step.mask[row])
                assert obs.ply == step.ply[row]
                seat.act(actions[row], wait=False)
            step = batch.step(actions)
            assert step.scores is not None
            for at, row in enumerate(step.ended):
                if playing[row]:
                    ends = [seat.observe(wait=False) for seat in joined[row]]
                    assert ends[0].scores == tuple(step.scores[at])
                    np.testing.assert_array_equal(
                        np.array([end.reward for end in ends], np.float32), step.reward[row]
                    )
            playing[step.ended] = False
        for match in matches:
            match.close()


def test_a_large_batch_equals_several_smaller_batches(client: boardwire.Client) -> None:
    def play(first: int, count: int) -> list[boardwire.BatchStep]:
        with client.open_batch(
            "faraway", environments=count, first_environment=first, seed=3, opponents={1: "random"}
        ) as batch:
            steps = [batch.reset()]
            steps += [batch.step(lowest(step.mask)) for step in steps for _ in range(len(steps) < 60)]
            return steps

    whole, parts = play(0, 10), [play(0, 4), play(4, 6)]
    for step, left, right in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(step.view, np.concatenate([left.view, right.view]))
        np.testing.assert_array_equal(step.reward, np.concatenate([left.reward, right.reward]))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_in_flight_equal_whole_steps(client: boardwire.Client, count: int) -> None:
    with (
        client.open_batch("faraway", environments=7, seed=5) as one,
        client.open_batch("faraway", environments=7, seed=5) as other,
    ):
        whole, step = one.reset(), other.reset()
        parts = other.parts(count)
        assert [part.first for part in parts] == sorted({part.first for part in parts})
        views, masks = step.view.copy(), step.mask.copy()
        for part in parts:
            part.send(lowest(masks[part.rows]))
        for _ in range(100):
            whole = one.step(lowest(whole.mask))
            # The test receives in another order than it sends.
            for part in parts[::-1]:
                step = part.recv()
                assert step.first == part.first
                views[part.rows], masks[part.rows] = step.view, step.mask
            np.testing.assert_array_equal(whole.view, views)
            np.testing.assert_array_equal(whole.mask, masks)
            for part in parts:
                part.send(lowest(masks[part.rows]))
        for call in (other.save, lambda: other.text(0, seat=0), lambda: other.load(b"")):
            with pytest.raises(RuntimeError, match="a response is pending"):
                call()


def test_several_steps_can_be_in_flight(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, illegal_actions="seeded_legal", seed=1) as batch:
        batch.reset()
        for _ in range(5):
            batch.send(np.zeros(2, np.uint8))
        assert [batch.recv().ply.max() for _ in range(5)] == [1, 2, 3, 4, 5]
        with pytest.raises(RuntimeError, match="no response is pending"):
            batch.recv()


def test_refusals_name_the_environment_and_change_nothing(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=4, seed=2) as batch:
        step = batch.reset()
        actions = lowest(step.mask)
        wrong = actions.copy()
        wrong[2] = (step.mask[2] == 0).argmax()
        with pytest.raises(boardwire.errors.IllegalAction) as illegal:
            batch.step(wrong)
        assert illegal.value.metadata["environment"] == "2"
        assert isinstance(illegal.value, boardwire.errors.IllegalAction)
        for outside in (255, 256, -1):
            with pytest.raises(boardwire.errors.IllegalAction) as caught:
                batch.step(np.where(np.arange(4) == 3, outside, actions.astype(int)))
            assert caught.value.metadata == {
                "environment": "3",
                "action": str(outside),
                "actions": str(len(batch.spec.actions)),
            }
        assert (batch.step(actions).ply == 1).all()


@pytest.mark.parametrize(
    ("actions", "error"),
    [
        ([0, 0, 0], ValueError),
        (0, ValueError),
        ([0], ValueError),
        ([[0] * 4], ValueError),
        ([0.0] * 4, TypeError),
        ([True] * 4, TypeError),
    ],
)
@pytest.mark.parametrize("mask", [None, np.ones(4, np.bool_)])
def test_actions_of_a_wrong_shape_or_type_are_refused(
    client: boardwire.Client, actions: Any, error: type[Exception], mask: Any
) -> None:
    with client.open_batch("faraway", environments=4) as batch:
        batch.reset()
        with pytest.raises(error):
            batch.step(actions, where=mask)


def test_a_refused_part_does_not_affect_the_other(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=4, seed=2) as batch:
        step = batch.reset()
        left, right = batch.halves()
        left.send((step.mask[left.rows] == 0).argmax(axis=1))
        right.send(lowest(step.mask[right.rows]))
        with pytest.raises(boardwire.errors.IllegalAction):
            left.recv()
        assert (right.recv().ply == 1).all()
        assert (left.step(lowest(step.mask[left.rows])).ply == 1).all()


def test_a_reset_of_all_rows_discards_a_pending_response(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=4, seed=2) as batch:
        for where in (np.arange(4) < 3, None):
            step = batch.reset()
            left, right = batch.halves()
            left.send((step.mask[left.rows] == 0).argmax(axis=1))
            right.send(lowest(step.mask[right.rows]))
            with pytest.raises(boardwire.errors.IllegalAction):
                left.recv()
            step = batch.reset(where=where)
            if where is None:
                with pytest.raises(RuntimeError, match="no response is pending"):
                    right.recv()
                right.send(lowest(step.mask[right.rows]))
            assert (right.recv().ply == 1).all(), (
                "a reset of some environments of a part does not discard the pending response of the part"
            )


def test_later_steps_do_not_change_earlier_arrays(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=8, seed=1, columns=["scores", "final_views"]) as batch:
        steps = [batch.reset()]
        images = [pickle.dumps(steps[0])]
        for _ in range(80):
            steps.append(batch.step(lowest(steps[-1].mask)))
            images.append(pickle.dumps(steps[-1]))
        assert [pickle.dumps(step) for step in steps] == images
        assert steps[-1].mask.flags.writeable
        assert not steps[-1].view.flags.writeable
        assert not steps[-1].packed_mask.flags.writeable


def test_a_mask_is_unpacked_once_and_keeps_the_callers_changes(client: boardwire.Client) -> None:
    with client.open_batch("rauha", environments=5, seed=1) as batch:
        step = batch.reset()
        bits = np.unpackbits(step.packed_mask, axis=1, bitorder="little")
        np.testing.assert_array_equal(bits[:, : step.action_count], step.mask)
        assert not bits[:, step.action_count :].any()
        assert step.mask is step.mask
        step.mask[:] = 0
        assert not step.mask.any()
        assert step.packed_mask.any(), "a write to `mask` leaves `packed_mask` alone"


def test_resets_take_masks_and_seeds(client: boardwire.Client) -> None:
    n = 6
    mask = np.arange(n) % 2 == 0
    with client.open_batch("faraway", environments=n, seed=1, columns=["episodes"]) as batch:
        opening = batch.reset()
        assert same(batch.reset(seed=1), opening)
        step = batch.step(lowest(opening.mask))
        after = batch.reset(where=mask)
        assert after.episode is not None
        assert after.episode.tolist() == [1, 0, 1, 0, 1, 0]
        np.testing.assert_array_equal(after.view[~mask], step.view[~mask])
        again = batch.reset(where=mask, seed=1)
        np.testing.assert_array_equal(again.view[mask], opening.view[mask])
        np.testing.assert_array_equal(again.view[~mask], step.view[~mask])
        for wrong in ([-1] * n, np.full(n, -1), [1 << 64] * n):
            with pytest.raises(ValueError, match=r"a seed must be from 0 to 2\*\*64 - 1"):
                batch.reset(seeds=wrong)
        with pytest.raises(TypeError):
            batch.reset(seeds=np.full(n, 1.7))
        seeded = batch.reset(seeds=[9] * n)
        assert (seeded.view == seeded.view[0]).all()
        batch.reset(seed=1)
        later = batch.reset()
        both = batch.reset(seed=1, seeds=[9] * n)
        np.testing.assert_array_equal(both.view, seeded.view)
        np.testing.assert_array_equal(batch.reset().view, later.view)
        for wrong in (mask[:5], mask.astype(np.int8), np.zeros(n, np.bool_)):
            with pytest.raises(ValueError, match="`where` must"):
                batch.reset(where=wrong)
        with pytest.raises(boardwire.errors.InvalidRequest):
            batch.reset(seeds=[1, 2])


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_the_three_modes_of_autoreset(client: boardwire.Client, autoreset: boardwire.Autoreset) -> None:
    with client.open_batch(
        "faraway", environments=3, seed=4, autoreset=autoreset, opponents={1: "random"}, columns=["episodes"]
    ) as batch:
        step = batch.reset()
        while not step.over.any():
            step = batch.step(lowest(step.mask))
        over = step.over
        assert step.episode is not None
        if autoreset == "same_step":
            assert (step.seat[over] == 0).all()
            assert (step.episode[over] == 1).all()
            assert (step.ply[over] < 2).all()
        else:
            assert (step.seat[over] == boardwire.NOBODY).all()
            assert (step.episode[over] == 0).all()
        if autoreset == "next_step":
            following = batch.step(np.full(3, 255, np.uint8) if over.all() else lowest(step.mask))
            assert following.episode is not None
            assert (following.episode[over] == 1).all()
            assert not following.reward[over].any()
            assert not following.flags[over].any()
        if autoreset == "disabled":
            with pytest.raises(boardwire.errors.EpisodeOver) as caught:
                batch.step(lowest(step.mask))
            assert caught.value.metadata["environment"] == str(over.argmax())
            following = batch.reset(where=over)
            assert not following.over.any()


def test_loaded_environments_continue_like_the_saved_ones(client: boardwire.Client) -> None:
    def follow(batch: boardwire.Batch, step: boardwire.BatchStep) -> list[bytes]:
        steps = []
        for _ in range(70):
            step = batch.step(lowest(step.mask))
            steps.append(pickle.dumps(step))
        return steps

    with (
        client.open_batch("faraway", environments=4, seed=1, opponents={1: "random"}) as one,
        client.open_batch("faraway", environments=4, seed=2, opponents={1: "random"}) as other,
    ):
        step = one.reset()
        for _ in range(10):
            step = one.step(lowest(step.mask))
        snapshot = one.save()
        other.reset()
        loaded = other.load(snapshot)
        np.testing.assert_array_equal(loaded.view, step.view)
        assert follow(other, loaded) == follow(one, step)
        with pytest.raises(boardwire.errors.InvalidRequest) as caught:
            other.load(snapshot[:-1] + bytes([snapshot[-1] ^ 1]))
        assert caught.value.reason == "SNAPSHOT_INVALID"
        alone = one.save(np.arange(4) == 2)
        before = other.reset()
        mask = np.arange(4) == 1
        after = other.load(alone, mask)
        np.testing.assert_array_equal(after.view[~mask], before.view[~mask])


@pytest.mark.slow
def test_closing_twice_or_after_the_connection_raises_nothing() -> None:
    with boardwire.connect() as client:
        batch = client.open_batch("faraway", environments=1)
        batch.reset()
        (client._connection.close())
        # The lease has ended with its connection.
        batch.close()
        batch.close()
        with client.open_batch("faraway", environments=1, keep=True) as kept:
            opening = kept.reset(seed=1)
            break_stream(kept)
            (client._connection.close())
            assert same(kept.reset(seed=1), opening)


def test_a_step_that_takes_too_long_is_a_timeout(address: str) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        client.open_batch("faraway", environments=2) as batch,
    ):
        actions = lowest(batch.reset().mask)
        with proxy.hold_responses(), pytest.raises(boardwire.errors.CallTimeout):
            batch.step(actions, timeout=0.01)


def test_a_masked_step_leaves_other_environments_unchanged(client: boardwire.Client) -> None:
    """One step of all environments equals two masked steps, of the whole batch or by halves."""
    settings: dict[str, Any] = {"environments": 21, "seed": 6, "seats": 2}
    with client.open_batch("rauha", **settings) as whole, client.open_batch("rauha", **settings) as masked:
        step, halves = whole.reset(), masked.halves()
        assert same(step, masked.reset())
        for number in range(120):
            before, actions = step, lowest(step.mask)
            step = whole.step(actions)
            where = (np.arange(21) * 7 + number) % 3 == 0
            for stepped in halves if number % 2 else masked.parts(1):
                unchanged, chosen = before.part(stepped.rows), where[stepped.rows]
                first = stepped.step(np.where(where, actions.astype(int), 9999)[stepped.rows], where=chosen)
                for row, is_chosen in enumerate(chosen):
                    expected = step.part(stepped.rows) if is_chosen else unchanged
                    np.testing.assert_array_equal(first.view[row], expected.view[row])
                    np.testing.assert_array_equal(first.mask[row], expected.mask[row])
                    np.testing.assert_array_equal(first.reward[row], expected.reward[row] * is_chosen)
                second = stepped.step(actions[stepped.rows], where=~chosen)
                np.testing.assert_array_equal(first.reward + second.reward, step.part(stepped.rows).reward)
                np.testing.assert_array_equal(second.view, step.part(stepped.rows).view)
        wrongs: list[Any] = [np.ones(20, np.bool_), np.ones(21, np.int8), np.zeros(21, np.bool_)]
        for wrong in wrongs:
            with pytest.raises(ValueError, match="`where` must"):
                masked.step(lowest(step.mask), where=wrong)


@pytest.mark.parametrize(
    ("name", "value"), [("environment", -1), ("environment", 2), ("seat", -1), ("seat", 2)]
)
def test_text_refuses_an_unknown_environment_or_seat(client: boardwire.Client, name: str, value: int) -> None:
    with client.open_batch("faraway", environments=2, seats=2) as batch:
        batch.reset()
        with pytest.raises(boardwire.errors.InvalidRequest, match=f"`{name}` must be from 0 to 1") as caught:
            batch.text(**{"environment": 0, "seat": 0, name: value})
        assert caught.value.metadata == {"field": name, "value": str(value), "expected": "from 0 to 1"}
