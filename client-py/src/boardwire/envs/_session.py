"""The batch of an environment: resets open it, and policies of this process play some of its seats."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import NOBODY, Batch, BatchStep, BoardwireError, Decisions, GameSpec, Policy
from .._rollouts import whole_actions
from .._types import FORFEITED, TERMINATED, TRUNCATED
from ..errors import LOST
from ._common import draw, unspent

# The other flag, substituted, concerns an action.
_OF_EPISODES = np.uint8(TERMINATED | TRUNCATED | FORFEITED)
# One row for each action, because building an array takes longer than playing the action.
_ACTIONS = np.arange(256, dtype=np.uint8)[:, None]

_ALL_LOST = "the batch and all its episodes are lost: reset all environments, without reset_mask"


class Session:
    """A batch in which the caller plays one seat, and policies of this process play other seats.

    Each policy gets the rows of all environments in one call. Calls repeat until every row shows the
    caller's decision or an end. If a reset fails, or a policy in the middle of a step, the batch is closed.

    Attributes:
        batch: The batch; None before the first reset and after `close`.
    """

    def __init__(self, spec: GameSpec, seat: int = 0, policies: Mapping[int, Policy] | None = None) -> None:
        """Configures the session; the first reset opens the batch.

        Args:
            spec: The spec that the environment's spaces were built for.
            seat: The caller's seat. Without policies, the caller may have other seats too.
            policies: The policies by seat. If there are any, the batch has the column `final_views`.
        """
        self.batch: Batch | None = None
        self._spec = spec
        self._seat = seat
        self._policies = policies or {}
        self._place = sorted((seat, *self._policies)).index(seat)
        self._last: BatchStep | None = None

    def last(self) -> BatchStep:
        """Returns the last step.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset failed.
        """
        if self._last is None:
            raise gymnasium.error.ResetNeeded("call `reset` first: the environment has no episode")
        return self._last

    def deal(self, open_batch: Callable[[], Batch], random: np.random.Generator) -> BatchStep:
        """Begins an episode in a batch of one environment; draws its seed only if this succeeds."""
        with unspent(random):
            return self.begin(open_batch, {"seeds": [draw(random)]})

    def begin(
        self, open_batch: Callable[[], Batch], *resets: Mapping[str, Any], is_partial: bool = False
    ) -> BatchStep:
        """Begins episodes, in a new batch if there is none or it is lost.

        Args:
            open_batch: Opens a new batch.
            resets: The arguments of each call of `Batch.reset`.
            is_partial: Whether the resets leave out some environments. If the batch is lost then, this is an
                error, because a new batch would silently end the episodes of these environments.

        Raises:
            BoardwireError: No batch can be opened, or the server was restarted with another version of the
                game.
        """
        last, self._last = self._last, None
        if self.batch is not None:
            try:
                return self._reset(self.batch, resets, last)
            except LOST as failure:
                if is_partial:
                    raise _advised(failure, _ALL_LOST) from None
        batch = self.batch = open_batch()
        if batch.spec.digest != self._spec.digest:
            self._let_go()
            raise BoardwireError(
                f"the server plays {self._spec.id} in another version than when the environment was "
                "made: make the environment again"
            )
        return self._reset(batch, resets, None)

    def _reset(
        self, batch: Batch, resets: tuple[Mapping[str, Any], ...], last: BatchStep | None
    ) -> BatchStep:
        try:
            for each in resets:
                shown = batch.reset(**each)
                last = self._settled(batch, shown, each.get("where"), last) if self._policies else shown
        except BaseException:
            self._let_go()
            raise
        self._last = last
        return self.last()

    def act(self, action: SupportsIndex) -> BatchStep:
        """Plays an action in a batch of one environment; see `step`."""
        index = operator.index(action)
        return self.step(_ACTIONS[index] if 0 <= index < len(_ACTIONS) else [index])

    def step(self, actions: ArrayLike) -> BatchStep:
        """Plays the seat's action in every environment.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset failed.
            ValueError: A policy chose an illegal action, or not one action per row.
        """
        last, batch = self.last(), self.batch
        assert batch is not None
        try:
            shown = batch.step(actions)
            if self._policies:
                try:
                    shown = self._settled(batch, shown, None, last)
                except BaseException:
                    # Some rows show decisions of other seats, so the caller cannot continue.
                    self._let_go()
                    raise
        except LOST as failure:
            raise _advised(failure, "reset the environment") from None
        self._last = shown
        return shown

    def text(self, seat: int) -> str:
        """Describes the position of the first environment as a seat may know it."""
        assert self.batch is not None
        try:
            return self.batch.text(0, seat=seat)
        except LOST as failure:
            raise _advised(failure, "reset the environment") from None

    def close(self) -> None:
        """Closes the batch. A later reset opens another."""
        self._let_go()
        self.batch = self._last = None

    def _let_go(self) -> None:
        # A batch that cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self.batch is not None:
                self.batch.close()

    def _settled(
        self, batch: Batch, answer: BatchStep, where: NDArray[np.bool_] | None, last: BatchStep | None
    ) -> BatchStep:
        """Lets policies decide until every row shows the seat's decision or an end.

        Returns:
            One step for all responses. Rows that are not in `where` are those of `last`.
        """
        if last is None:
            last, where = answer, None
        names = ("seat", "view", "packed_mask", "ply", "flags")
        rows = {name: getattr(last, name).copy() for name in names}
        reward = np.zeros_like(last.reward)
        ends: dict[str, list[NDArray[Any]]] = {}
        stepped: Any = slice(None) if where is None else where
        rows["flags"][stepped] = answer.flags[stepped]
        while True:
            assert answer.final_view is not None, "the batch was opened with them"
            for name in ("seat", "view", "packed_mask", "ply"):
                rows[name][stepped] = getattr(answer, name)[stepped]
            own, ended = answer.final_view[:, self._place], answer.ended
            # If the episode is over, the row has the view of the lowest agent seat, not of this seat.
            over = answer.seat[ended] == NOBODY
            rows["view"][ended[over]] = own[over]
            rows["flags"][ended] |= answer.flags[ended] & _OF_EPISODES
            reward[ended] = answer.reward[ended]
            of_ends = {"ended": ended, "scores": answer.scores, "ranks": answer.ranks}
            for name, column in (of_ends | {"final_view": own[:, None]}).items():
                if column is not None:
                    ends.setdefault(name, []).append(column)
            stepped = (answer.seat != NOBODY) & (answer.seat != self._seat)
            if not stepped.any():
                break
            answer = batch.step(self._decided(answer), where=stepped)
        order = np.argsort(np.concatenate(ends["ended"]), kind="stable")
        columns: dict[str, Any] = {name: np.concatenate(parts)[order] for name, parts in ends.items()}
        columns |= rows | {"reward": reward}
        return BatchStep(**{field.name: getattr(answer, field.name) for field in fields(BatchStep)} | columns)

    def _decided(self, shown: BatchStep) -> NDArray[np.int64]:
        """Returns the policies' actions, 0 for rows of other seats.

        Raises:
            ValueError: A policy's action is illegal, or there is not one per row.
        """
        actions = np.zeros(len(shown.seat), np.int64)
        for seat, policy in self._policies.items():
            at = np.flatnonzero(shown.seat == seat)
            if not len(at):
                continue
            mask, who = shown.mask[at], f"the opponent at seat {seat}"
            given = policy(Decisions(shown.view[at], mask, shown.seat[at], shown.first + at))
            chosen = whole_actions(given, len(at), who)
            within = (chosen >= 0) & (chosen < mask.shape[1])
            legal = within & (mask[np.arange(len(at)), np.where(within, chosen, 0)] > 0)
            if not legal.all():
                wrong = int(np.flatnonzero(~legal)[0])
                raise ValueError(
                    f"{who} chose action {chosen[wrong]} in environment {at[wrong]}, where it is not legal: "
                    "the legal ones are those whose `mask` is 1"
                )
            actions[at] = chosen
        return actions


def _advised(failure: BoardwireError, advice: str) -> BoardwireError:
    """Returns the same error with advice before its message."""
    return type(failure)(
        f"{advice}. {failure.message}",
        code=failure.code,
        reason=failure.reason,
        metadata=failure.metadata,
    )
