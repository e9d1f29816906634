"""Self-play: every reward belongs to the last decision of its seat."""

from __future__ import annotations

import numpy as np
import pytest
from tables import TABLES

import boardwire


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_self_play_credits_every_seat_for_its_last_decision(
    client: boardwire.Client, game: str, seats: int, autoreset: boardwire.Autoreset
) -> None:
    n = 5
    with client.open_batch(game, seats=seats, environments=n, seed=seats, autoreset=autoreset) as batch:
        reader = boardwire.SelfPlay(batch)
        with pytest.raises(RuntimeError):
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
        again = reader.reset(mask=np.arange(n) == 0)
        assert not again.reward[0].any()
        assert (again.decided[0] == -1).all()
