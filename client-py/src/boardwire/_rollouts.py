"""Rollouts: training data of all seats' decisions, with advantages computed for each seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._advantages import Floats, advantages
from ._batch import Batch, BatchPart
from ._types import NOBODY, BatchStep

#: The optional columns of a batch, with the dtypes that rollouts store.
_ON_REQUEST = {"oracle": np.uint8, "advice": np.int64, "advice_shares": np.float32}


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions that a policy must make, one per row.

    Attributes:
        view: `uint8[n, bytes]`, the view of the deciding seat.
        mask: `int8[n, actions]`, the action mask: 1 for legal actions, else 0; at least one 1 per row.
        seat: `uint8[n]`, the deciding seat.
        environment: `int64[n]`, the index of the environment, from 0.
        oracle: `uint8[n, seats, bytes]`, the views of all seats, the deciding seat first, if the batch has
            them. Use them for values, never for actions.
        advice: `int64[n]`, the action that the batch's adviser would choose, if the batch has an adviser.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    seat: NDArray[np.uint8]
    environment: NDArray[np.int64]
    oracle: NDArray[np.uint8] | None = None
    advice: NDArray[np.int64] | None = None


#: The policy that learns. It maps decisions to actions `int[n]`, their log-probabilities `float32[n]`, and
#: values `float32[n]`, the expected returns of the deciding seats.
Learner = Callable[[Decisions], tuple[ArrayLike, ArrayLike, ArrayLike]]
#: A policy that does not learn. It maps decisions to actions `int[n]`.
Policy = Callable[[Decisions], ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """The learner's decisions of several steps in time order, and the rewards of episodes that ended.

    Attributes:
        view: `uint8[n, bytes]`, the view of the deciding seat.
        mask: `int8[n, actions]`, the action mask: 1 for legal actions, else 0.
        action: `int64[n]`, the chosen action.
        log_prob: `float32[n]`, the log-probability of the action that the learner gave.
        value: `float32[n]`, the value that the learner gave.
        advantage: `float32[n]`, by generalized advantage estimation along the decisions of the same seat.
        returns: `float32[n]`, `advantage` plus `value`.
        seat: `uint8[n]`, the deciding seat.
        environment: `int64[n]`, the environment of the decision.
        rewards: `float32[k, seats]`, the rewards of each episode that ended.
        ended: `int64[k]`, the environment of each episode that ended.
        oracle: `uint8[n, seats, bytes]`, the views of all seats, the deciding seat first; None unless the
            batch was opened with `oracle`.
        advice: `int64[n]`, the action that the batch's adviser would have chosen; None without an adviser.
        advice_shares: `float32[n, actions]`, the adviser's support for each action; None unless requested.
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
    """Returns a policy's actions as an array, after it checks their shape and dtype.

    Raises:
        ValueError: The actions are not one integer per decision; the error names the policy by `who`.
    """
    given = np.asarray(actions)
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"{who} chose {given.dtype}{list(given.shape)}, not an action for each of {count} decisions"
        )
    return given


class Rollouts:
    """A collector of rollouts from a batch, which reuses its buffers.

    It steps the batch in two halves: while policies decide in one half, the server steps the other. All
    learning seats share one policy. Opponents that do not learn may play other seats, chosen by environment
    and seat. Seats that server bots play do not appear. An episode truncated at `GameSpec.max_plies`
    (practically never reached) counts as terminated: its return is its reward, without bootstrapping from a
    value.

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
        """Allocates the buffers. From now on, only this object may step the batch.

        Args:
            batch: The batch, with autoreset.
            steps: The number of steps in a rollout.
            gamma: The discount factor per decision.
            lam: The lambda of generalized advantage estimation: the weight of the next decision's advantage.
            opponents: Policies that do not learn; see `play_against`.
            players: The player of each seat, see `play_against`; the learner everywhere by default.

        Raises:
            ValueError: `steps` is less than 1, the batch has no autoreset, or `players` is invalid.
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
        # Buffers of the optional columns; the first reset shows which ones the batch has.
        self._on_request: dict[str, NDArray[Any]] = {}

    def play_against(self, opponents: Sequence[Policy], players: NDArray[np.integer]) -> None:
        """Assigns players to seats from now on, also in running episodes. Call it between rollouts.

        Args:
            opponents: Policies that do not learn.
            players: `int[environments, seats]`: 0 for the learner, i for the i-th opponent, counted from 1.

        Raises:
            ValueError: `players` has another shape, or names an opponent that does not exist.
        """
        shape = self.batch.environments, self.batch.spec.seats
        if players.shape != shape or players.min() < 0 or players.max() > len(opponents):
            raise ValueError(
                f"players are int{list(shape)}, from 0 to {len(opponents)}, the number of opponents"
            )
        self._opponents, self._players = tuple(opponents), players

    def collect(self, learner: Learner) -> Rollout:
        """Plays `steps` steps. The first call, and a call after a failure, resets the batch first.

        At the end, it calls the learner again, for values only.
        """
        try:
            return self._collected(learner)
        except BaseException:
            # Responses that are still pending must not count as those of a later step.
            self._shown, self._parts = [], self._divided()
            raise

    def _divided(self) -> tuple[BatchPart, ...]:
        """Splits the batch into two halves, or one part if it has a single environment."""
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
        """Chooses the actions of a part, and stores them with the observations."""
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
        """Returns the player that decides in each row of a part; -1 where the episode is over."""
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
