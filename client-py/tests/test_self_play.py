"""Self-play: every reward belongs to the last decision of its seat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables import TABLES
from transports import client, local, served

import boardwire

__all__ = ["client", "local", "served"]


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_self_play_credits_every_seat_for_its_last_decision(
    client: boardwire.Client, game: str, seats: int, autoreset: boardwire.Autoreset
) -> None:
    n = 5
    with client.open_batch(game, seats=seats, environments=n, seed=seats, autoreset=autoreset) as batch:
        reader = boardwire.SelfPlay(batch)
        with pytest.raises(RuntimeError, match="call `reset` before the first step"):
            reader.step(np.zeros(n))
        turn, ended = reader.reset(), 0
        decided: dict[tuple[int, int], int] = {}
        assert not turn.reward.any()
        while ended < 2 * n:
            for row in np.flatnonzero(turn.mask.any(axis=1)):
                decided[int(row), int(turn.seat[row])] = turn.number
            turn = reader.step(turn.mask.argmax(axis=1))
            for row in np.flatnonzero(turn.over):
                ended += 1
                np.testing.assert_array_equal(turn.reward[row], turn.step.reward[row])
                assert abs(turn.reward[row].sum()) < 1e-6
                assert turn.decided[row].tolist() == [
                    decided.pop((int(row), seat), -1) for seat in range(seats)
                ]
            quiet = ~turn.over
            assert not turn.reward[quiet].any()
        again = reader.reset(where=np.arange(n) == 0)
        assert not again.reward[0].any()
        assert (again.decided[0] == -1).all()


def test_a_reset_of_other_rows_carries_no_reward_into_the_next_episode(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, seed=1, autoreset="same_step") as batch:
        reader = boardwire.SelfPlay(batch)
        turn = reader.reset()
        while not turn.over.any():
            turn = reader.step(turn.mask.argmax(axis=1))
        ended = int(turn.over.argmax())
        assert (turn.decided[ended] >= 0).all()
        turn = reader.reset(where=np.arange(2) != ended)
        turn = reader.step(turn.mask.argmax(axis=1))
        assert not turn.reward.any()
        assert sorted(turn.decided[ended].tolist()) == [-1, turn.number - 1]


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_a_reset_of_other_rows_does_not_report_an_end_again(
    client: boardwire.Client, autoreset: boardwire.Autoreset
) -> None:
    n = 3
    with client.open_batch("rauha", environments=n, seed=4, autoreset=autoreset) as batch:
        reader = boardwire.SelfPlay(batch)
        turn = reader.reset()
        while not turn.over.any() or turn.over.all():
            turn = reader.step(turn.mask.argmax(axis=1))
        ended, before = turn.over, turn
        others = ~ended & (np.arange(n) == np.flatnonzero(~ended)[0])
        for _ in range(2):
            turn = reader.reset(where=others)
            assert not turn.over.any()
            assert not turn.reward[ended].any()
            assert (turn.decided[ended] == -1).all()
            np.testing.assert_array_equal(turn.decided[others], np.full((1, 2), -1))
            # The rows that neither ended nor were reset do not change.
            rest = ~ended & ~others
            for name in ("seat", "view", "mask", "reward", "decided"):
                np.testing.assert_array_equal(getattr(turn, name)[rest], getattr(before, name)[rest], name)
        decided = turn.decided
        turn = reader.step(turn.mask.argmax(axis=1))
        assert not turn.over[ended | others].any()
        # The next episode has begun, and with the same step its first decision has been made.
        made = turn.number - 1 if autoreset == "same_step" else -1
        assert (turn.decided[ended].max(axis=1) == made).all()
        assert (turn.decided[~ended] >= decided[~ended]).all()


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_parts_have_the_turns_of_the_whole_batch(
    client: boardwire.Client, autoreset: boardwire.Autoreset
) -> None:
    n = 7
    settings: Any = {"seats": 3, "environments": n, "seed": 11, "autoreset": autoreset}
    with client.open_batch("rauha", **settings) as one, client.open_batch("rauha", **settings) as other:
        whole = boardwire.SelfPlay(one)
        halves = [boardwire.SelfPlay(other, half) for half in other.halves()]
        turn, turns = whole.reset(), [half.reset() for half in halves]
        for _ in range(200):
            for name in ("seat", "view", "mask", "reward", "decided", "over"):
                parts = [getattr(part, name) for part in turns]
                np.testing.assert_array_equal(getattr(turn, name), np.concatenate(parts), name)
            assert [part.step.first for part in turns] == [0, n // 2]
            np.testing.assert_array_equal(
                turn.step.ended, np.concatenate([part.step.ended for part in turns])
            )
            turn = whole.step(turn.mask.argmax(axis=1))
            for half, part in zip(halves, turns, strict=True):
                half.send(part.mask.argmax(axis=1))
            turns = [half.recv() for half in halves]
        # The mask selects among the rows of the part.
        last = np.arange(n - n // 2) == 1
        again = halves[1].reset(where=last.tolist())
        assert (again.decided[1] == -1).all()
        assert (again.step.ply[last] == 0).all()
        with pytest.raises(ValueError, match=r"`where` must be bool\[4\]; got bool\[7\]"):
            halves[1].reset(where=np.ones(n, np.bool_))


def test_a_reset_discards_pending_responses(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=4, seed=5) as batch:
        play = boardwire.SelfPlay(batch)
        turn = play.reset()
        for _ in range(3):
            turn = play.step(turn.mask.argmax(axis=1))
        play.send(turn.mask.argmax(axis=1))  # and then the policy is interrupted
        turn = play.reset()
        assert (play.step(turn.mask.argmax(axis=1)).step.ply == 1).all()
        play.send(turn.mask.argmax(axis=1))
        play.reset()
        with pytest.raises(RuntimeError, match="no response is pending"):
            play.recv()


def test_a_part_of_a_step_has_only_its_own_ends(client: boardwire.Client) -> None:
    with client.open_batch(
        "faraway", environments=9, seed=1, autoreset="same_step", columns=["scores"]
    ) as batch:
        step, ends = batch.reset(), 0
        while ends < 20:
            step = batch.step(step.mask.argmax(axis=1))
            part = step.part(slice(3, 7))
            assert part.first == 3
            np.testing.assert_array_equal(part.view, step.view[3:7])
            within = (step.ended >= 3) & (step.ended < 7)
            np.testing.assert_array_equal(part.ended, step.ended[within])
            assert part.scores is not None
            assert step.scores is not None
            np.testing.assert_array_equal(part.scores, step.scores[within])
            np.testing.assert_array_equal(part.part(slice(1, 2)).view, step.view[4:5])
            ends += len(part.ended)
