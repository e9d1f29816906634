"""Self-play: the deciding seat of each environment, and each seat's reward since its last decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._batch import Batch, BatchPart
from ._types import NOBODY, BatchStep


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """The result of one self-play step, with one row per environment.

    When an episode ends, `reward` and `decided` are those of the ended episode.

    Attributes:
        number: The number of steps since the `SelfPlay` object was created.
        seat: `uint8[n]`, the seat that decides now; 255 when the episode is over.
        view: `uint8[n, bytes]`, the view of that seat.
        mask: `bool[n, actions]`, its action mask; all False when the episode is over.
        reward: `float32[n, seats]`, each seat's reward since its last decision.
        decided: `int64[n, seats]`, the number of the turn of each seat's last decision in this episode, to
            which its reward belongs; -1 if the seat has made no decision.
        over: `bool[n]`, whether an episode ended in this step; each end is reported once.
        step: The batch step, with all other columns.
    """

    number: int
    seat: NDArray[np.uint8]
    view: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    reward: NDArray[np.float32]
    decided: NDArray[np.int64]
    over: NDArray[np.bool_]
    step: BatchStep


class SelfPlay:
    """A wrapper of a batch that tracks each seat's reward and last decision.

    A seat's reward arrives after other seats have decided, mostly at the end. `Turn.reward` is the sum of a
    seat's rewards since its last decision, and `Turn.decided` the number of the turn of that decision. From
    these you can build transitions `(view, action, reward, next view)` of each seat without a loop.

    It can also wrap a part of a batch. With `[SelfPlay(batch, half) for half in batch.halves()]`, your policy
    decides in one half while the server steps the other.
    """

    def __init__(self, batch: Batch, part: BatchPart | None = None) -> None:
        """Wraps a batch, or a part of it. Only this object may step it."""
        self.batch = batch
        (self._part,) = batch.parts(1) if part is None else (part,)
        shape = self._part.environments, batch.spec.seats
        self._reward = np.zeros(shape, dtype=np.float32)
        self._decided = np.full(shape, -1, dtype=np.int64)
        self._number = 0
        self._last: BatchStep | None = None

    def reset(self, *, where: NDArray[np.bool_] | None = None, seed: int | None = None) -> Turn:
        """Starts episodes in all or some rows, as `Batch.reset` does.

        Other rows continue and keep their seats' rewards. If the episode of such a row is over, this turn
        does not report it again: `reward` is 0 and `over` is False.

        Args:
            where: `bool[n]`, the rows of this object to reset; all by default.
            seed: A new seed for these environments.

        Raises:
            ValueError: `where` has another shape.
        """
        n = self._part.environments
        chosen = np.ones(n, np.bool_) if where is None else np.asarray(where)
        if chosen.shape != (n,):
            raise ValueError(f"`where` must be bool[{n}]; got bool{list(chosen.shape)}")
        everywhere = np.zeros(self.batch.environments, np.bool_)
        everywhere[self._part.rows] = chosen
        step = self.batch.reset(where=everywhere, seed=seed)
        begun = chosen if self._last is None else chosen | self._last.over
        self._reward[begun], self._decided[begun] = 0, -1
        part = step.part(self._part.rows)
        # The batch repeats the flags of ended episodes that wait for the next step.
        return self._turn(part, part.over & chosen)

    def step(self, actions: ArrayLike) -> Turn:
        """Plays one action per environment: `send`, then `recv`."""
        self.send(actions)
        return self.recv()

    def send(self, actions: ArrayLike) -> None:
        """Sends one action per environment, and does not wait for the response.

        Raises:
            RuntimeError: `reset` was not called first.
        """
        if self._last is None:
            raise RuntimeError("call `reset` before the first step")
        self._part.send(actions)

    def recv(self) -> Turn:
        """Waits for the response to the actions sent, and returns the next turn."""
        step, last = self._part.recv(), self._last
        assert last is not None, "nothing was sent"
        self._reward[last.over], self._decided[last.over] = 0, -1
        rows = np.flatnonzero(last.seat != NOBODY)
        acted = rows, last.seat[rows]
        self._reward[acted], self._decided[acted] = 0, self._number
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
