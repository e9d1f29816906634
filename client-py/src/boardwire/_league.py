"""A league: frozen snapshots of a policy that learns, as its opponents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._rollouts import Policy


class League:
    """Snapshots of a policy from all of its training, for it to go on winning against.

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
        """Begins empty.

        Args:
            size: How many snapshots it keeps.
            seed: The seed from which follows who leaves and who plays where.

        Raises:
            ValueError: It would keep none.
        """
        if size < 1:
            raise ValueError(f"a league keeps at least one snapshot, not {size}")
        self.members: tuple[Policy, ...] = ()
        self._size = size
        self._random = np.random.default_rng(seed)

    def add(self, snapshot: Policy) -> None:
        """Takes a snapshot in. When there are too many, an older one leaves: so some of every age stay."""
        members = list(self.members)
        if len(members) == self._size:
            del members[self._random.integers(self._size)]
        self.members = (*members, snapshot)

    def players(self, batch: Batch, share: float) -> NDArray[np.int64]:
        """Draws who plays where, for `Rollouts`.

        In some environments the learner keeps one of its seats, each equally likely, and one member has the
        others. Environments in which it has a single seat stay as they are.

        Args:
            batch: Whose environments.
            share: In how many environments members play: 0 to 1 of those where they can.

        Returns:
            `int64[environments, seats]`: 0 the learner, i the i-th member, counted from 1.
        """
        learners = batch.agents
        players = np.zeros(learners.shape, np.int64)
        open_ = np.flatnonzero(learners.sum(axis=1) > 1)
        if not self.members or not len(open_):
            return players
        at = self._random.choice(open_, round(share * len(open_)), replace=False)
        member = self._random.integers(1, len(self.members) + 1, len(at))
        # A learner's seat, each as likely: the greatest of random numbers that others have no share in.
        kept = (self._random.random((len(at), learners.shape[1])) * learners[at]).argmax(axis=1)
        players[at] = np.where(learners[at], member[:, None], 0)
        players[at, kept] = 0
        return players
