"""A batch at whose tables one seat is an agent's, and policies of this process decide at others."""

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

# The flags that tell of an episode; the other one tells of the seat's own action.
_OF_EPISODES = np.uint8(1 | 2 | 8)


class Opposed:
    """Steps of one seat: policies have decided at the others when it is shown what to decide next.

    They are asked for the rows of all environments together, as often as the longest wait for the seat
    takes. A policy that fails does so in the midst of a step: the batch is closed then.

    Attributes:
        batch: The batch.
    """

    def __init__(self, batch: Batch, seat: int, policies: Mapping[int, Policy]) -> None:
        """Reads a batch that nobody else steps.

        Args:
            batch: Agents have the seat and those of the policies in every environment. It was opened with
                `final_views`, where there are policies.
            seat: The seat.
            policies: Who decides at other seats of agents.
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
        """Begins episodes, as `Batch.reset` does."""
        shown = self.batch.reset(where=where, seed=seed, seeds=seeds)
        if not self._policies:
            return shown
        everywhere = np.ones(self.batch.environments, np.bool_)
        return self._settled(shown, everywhere if where is None or self._last is None else where)

    def step(self, actions: ArrayLike) -> BatchStep:
        """Makes the seat's decision in every environment.

        Raises:
            ValueError: A policy has chosen what is not legal, or not an action a row.
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
            # Some rows show decisions that are not the seat's: nobody can go on with them.
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
    """What one seat is shown of several steps as if they were one."""

    def __init__(self, last: BatchStep, place: int) -> None:
        """Begins with the rows of the last step; the seat is at this place among the agents' seats."""
        self.flags = last.flags.copy()
        self._shown = {name: getattr(last, name).copy() for name in ("seat", "view", "packed_mask", "ply")}
        self._reward = np.zeros_like(last.reward)
        self._place = place
        self._ends: dict[str, list[NDArray[Any]]] = {}

    def take(self, answer: BatchStep, stepped: NDArray[np.bool_]) -> None:
        """Takes over the rows that were stepped."""
        assert answer.final_view is not None, "the batch was opened with them"
        for name, column in self._shown.items():
            column[stepped] = getattr(answer, name)[stepped]
        own, ended = answer.final_view[:, self._place], answer.ended
        # Where an episode is over a row shows what the lowest of the agents' seats sees.
        over = answer.seat[ended] == NOBODY
        self._shown["view"][ended[over]] = own[over]
        self._reward[ended] = answer.reward[ended]
        self.flags[ended] |= answer.flags[ended] & _OF_EPISODES
        of_ends = {"ended": ended, "scores": answer.scores, "ranks": answer.ranks, "final_view": own[:, None]}
        for name, column in of_ends.items():
            if column is not None:
                self._ends.setdefault(name, []).append(column)

    def as_step(self, answer: BatchStep) -> BatchStep:
        """All of it as one step, whose last answer this is."""
        order = np.argsort(np.concatenate(self._ends["ended"]), kind="stable")
        columns: dict[str, Any] = {name: np.concatenate(parts)[order] for name, parts in self._ends.items()}
        columns |= self._shown | {"reward": self._reward, "flags": self.flags}
        return BatchStep(**{field.name: getattr(answer, field.name) for field in fields(BatchStep)} | columns)


def chosen(policy: Policy, shown: BatchStep, at: NDArray[np.intp], who: str) -> NDArray[np.int64]:
    """What a policy chooses in some rows.

    Raises:
        ValueError: It chooses what is not legal, or not an action a row; `who` names it.
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
