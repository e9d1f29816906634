"""The collection of training data: values of actions by playouts, and data for a learner in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._rollouts import Decisions, Policy, whole_actions
from ._types import BatchStep


@dataclass(frozen=True, slots=True, eq=False)
class ActionValues:
    """Decisions, one per row, with the values of their legal actions.

    Attributes:
        view: `uint8[n, bytes]`, the view of the deciding seat.
        mask: `bool[n, actions]`, the legal actions.
        value: `float32[n, actions]`, what each action earned the deciding seat in a playout; NaN where the
            action is not legal.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    value: NDArray[np.float32]


class ActionValueCollector:
    """Plays a batch with a policy at all seats, and values the legal actions of each decision by playouts.

    For each decision the server samples a determinization and plays every legal action in it to the end, by
    the game's estimate at all seats. All actions of a decision have the same luck. One value is mostly luck,
    but its mean over many like decisions is not.
    """

    def __init__(self, batch: Batch, *, seed: int) -> None:
        """Takes over the batch. From now on, only this object may step it.

        Args:
            batch: The batch, with autoreset `same_step`, so that each row is a decision.
            seed: The seed of the determinizations and of the luck in them.

        Raises:
            ValueError: The batch has another autoreset.
        """
        if batch.autoreset != "same_step":
            raise ValueError(f"the batch must have autoreset same_step; got {batch.autoreset}")
        self._batch, self._random = batch, np.random.default_rng(seed)
        self._step: BatchStep | None = None

    def collect(self, policy: Policy, steps: int) -> ActionValues:
        """Plays `steps` steps; returns the decisions of all environments in time order."""
        taken = []
        for _ in range(steps):
            step = self._step or self._batch.reset()
            places = len(step.seat) + int(step.mask.sum())
            seeds = self._random.integers(2**63, size=2).tolist()
            with self._batch.search(
                places=places, seed=seeds[0], reward="margin", skip_forced=True
            ) as search:
                taken.append((step.view, step.mask, search.values(seed=seeds[1])))
            decisions = Decisions(step.view, step.mask, step.seat, np.arange(len(step.seat)))
            self._step = self._batch.step(whole_actions(policy(decisions), len(step.seat), "the policy"))
        return ActionValues(*(np.concatenate(column) for column in zip(*taken, strict=True)))


def collect_ahead(collect: Callable[[Any], Any], policy: Callable[[], Any]) -> Iterator[Any]:
    """Collects data in a thread while the caller learns from the data before.

    Each collection gets the policy that `policy` returns just before it begins: a frozen copy. So data are
    from the policy of one update ago, and equal seeds give equal data.

    Args:
        collect: Collects data with a policy, such as `Rollouts.collect`.
        policy: Returns a copy of the policy that the caller does not change.
    """
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(collect, policy())
        while True:
            data = future.result()
            future = thread.submit(collect, policy())
            yield data
