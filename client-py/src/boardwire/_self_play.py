"""Self-play: who decides in each environment, and what every seat has earned since it decided last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._batch import Batch, BatchPart
from ._types import NOBODY, BatchStep


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What self-play shows of a step: a row an environment.

    When an episode ends, `reward` and `decided` are those of the episode that ended, for all its seats.

    Attributes:
        number: How many steps there have been since the reader was made.
        seat: `uint8[n]`, the seat that decides now; 255 when the episode is over.
        view: `uint8[n, bytes]`, what it may know.
        mask: `int8[n, actions]`, 0 or 1, what it may choose; all 0 when the episode is over.
        reward: `float32[n, seats]`, each seat's reward since its last decision.
        decided: `int64[n, seats]`, the number of the turn in which each seat made its last decision in this
            episode: where its reward belongs; -1 when it has made none.
        over: `bool[n]`, whether an episode has ended in this step; each end is told once.
        step: All else that the batch has answered.
    """

    number: int
    seat: NDArray[np.uint8]
    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    reward: NDArray[np.float32]
    decided: NDArray[np.int64]
    over: NDArray[np.bool_]
    step: BatchStep


class SelfPlay:
    """Reads a batch whose seats are agents' as turns of all of them.

    A seat's reward comes when others have decided after it, mostly at the end. `Turn.reward` keeps it for
    each seat until that seat decides again, and `Turn.decided` tells the turn it belongs to: so transitions
    `(view, action, reward, next view)` of each seat can be put together without a loop.

    A part of a batch is read in the same way, so that one half is decided here while the server steps the
    other:

    ```python
    halves = [boardwire.SelfPlay(batch, half) for half in batch.halves()]
    turns = [half.reset() for half in halves]
    for half, turn in zip(halves, turns):
        half.send(policy(turn.view, turn.mask))
    while training:
        for half in halves:
            turn = half.recv()
            half.send(policy(turn.view, turn.mask))
    ```
    """

    def __init__(self, batch: Batch, part: BatchPart | None = None) -> None:
        """Reads a batch, or a part of it, that nobody else steps in the meantime."""
        self.batch = batch
        (self._part,) = batch.parts(1) if part is None else (part,)
        shape = self._part.environments, batch.spec.seats
        self._reward = np.zeros(shape, dtype=np.float32)
        self._decided = np.full(shape, -1, dtype=np.int64)
        self._number = 0
        self._last: BatchStep | None = None

    def reset(self, *, where: NDArray[np.bool_] | None = None, seed: int | None = None) -> Turn:
        """Begins episodes, as `Batch.reset` does: all that it reads, or some.

        Rows that are left alone go on as they were, with what their seats have earned. Where one has ended,
        that has been told, and is not told again: the turn has no reward of it, and `over` is False.

        Args:
            where: `bool[n]`, which of the rows that it reads.
            seed: A new seed for these environments.

        Raises:
            ValueError: `where` is of another shape.
        """
        n = self._part.environments
        chosen = np.ones(n, np.bool_) if where is None else np.asarray(where)
        if chosen.shape != (n,):
            raise ValueError(f"where= is bool[{n}], not bool{list(chosen.shape)}")
        everywhere = np.zeros(self.batch.environments, np.bool_)
        everywhere[self._part.rows] = chosen
        step = self.batch.reset(where=everywhere, seed=seed)
        begun = chosen if self._last is None else chosen | self._last.over
        self._reward[begun] = 0
        self._decided[begun] = -1
        shown = step.part(self._part.rows)
        # Where ended episodes wait for the next step, the batch shows them once more.
        return self._turn(shown, shown.over & chosen)

    def step(self, actions: ArrayLike) -> Turn:
        """Makes the decision of every seat whose turn it is: `send`, then `recv`.

        Raises:
            RuntimeError: There was no reset.
        """
        self.send(actions)
        return self.recv()

    def send(self, actions: ArrayLike) -> None:
        """Sends the decision of every seat whose turn it is, and does not wait for what follows.

        Raises:
            RuntimeError: There was no reset.
        """
        if self._last is None:
            raise RuntimeError("reset before the first step")
        self._part.send(actions)

    def recv(self) -> Turn:
        """Waits for the decisions that follow those sent."""
        step, last = self._part.recv(), self._last
        assert last is not None, "nothing was sent"
        self._reward[last.over] = 0
        self._decided[last.over] = -1
        rows = np.flatnonzero(last.seat != NOBODY)
        acted = rows, last.seat[rows]
        self._reward[acted] = 0
        self._decided[acted] = self._number
        self._number += 1
        self._reward += step.reward
        return self._turn(step, step.over)

    def _turn(self, step: BatchStep, over: NDArray[np.bool_]) -> Turn:
        self._last = step
        return Turn(
            number=self._number,
            seat=step.seat,
            view=step.view,
            mask=step.mask,
            reward=self._reward.copy(),
            decided=self._decided.copy(),
            over=over,
            step=step,
        )
