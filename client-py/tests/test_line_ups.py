"""Line-ups: the player of each seat in the environments of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tables import lowest
from transports import client, local, served

import boardwire

__all__ = ["client", "local", "served"]


def test_a_batch_lists_the_players_of_its_seats(client: boardwire.Client) -> None:
    with client.open_batch(
        "faraway", seats=3, environments=2, opponents={0: "random", 2: "greedy"}, seed=9
    ) as batch:
        assert batch.line_ups == (("random", "agent", "greedy"),)
        assert batch.agents.tolist() == [[False, True, False]] * 2
        assert (batch.seed, batch.environments, batch.first_environment) == (9, 2, 0)
        assert (batch.reset().seat == 1).all()
        assert not batch.token or batch.token not in repr(batch)
    with pytest.raises(ValueError, match="must be from 0 to 2; got 3"):
        client.open_batch("faraway", seats=3, environments=1, opponents={3: "random"})
    with pytest.raises(TypeError, match="'list' object cannot be interpreted as an integer"):
        client.open_batch("faraway", seats=["agent", "random"], environments=1)  # type: ignore[arg-type]


LINE_UPS = [["agent", "greedy", "random"], ["random", "agent", "agent"]]


def test_line_ups_alternate_by_environment_number(client: boardwire.Client) -> None:
    with client.open_batch(
        "faraway",
        environments=5,
        first_environment=3,
        line_ups=LINE_UPS,
        seed=4,
        columns=["scores", "final_views"],
    ) as batch:
        assert batch.line_ups == tuple(map(tuple, LINE_UPS))
        first, second = [True, False, False], [False, True, True]
        assert batch.agents.tolist() == [second, first, second, first, second]
        assert not batch.agents.flags.writeable
        step, ended = batch.reset(), set[int]()
        while len(ended) < 5:
            rows = np.flatnonzero(step.seat != boardwire.NOBODY)
            assert batch.agents[rows, step.seat[rows]].all()
            for at, row in enumerate(step.ended):
                ended.add(int(row))
                assert step.final_view is not None
                assert step.final_view.shape == (len(step.ended), 2, batch.spec.view_bytes)
                two = bool(batch.agents[row].sum() == 2)
                assert step.final_view[at].any(axis=1).tolist() == [True, two]
            step = batch.step(lowest(step.mask))


@pytest.mark.parametrize("duplicate_deals", [False, True])
def test_duplicate_deals_give_every_line_up_the_same_cards(
    client: boardwire.Client, duplicate_deals: bool
) -> None:
    line_ups = [["agent", "random"], ["random", "agent"]]
    with client.open_batch(
        "faraway", environments=8, line_ups=line_ups, duplicate_deals=duplicate_deals, seed=4
    ) as batch:
        assert batch.duplicate_deals == duplicate_deals
        display = batch.spec.decode(batch.reset().view)["display"]
        same_cards = (display[::2] == display[1::2]).all(axis=1)
        assert same_cards.all() if duplicate_deals else not same_cards.any()
        assert len(np.unique(display, axis=0)) == (4 if duplicate_deals else 8)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"line_ups": LINE_UPS, "opponents": {1: "random"}}, "exclude each other"),
        ({"line_ups": LINE_UPS, "seats": 2}, "3 seats, but seats=2"),
        ({"line_ups": [["agent"], ["agent", "random"]]}, "got 1 or 2"),
        ({"line_ups": []}, "at least one line-up"),
        ({"line_ups": ["agent", "random"]}, "lists of players"),
        ({"seats": 3, "opponents": {3: "random"}}, "must be from 0 to 2; got 3"),
    ],
)
def test_invalid_line_ups_are_refused(client: boardwire.Client, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        client.open_batch("faraway", environments=2, **kwargs)
