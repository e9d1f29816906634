"""A league: frozen copies of the learner that serve as its opponents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._rollouts import Policy


class League:
    """A set of snapshots from all stages of training, as opponents that the learner must keep beating.

    Here a snapshot is a frozen copy of the learner's policy.

    ```python
    league = boardwire.League(size=4)
    while training:
        rollout = rollouts.collect(learner)
        ...
        if time_for_a_snapshot:
            league.add(frozen_copy)
            rollouts.play_against(league.members, league.players(batch, share=0.25))
    ```

    Attributes:
        members: The snapshots, oldest first.
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        """Creates an empty league.

        Args:
            size: The most snapshots that it keeps.
            seed: The seed of the random choices: which snapshot leaves, and which plays where.

        Raises:
            ValueError: `size` is less than 1.
        """
        if size < 1:
            raise ValueError(f"a league keeps at least one snapshot, not {size}")
        self.members: tuple[Policy, ...] = ()
        self._size = size
        self._random = np.random.default_rng(seed)

    def add(self, snapshot: Policy) -> None:
        """Adds a snapshot. A full league first drops a random one, so snapshots of every age remain."""
        members = list(self.members)
        if len(members) == self._size:
            del members[self._random.integers(self._size)]
        self.members = (*members, snapshot)

    def players(self, batch: Batch, share: float) -> NDArray[np.int64]:
        """Draws a random assignment of players to seats, for `Rollouts.play_against`.

        In the drawn environments, the learner keeps one of its seats, each equally likely, and one member
        plays its other seats. Environments where the learner has a single seat do not change.

        Args:
            batch: The batch whose environments are assigned.
            share: The share of environments with a member, 0 to 1, among those where the learner has several
                seats.

        Returns:
            `int64[environments, seats]`: 0 for the learner, i for the i-th member, counted from 1.
        """
        learners = batch.agents
        players = np.zeros(learners.shape, np.int64)
        open_ = np.flatnonzero(learners.sum(axis=1) > 1)
        if not self.members or not len(open_):
            return players
        at = self._random.choice(open_, round(share * len(open_)), replace=False)
        member = self._random.integers(1, len(self.members) + 1, len(at))
        # Picks one of the learner's seats uniformly: the greatest random number, where other seats have 0.
        kept = (self._random.random((len(at), learners.shape[1])) * learners[at]).argmax(axis=1)
        players[at] = np.where(learners[at], member[:, None], 0)
        players[at, kept] = 0
        return players
