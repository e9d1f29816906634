"""A field: the evaluations it is made of, and differences over the same deals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from carriers import client, local, served
from tables import lowest

import boardwire
from boardwire import Decisions

__all__ = ["client", "local", "served"]


def first_legal(asked: Decisions) -> Any:
    return lowest(asked.mask)


def last_legal(asked: Decisions) -> Any:
    return asked.mask.shape[1] - 1 - asked.mask[:, ::-1].argmax(axis=1)


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
    assert interval == pytest.approx((-4 / 44, 4 / 44))
    head, *rows = str(met).splitlines()
    assert head.split() == ["last", "random", "first"]
    assert rows[0].startswith(f"first {first.mean:.3f}"[:5])
    assert rows[1].split()[0] == "last"
    assert f"{first.mean:.3f}" in rows[0]
    assert "-" in rows[1].split()
    with pytest.raises(KeyError):
        met.difference("first", "last", against="first")


def test_a_name_is_of_one_player(client: boardwire.Client) -> None:
    with pytest.raises(ValueError, match="'greedy' is a policy and a bot"):
        boardwire.versus({"greedy": first_legal}, "faraway", bots=["greedy"], client=client)
