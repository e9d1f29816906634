"""Training data from playouts, and data collected ahead of the learner."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from tables import lowest
from transports import client, local, served

import boardwire
from boardwire import ActionValueCollector, ActionValues, Decisions, collect_ahead

__all__ = ["client", "local", "served"]


def collect(client: boardwire.Client, seed: int, steps: int = 12) -> ActionValues:
    """Collects values in four environments that are always the same, with luck from `seed`."""
    kinds: Any = {"environments": 4, "seed": 3, "skip_forced": True, "autoreset": "same_step"}
    with client.open_batch("golden_compass", **kinds) as batch:
        collector = ActionValueCollector(batch, seed=seed)
        halves = [collector.collect(first, steps // 2) for _ in range(2)]
        return ActionValues(*(np.concatenate([getattr(half, name) for half in halves]) for name in FIELDS))


FIELDS = ("view", "mask", "value")


def first(decisions: Decisions) -> Any:
    """Takes the lowest action."""
    return lowest(decisions.mask)


def test_every_legal_action_has_a_value(client: boardwire.Client) -> None:
    data = collect(client, seed=1)
    assert data.view.shape[0] == 4 * 12
    assert data.mask.dtype == np.bool_
    np.testing.assert_array_equal(np.isnan(data.value), ~data.mask)
    # The actions of a decision differ, and so do the decisions.
    assert (np.nanmax(data.value, 1) > np.nanmin(data.value, 1)).mean() > 0.5


def test_equal_seeds_give_equal_values(client: boardwire.Client) -> None:
    one, same, other = (collect(client, seed) for seed in (1, 1, 2))
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    np.testing.assert_array_equal(one.view, other.view)
    assert not np.array_equal(one.value, other.value, equal_nan=True)


def test_a_collector_needs_a_decision_in_each_row(client: boardwire.Client) -> None:
    with (
        client.open_batch("faraway", environments=2, autoreset="next_step") as batch,
        pytest.raises(ValueError, match="autoreset same_step; got next_step"),
    ):
        ActionValueCollector(batch, seed=1)


def test_data_are_collected_ahead_with_the_policy_of_one_update_ago() -> None:
    versions, threads = [0], set()

    def take(policy: int) -> int:
        threads.add(threading.get_ident())
        return policy

    used = []
    for data in collect_ahead(take, lambda: versions[-1]):
        used.append(data)
        versions.append(len(versions))
        if len(used) == 4:
            break
    assert used == [0, 0, 1, 2]
    assert threading.get_ident() not in threads


def test_the_learner_gets_the_error_of_a_collection() -> None:
    def fail(_: None) -> None:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        next(collect_ahead(fail, lambda: None))
