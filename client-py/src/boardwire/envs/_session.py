"""The batch of an environment: resets open it, and policies of this process play some of its seats."""

from __future__ import annotations

import contextlib
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, SupportsIndex, get_args

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import (
    NOBODY,
    Batch,
    BatchStep,
    BoardwireError,
    Decisions,
    GameSpec,
    IllegalActions,
    Policy,
    Reward,
)
from .._rollouts import whole_actions
from .._types import FORFEITED, TERMINATED, TRUNCATED
from ..errors import LOST, CallTimeout

# The other flag, substituted, concerns an action.
_EPISODE_FLAGS = np.uint8(TERMINATED | TRUNCATED | FORFEITED)
# One row for each action, because building an array takes longer than playing the action.
_ACTIONS = np.arange(256, dtype=np.uint8)[:, None]
#: The packages whose code may lie between a program and a step: this one, and the wrappers of frameworks.
_PACKAGES = {"boardwire", "gymnasium", "pettingzoo", "ray", "sb3_contrib", "stable_baselines3", "torchrl"}


class IllegalActionWarning(RuntimeWarning):
    """A warning that an illegal action was replaced: the policy ignores the mask or reads a wrong one."""


class Session:
    """A batch for an adapter of a framework: it opens at a reset, and again when it is lost.

    The caller plays one seat or all, and policies of this process play other seats.

    Each policy gets the rows of all environments in one call. Calls repeat until every row shows the
    caller's decision or an end. If a step was interrupted, or failed after it was played in part, the
    environments have no position, and the caller must reset them.

    Attributes:
        batch: The batch; None before the first reset and after `close`.
        warns: Whether the next replacement of an illegal action causes a warning: only the first one does.
    """

    def __init__(
        self,
        open_batch: Callable[..., Batch],
        spec: GameSpec,
        *,
        reward: Reward,
        illegal_actions: IllegalActions,
        seat: int = 0,
        policies: Mapping[int, Policy] | None = None,
        **settings: Any,
    ) -> None:
        """Configures the session; the first reset opens the batch.

        Args:
            open_batch: Opens a batch with the arguments of `Client.open_batch`, such as that method.
            spec: The spec of the table.
            reward: As in `Client.open_batch`.
            illegal_actions: As in `Client.open_batch`.
            seat: The caller's seat. Without policies, the caller may have other seats too.
            policies: The policies by seat. If there are any, the batch has the column `final_views`.
            settings: The other arguments of `open_batch`.

        Raises:
            ValueError: `reward` or `illegal_actions` is not allowed.
        """
        for name, value, allowed in (
            ("reward", reward, get_args(Reward)),
            ("illegal_actions", illegal_actions, get_args(IllegalActions)),
        ):
            if value not in allowed:
                raise ValueError(f"`{name}` must be one of {', '.join(allowed)}; got {value!r}")
        self.batch: Batch | None = None
        self.warns = True
        self._open_batch = partial(
            open_batch,
            spec.id,
            seats=spec.seats,
            options=spec.options,
            reward=reward,
            illegal_actions=illegal_actions,
            **settings,
        )
        self._spec = spec
        self._illegal_actions = illegal_actions
        self._seat = seat
        self._policies = policies or {}
        self._place = sorted((seat, *self._policies)).index(seat)
        self._last: BatchStep | None = None

    def last_step(self) -> BatchStep:
        """Returns the last step.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset or step failed.
        """
        if self._last is None:
            raise gymnasium.error.ResetNeeded("call `reset` first: the environment has no episode")
        return self._last

    def reset_one(self, random: np.random.Generator) -> BatchStep:
        """Begins an episode in a batch of one environment; draws its seed only if this succeeds."""
        with unspent(random):
            return self.reset({"seeds": [draw(random)]})

    def reset(
        self,
        *resets: Mapping[str, Any],
        random: np.random.Generator | None = None,
        is_partial: bool = False,
    ) -> BatchStep:
        """Begins episodes, in a new batch if there is none or it is lost.

        Args:
            resets: The arguments of each call of `Batch.reset`.
            random: The generator of the seed of a new batch; by default the server draws the seed.
            is_partial: Whether the resets leave out some environments. If the batch is lost then, this is an
                error, because a new batch would silently end the episodes of these environments.

        Raises:
            ResetNeeded: The reset is partial, and the last step or reset failed.
            BoardwireError: No batch can be opened, or the server was restarted with another version of the
                game.
        """
        if is_partial and self.batch is not None and self._last is None:
            raise gymnasium.error.ResetNeeded("reset all environments first: the last step or reset failed")
        last_step, self._last = self._last, None
        if self.batch is not None:
            try:
                return self._reset(self.batch, resets, last_step)
            except LOST as failure:
                if is_partial:
                    raise _with_advice(failure, "reset all environments, without reset_mask") from None
        batch = self.batch = self._open_batch(seed=None if random is None else draw(random))
        if batch.spec != self._spec:
            self._close_batch()
            raise BoardwireError(
                f"the server plays {self._spec.id} in another version than when the environment was "
                "created: create the environment again"
            )
        return self._reset(batch, resets, None)

    def _reset(
        self, batch: Batch, resets: tuple[Mapping[str, Any], ...], last_step: BatchStep | None
    ) -> BatchStep:
        try:
            for each in resets:
                step = batch.reset(**each)
                last_step = (
                    self._play_policies(batch, step, each.get("where"), last_step) if self._policies else step
                )
        except BaseException:
            self._close_batch()
            raise
        self._last = last_step
        return self.last_step()

    def act(self, action: SupportsIndex) -> BatchStep:
        """Plays an action in a batch of one environment; see `step`."""
        index = operator.index(action)
        return self.step(_ACTIONS[index] if 0 <= index < len(_ACTIONS) else [index])

    def step(self, actions: ArrayLike) -> BatchStep:
        """Plays the seat's action in every environment.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset or step failed.
            ValueError: A policy chose an illegal action, or not one action per row.
        """
        last_step, batch = self.last_step(), self.batch
        assert batch is not None
        # An interrupted step leaves its response pending, and only a reset discards it.
        self._last = None
        try:
            step = batch.step(actions)
        except LOST as failure:
            raise _with_advice(failure, "reset the environment") from None
        except (BoardwireError, TypeError, ValueError) as refusal:
            if not isinstance(refusal, CallTimeout):
                self._last = last_step
            raise
        if self._policies:
            try:
                step = self._play_policies(batch, step, None, last_step)
            except BaseException as failure:
                # Some rows show decisions of other seats.
                self._close_batch()
                if isinstance(failure, LOST):
                    raise _with_advice(failure, "reset the environment") from None
                raise
        self._last = step
        return step

    def text(self, seat: int) -> str:
        """Describes the position of the first environment as a seat may know it."""
        self.last_step()
        assert self.batch is not None
        try:
            return self.batch.text(0, seat=seat)
        except LOST as failure:
            raise _with_advice(failure, "reset the environment") from None

    def warn(self, action: SupportsIndex, player: str) -> None:
        """Warns at the line that called the environment that an illegal action of `player` was replaced."""
        if not self.warns:
            return
        self.warns = False
        index, frame, level = operator.index(action), sys._getframe(), 1
        while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
            frame, level = frame.f_back, level + 1
        warnings.warn(
            f"action {index} ({self._spec.actions[index].label}) of {player} was illegal, and another action "
            f"replaced it (illegal_actions={self._illegal_actions!r}): choose actions that the mask allows. "
            "This environment warns once.",
            IllegalActionWarning,
            stacklevel=level,
        )

    def close(self) -> None:
        """Closes the batch. A later reset opens another."""
        self._close_batch()
        self.batch = self._last = None

    def _close_batch(self) -> None:
        # A batch that cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self.batch is not None:
                self.batch.close()

    def _play_policies(
        self, batch: Batch, step: BatchStep, where: NDArray[np.bool_] | None, last_step: BatchStep | None
    ) -> BatchStep:
        """Lets policies decide until every row shows the seat's decision or an end.

        Returns:
            One step for all responses. Rows that are not in `where` are those of `last_step`.
        """
        if last_step is None:
            last_step, where = step, None
        names = ("seat", "view", "packed_mask", "ply", "flags")
        rows = {name: getattr(last_step, name).copy() for name in names}
        reward = np.zeros_like(last_step.reward)
        ends: dict[str, list[NDArray[Any]]] = {}
        stepped: Any = slice(None) if where is None else where
        rows["flags"][stepped] = step.flags[stepped]
        while True:
            assert step.final_view is not None
            for name in ("seat", "view", "packed_mask", "ply"):
                rows[name][stepped] = getattr(step, name)[stepped]
            own, ended = step.final_view[:, self._place], step.ended
            # If the episode is over, the row has the view of the lowest agent seat, not of this seat.
            over = step.seat[ended] == NOBODY
            rows["view"][ended[over]] = own[over]
            rows["flags"][ended] |= step.flags[ended] & _EPISODE_FLAGS
            reward[ended] = step.reward[ended]
            of_ends = {"ended": ended, "scores": step.scores, "ranks": step.ranks, "final_view": own[:, None]}
            for name, column in of_ends.items():
                if column is not None:
                    ends.setdefault(name, []).append(column)
            stepped = (step.seat != NOBODY) & (step.seat != self._seat)
            if not stepped.any():
                break
            step = batch.step(self._policy_actions(step), where=stepped)
        order = np.argsort(np.concatenate(ends["ended"]), kind="stable")
        columns: dict[str, Any] = {name: np.concatenate(parts)[order] for name, parts in ends.items()}
        columns |= rows | {"reward": reward}
        return BatchStep(**{field.name: getattr(step, field.name) for field in fields(BatchStep)} | columns)

    def _policy_actions(self, step: BatchStep) -> NDArray[np.int64]:
        """Returns the policies' actions, 0 for rows of other seats.

        Raises:
            ValueError: A policy's action is illegal, or there is not one per row.
        """
        actions = np.zeros(len(step.seat), np.int64)
        for seat, policy in self._policies.items():
            rows = np.flatnonzero(step.seat == seat)
            if not len(rows):
                continue
            mask, player = step.mask[rows], f"the opponent at seat {seat}"
            chosen = policy(Decisions(step.view[rows], mask, step.seat[rows], step.first + rows))
            actions[rows] = checked = whole_actions(chosen, len(rows), player)
            in_range = (checked >= 0) & (checked < mask.shape[1])
            legal = in_range & mask[np.arange(len(rows)), np.where(in_range, checked, 0)]
            if not legal.all():
                at = int(np.flatnonzero(~legal)[0])
                raise ValueError(
                    f"{player} chose action {checked[at]} in environment {rows[at]}, where it is not legal: "
                    "`mask` is True for the legal actions"
                )
        return actions


def draw(random: np.random.Generator) -> int:
    """Draws the seed of an episode or a batch."""
    return int(random.integers(2**64, dtype=np.uint64))


@contextlib.contextmanager
def unspent(random: np.random.Generator) -> Iterator[None]:
    """Restores a generator's state if the block fails, so that a retry draws the same values."""
    state = random.bit_generator.state
    try:
        yield
    except BaseException:
        random.bit_generator.state = state
        raise


def _with_advice(failure: BoardwireError, advice: str) -> BoardwireError:
    """Returns the same error with advice before its message."""
    message = f"{advice}: {failure.message}"
    return type(failure)(message, code=failure.code, reason=failure.reason, metadata=failure.metadata)
