"""A batch in which the caller plays one seat, and policies of this process play other seats."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._batch import Batch
from ._rollouts import Decisions, Policy, whole_actions
from ._types import NOBODY, BatchStep
from .errors import BoardwireError

# The flags of an episode: terminated, truncated, forfeited. The other flag, substituted, concerns an action.
_OF_EPISODES = np.uint8(1 | 2 | 8)


class Opposed:
    """A batch seen from one seat: policies decide for other seats before each step returns.

    Each policy gets the rows of all environments in one call. Calls repeat until every row shows the seat's
    decision or an end. If a policy fails in the middle of a step, the batch is closed.

    Attributes:
        batch: The batch.
    """

    def __init__(self, batch: Batch, seat: int, policies: Mapping[int, Policy]) -> None:
        """Wraps a batch. Only this object may step it.

        Args:
            batch: In every environment, agents have `seat` and the seats of `policies`. If there are
                policies, the batch was opened with `final_views`.
            seat: The caller's seat.
            policies: The policies at the other agent seats, by seat.
        """
        self.batch = batch
        self._seat = seat
        self._policies = policies
        self._place = sorted((seat, *policies)).index(seat)
        self._last: BatchStep | None = None

    def reset(
        self,
        *,
        where: NDArray[np.bool_] | None = None,
        seed: int | None = None,
        seeds: Sequence[int] | NDArray[np.uint64] | None = None,
    ) -> BatchStep:
        """Starts episodes, as `Batch.reset` does."""
        shown = self.batch.reset(where=where, seed=seed, seeds=seeds)
        if not self._policies:
            return shown
        everywhere = np.ones(self.batch.environments, np.bool_)
        return self._settled(shown, everywhere if where is None or self._last is None else where)

    def step(self, actions: ArrayLike) -> BatchStep:
        """Plays the seat's action in every environment.

        Raises:
            ValueError: A policy chose an illegal action, or not one action per row.
        """
        shown = self.batch.step(actions)
        if not self._policies:
            return shown
        return self._settled(shown, np.ones(self.batch.environments, np.bool_))

    def _settled(self, answer: BatchStep, changed: NDArray[np.bool_]) -> BatchStep:
        """Lets policies decide until every row shows the seat's decision or an end."""
        rows = _Rows(self._last or answer, self._place)
        rows.flags[changed] = answer.flags[changed]
        rows.take(answer, changed)
        try:
            while (due := (answer.seat != NOBODY) & (answer.seat != self._seat)).any():
                answer = self.batch.step(self._decided(answer), where=due)
                rows.take(answer, due)
        except BaseException:
            # Some rows show decisions of other seats, so the caller cannot continue.
            with contextlib.suppress(BoardwireError):
                self.batch.close()
            raise
        self._last = rows.as_step(answer)
        return self._last

    def _decided(self, shown: BatchStep) -> NDArray[np.int64]:
        actions = np.zeros(self.batch.environments, np.int64)
        for seat, policy in self._policies.items():
            at = np.flatnonzero(shown.seat == seat)
            if len(at):
                actions[at] = chosen(policy, shown, at, f"the opponent at seat {seat}")
        return actions


class _Rows:
    """An accumulator that merges several batch steps into one step of a seat."""

    def __init__(self, last: BatchStep, place: int) -> None:
        """Starts from the rows of the last step; `place` is the seat's index among the agents' seats."""
        self.flags = last.flags.copy()
        self._shown = {name: getattr(last, name).copy() for name in ("seat", "view", "packed_mask", "ply")}
        self._reward = np.zeros_like(last.reward)
        self._place = place
        self._ends: dict[str, list[NDArray[Any]]] = {}

    def take(self, answer: BatchStep, stepped: NDArray[np.bool_]) -> None:
        """Merges the stepped rows of a response."""
        assert answer.final_view is not None, "the batch was opened with them"
        for name, column in self._shown.items():
            column[stepped] = getattr(answer, name)[stepped]
        own, ended = answer.final_view[:, self._place], answer.ended
        # If the episode is over, the row has the view of the lowest agent seat, not of this seat.
        over = answer.seat[ended] == NOBODY
        self._shown["view"][ended[over]] = own[over]
        self._reward[ended] = answer.reward[ended]
        self.flags[ended] |= answer.flags[ended] & _OF_EPISODES
        of_ends = {"ended": ended, "scores": answer.scores, "ranks": answer.ranks, "final_view": own[:, None]}
        for name, column in of_ends.items():
            if column is not None:
                self._ends.setdefault(name, []).append(column)

    def as_step(self, answer: BatchStep) -> BatchStep:
        """Returns the merged step; other columns are those of the last response."""
        order = np.argsort(np.concatenate(self._ends["ended"]), kind="stable")
        columns: dict[str, Any] = {name: np.concatenate(parts)[order] for name, parts in self._ends.items()}
        columns |= self._shown | {"reward": self._reward, "flags": self.flags}
        return BatchStep(**{field.name: getattr(answer, field.name) for field in fields(BatchStep)} | columns)


def chosen(policy: Policy, shown: BatchStep, at: NDArray[np.intp], who: str) -> NDArray[np.int64]:
    """Calls a policy for the rows `at`, and returns its actions.

    Raises:
        ValueError: An action is illegal, or there is not one per row; the error names the policy by `who`.
    """
    asked = Decisions(shown.view[at], shown.mask[at], shown.seat[at], shown.first + at)
    actions = whole_actions(policy(asked), len(at), who)
    known = asked.mask.shape[1]
    within = (actions >= 0) & (actions < known)
    legal = within & (np.take_along_axis(asked.mask, np.where(within, actions, 0)[:, None], 1)[:, 0] > 0)
    if not legal.all():
        wrong = int(np.flatnonzero(~legal)[0])
        raise ValueError(
            f"{who} chose action {actions[wrong]} in environment {at[wrong]}, where it is not legal: the "
            "legal ones are those whose `mask` is 1"
        )
    return actions.astype(np.int64)
