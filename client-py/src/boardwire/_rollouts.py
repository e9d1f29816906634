"""Rollouts: the decisions of all seats as training data, each with its seat's own advantage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._advantages import Floats, advantages
from ._batch import Batch, BatchPart
from ._types import NOBODY, BatchStep

#: The columns that a batch has on request, as rollouts keep them.
_ON_REQUEST = {"oracle": np.uint8, "advice": np.int64, "advice_shares": np.float32}


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions that a policy is asked for: a row each.

    Attributes:
        view: `uint8[n, bytes]`, what the deciding seat may know.
        mask: `int8[n, actions]`, 0 or 1, the legal actions; at least one a row.
        seat: `uint8[n]`, the deciding seat.
        environment: `int64[n]`, the environment, as the batch counts them from 0.
        oracle: `uint8[n, seats, bytes]`, what every seat may know, the deciding one first, if the batch has
            it: for values, never for actions.
        advice: `int64[n]`, what the batch's adviser would choose, if it has one.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    seat: NDArray[np.uint8]
    environment: NDArray[np.int64]
    oracle: NDArray[np.uint8] | None = None
    advice: NDArray[np.int64] | None = None


#: The policy that learns: for decisions the actions `int[n]`, the logarithms of their probabilities
#: `float32[n]`, and the values `float32[n]`, what it expects its seat to earn.
Learner = Callable[[Decisions], tuple[ArrayLike, ArrayLike, ArrayLike]]
#: A policy that only plays: the actions `int[n]`.
Policy = Callable[[Decisions], ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """The learner's decisions of some steps, in the order of time, and the rewards of what ended in them.

    Attributes:
        view: `uint8[n, bytes]`, what the deciding seat might know.
        mask: `int8[n, actions]`, 0 or 1, the legal actions.
        action: `int64[n]`, what was chosen.
        log_prob: `float32[n]`, what the learner said of its probability.
        value: `float32[n]`, what the learner expected.
        advantage: `float32[n]`, by generalized advantage estimation along the decisions of the same seat.
        returns: `float32[n]`, `advantage` plus `value`.
        seat: `uint8[n]`, the deciding seat.
        environment: `int64[n]`, where it decided.
        rewards: `float32[k, seats]`, the rewards of each episode that ended.
        ended: `int64[k]`, the environment of each.
        oracle: `uint8[n, seats, bytes]`, what every seat might know, the deciding one first; None unless the
            batch was opened with `oracle`.
        advice: `int64[n]`, what the batch's adviser would have chosen; None without one.
        advice_shares: `float32[n, actions]`, what spoke for each action; None unless asked for.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    action: NDArray[np.int64]
    log_prob: Floats
    value: Floats
    advantage: Floats
    returns: Floats
    seat: NDArray[np.uint8]
    environment: NDArray[np.int64]
    rewards: Floats
    ended: NDArray[np.int64]
    oracle: NDArray[np.uint8] | None
    advice: NDArray[np.int64] | None
    advice_shares: Floats | None


def whole_actions(actions: ArrayLike, count: int, who: str) -> NDArray[Any]:
    """The actions that a policy chose for so many decisions.

    Raises:
        ValueError: They are not a whole number for each; `who` names it.
    """
    given = np.asarray(actions)
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"{who} chose {given.dtype}{list(given.shape)}, not an action for each of {count} decisions"
        )
    return given


class Rollouts:
    """Collects rollouts of a batch, in buffers that are used again and again.

    The batch is stepped in two halves: while one is decided here, the other is being stepped by the server.
    Seats that learn share one policy; others may be given to opponents that do not learn, by environment and
    seat. Seats that bots play in the server do not show. An episode that was cut at its greatest length
    (`GameSpec.max_plies`, practically never reached) is over like any other, worth what was rewarded: no
    value stands for what would have followed.

    ```python
    rollouts = boardwire.Rollouts(batch, steps=128)
    while training:
        rollout = rollouts.collect(learner)
        ...  # update the policy with rollout.view, .action, .advantage, ...
    ```
    """

    def __init__(
        self,
        batch: Batch,
        steps: int,
        *,
        gamma: float = 1.0,
        lam: float = 0.95,
        opponents: Sequence[Policy] = (),
        players: NDArray[np.integer] | None = None,
    ) -> None:
        """Makes the buffers; nobody else steps the batch from now on.

        Args:
            batch: The batch; it resets environments by itself.
            steps: How many steps a rollout has.
            gamma: The discount of a decision.
            lam: How much of the next decision's advantage counts.
            opponents: Policies that do not learn; see `play_against`.
            players: Who plays where; the learner everywhere when left out.

        Raises:
            ValueError: No steps, a batch that resets nothing by itself, or players that are not there.
        """
        if steps < 1:
            raise ValueError(f"a rollout has at least one step, not {steps}")
        if batch.autoreset == "disabled":
            raise ValueError("the batch begins no episodes: open it with autoreset next_step or same_step")
        n, spec = batch.environments, batch.spec
        self.batch = batch
        self.steps = steps
        self._gamma, self._lam = gamma, lam
        self.play_against(opponents, np.zeros((n, spec.seats), np.int64) if players is None else players)
        self._parts = self._divided()
        self._shown: list[BatchStep] = []
        self._view = np.empty((steps, n, spec.view_bytes), np.uint8)
        self._mask = np.empty((steps, n, len(spec.actions)), np.int8)
        self._seat = np.empty((steps, n), np.uint8)
        self._learns = np.empty((steps, n), np.bool_)
        self._action = np.empty((steps, n), np.int64)
        self._log_prob, self._value = (np.empty((steps, n), np.float32) for _ in range(2))
        self._reward = np.empty((steps, n, spec.seats), np.float32)
        self._over = np.empty((steps, n), np.bool_)
        # Of the columns that the batch has on request, once it is known which.
        self._on_request: dict[str, NDArray[Any]] = {}

    def play_against(self, opponents: Sequence[Policy], players: NDArray[np.integer]) -> None:
        """Says who plays where from now on, in episodes that go on as well; between rollouts.

        Args:
            opponents: Policies that do not learn.
            players: `int[environments, seats]`: 0 the learner, i the i-th opponent, counted from 1.

        Raises:
            ValueError: Players of another shape, or that are not there.
        """
        shape = self.batch.environments, self.batch.spec.seats
        if players.shape != shape or players.min() < 0 or players.max() > len(opponents):
            raise ValueError(
                f"players are int{list(shape)}, from 0 to {len(opponents)}, the number of opponents"
            )
        self._opponents, self._players = tuple(opponents), players

    def collect(self, learner: Learner) -> Rollout:
        """Plays so many steps as a rollout has; the first, and one after a failure, begins with a reset.

        The learner is asked once more at the end, for the values alone.
        """
        try:
            return self._collected(learner)
        except BaseException:
            # What was sent and not received belongs to no later step.
            self._shown, self._parts = [], self._divided()
            raise

    def _divided(self) -> tuple[BatchPart, ...]:
        """The parts in which the batch is stepped."""
        return self.batch.halves() if self.batch.environments > 1 else self.batch.parts(1)

    def _collected(self, learner: Learner) -> Rollout:
        if not self._shown:
            shown = self.batch.reset()
            self._shown = [shown.part(part.rows) for part in self._parts]
            for name, dtype in _ON_REQUEST.items():
                column = getattr(shown, name)
                if column is not None:
                    self._on_request[name] = np.empty((self.steps, *column.shape), dtype)
        for number, part in enumerate(self._parts):
            part.send(self._decide(0, number, learner))
        for step in range(self.steps):
            for number, part in enumerate(self._parts):
                shown = self._shown[number] = part.recv()
                self._reward[step, part.rows], self._over[step, part.rows] = shown.reward, shown.over
                if step + 1 < self.steps:
                    part.send(self._decide(step + 1, number, learner))
        return self._read(learner)

    def _decide(self, step: int, number: int, learner: Learner) -> NDArray[np.int64]:
        """The actions of a part, which are noted with all that was shown."""
        shown, rows = self._shown[number], self._parts[number].rows
        self._view[step, rows], self._mask[step, rows] = shown.view, shown.mask
        self._seat[step, rows] = shown.seat
        for name, column in self._on_request.items():
            column[step, rows] = getattr(shown, name)
        who = self._who(number)
        self._learns[step, rows] = who == 0
        actions = np.zeros(len(who), np.int64)
        at = np.flatnonzero(who == 0)
        if len(at):
            chosen, log_prob, value = learner(self._asked(number, at))
            actions[at] = whole_actions(chosen, len(at), "the learner")
            self._log_prob[step, rows.start + at] = log_prob
            self._value[step, rows.start + at] = value
        for index, opponent in enumerate(self._opponents, start=1):
            at = np.flatnonzero(who == index)
            if len(at):
                actions[at] = whole_actions(
                    opponent(self._asked(number, at)), len(at), f"opponent {index - 1}"
                )
        self._action[step, rows] = actions
        return actions

    def _who(self, number: int) -> NDArray[np.int64]:
        """Who decides in each row of a part; -1 where the episode is over."""
        seat, rows = self._shown[number].seat, self._parts[number].rows
        who = np.full(len(seat), -1, np.int64)
        at = np.flatnonzero(seat != NOBODY)
        who[at] = self._players[rows][at, seat[at]]
        return who

    def _asked(self, number: int, at: NDArray[np.intp]) -> Decisions:
        shown = self._shown[number]
        environment = self._parts[number].first + at
        return Decisions(
            view=shown.view[at],
            mask=shown.mask[at],
            seat=shown.seat[at],
            environment=environment,
            oracle=None if shown.oracle is None else shown.oracle[at],
            advice=None if shown.advice is None else shown.advice[at].astype(np.int64),
        )

    def _read(self, learner: Learner) -> Rollout:
        n = self.batch.environments
        last_seat, last_value = np.full(n, NOBODY, np.uint8), np.zeros(n, np.float32)
        for number, part in enumerate(self._parts):
            at = np.flatnonzero(self._who(number) == 0)
            if len(at):
                last_seat[part.first + at] = self._shown[number].seat[at]
                last_value[part.first + at] = learner(self._asked(number, at))[2]
        seat = np.where(self._learns, self._seat, np.uint8(NOBODY))
        advantage, valid = advantages(
            seat,
            self._value,
            self._reward,
            self._over,
            last_seat,
            last_value,
            gamma=self._gamma,
            lam=self._lam,
        )
        ended = np.nonzero(self._over)
        return Rollout(
            view=self._view[valid],
            mask=self._mask[valid],
            action=self._action[valid],
            log_prob=self._log_prob[valid],
            value=self._value[valid],
            advantage=advantage[valid],
            returns=advantage[valid] + self._value[valid],
            seat=seat[valid],
            environment=np.nonzero(valid)[1],
            rewards=self._reward[ended],
            ended=ended[1],
            **{
                name: self._on_request[name][valid] if name in self._on_request else None
                for name in _ON_REQUEST
            },
        )
