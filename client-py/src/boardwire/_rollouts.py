"""Rollouts: training data of all seats' decisions, with advantages computed for each seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._batch import Batch, BatchPart
from ._types import NOBODY, BatchStep


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions that a policy must make, one per row.

    Attributes:
        view: `uint8[n, bytes]`, the view of the deciding seat.
        mask: `bool[n, actions]`, the action mask: True for legal actions; at least one per row.
        seat: `uint8[n]`, the deciding seat.
        environment: `int64[n]`, the index of the environment, from 0.
        oracle: `uint8[n, seats, bytes]`, the views of all seats, the deciding seat first; None unless the
            batch was opened with `oracle`. Use them for values, never for actions.
        advice: `int64[n]`, the action that the batch's adviser would choose; None without an adviser.
        estimates: `float32[n, actions]`, as `BatchStep.estimates`; None unless requested.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    seat: NDArray[np.uint8]
    environment: NDArray[np.int64]
    oracle: NDArray[np.uint8] | None = None
    advice: NDArray[np.int64] | None = None
    estimates: NDArray[np.float32] | None = None


#: The policy that learns. It maps decisions to actions `int[n]`, their log-probabilities `float32[n]`, and
#: values `float32[n]`, the expected returns of the deciding seats.
Learner = Callable[[Decisions], tuple[ArrayLike, ArrayLike, ArrayLike]]
#: A policy that does not learn. It maps decisions to actions `int[n]`.
Policy = Callable[[Decisions], ArrayLike]


def whole_actions(actions: ArrayLike, count: int, policy: str) -> NDArray[Any]:
    """Returns the actions of the policy that `policy` names as an array.

    Raises:
        ValueError: The actions are not one integer per decision.
    """
    array = np.asarray(actions)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        got = f"{array.dtype}{list(array.shape)}"
        raise ValueError(f"{policy} must return one integer for each of {count} decisions; got {got}")
    return array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rollout(Decisions):
    """The learner's decisions of several steps in time order, and the rewards of episodes that ended.

    Each decision also has the attributes of `Decisions`.

    Attributes:
        action: `int64[n]`, the chosen action.
        log_prob: `float32[n]`, the log-probability of the action that the learner gave.
        value: `float32[n]`, the value that the learner gave.
        advantage: `float32[n]`, by generalized advantage estimation along the decisions of the same seat.
        returns: `float32[n]`, `advantage` plus `value`.
        rewards: `float32[k, seats]`, the rewards of each episode that ended.
        ended: `int64[k]`, the environment of each episode that ended.
        advice_shares: `float32[n, actions]`, the adviser's support for each action; None unless requested.
    """

    action: NDArray[np.int64]
    log_prob: NDArray[np.float32]
    value: NDArray[np.float32]
    advantage: NDArray[np.float32]
    returns: NDArray[np.float32]
    rewards: NDArray[np.float32]
    ended: NDArray[np.int64]
    advice_shares: NDArray[np.float32] | None = None


class Rollouts:
    """A collector of rollouts from a batch, which reuses its buffers.

    It steps the batch in two halves: while policies decide in one half, the server steps the other. All
    agent seats share one policy that learns, unless `play_against` assigns them. Seats that server bots play
    do not appear. An episode truncated at `GameSpec.max_plies` (practically never reached) counts as
    terminated: its return is its reward, without bootstrapping from a value.

    ```python
    rollouts = boardwire.Rollouts(batch, steps=128)
    while training:
        rollout = rollouts.collect(learner)
        ...  # update the policy with rollout.view, .action, .advantage, ...
    ```
    """

    def __init__(self, batch: Batch, steps: int, *, gamma: float = 1.0, lam: float = 0.95) -> None:
        """Takes over the batch. From now on, only this object may step it.

        Args:
            batch: The batch, with autoreset.
            steps: The number of steps in a rollout.
            gamma: The discount factor per decision.
            lam: The lambda of generalized advantage estimation: the weight of the next decision's advantage.

        Raises:
            ValueError: `steps` is less than 1, or the batch has no autoreset.
        """
        if steps < 1:
            raise ValueError(f"`steps` must be at least 1; got {steps}")
        if batch.autoreset == "disabled":
            raise ValueError(
                "the batch must start episodes itself: open it with autoreset next_step or same_step"
            )
        self.batch, self.steps = batch, steps
        self._advantages = partial(advantages, gamma=gamma, lam=lam)
        self.play_against((), np.zeros_like(batch.agents, np.int64))
        self._parts = batch.parts(min(batch.environments, 2))
        self._last: list[BatchStep] = []
        # The buffers, [steps, environments, ...]; the first step shows which ones are needed.
        self._buffers: dict[str, NDArray[Any]] = {}

    def play_against(self, opponents: Sequence[Policy], players: NDArray[np.integer]) -> None:
        """Assigns players to seats from now on, also in running episodes. Call it between rollouts.

        Args:
            opponents: Policies that do not learn.
            players: `int[environments, seats]`: 0 for the learner, i for the i-th opponent, counted from 1.

        Raises:
            ValueError: `players` has another shape, or names an opponent that does not exist.
        """
        if players.shape != self.batch.agents.shape:
            raise ValueError(f"`players` must have shape {self.batch.agents.shape}; got {players.shape}")
        minimum, maximum = int(players.min()), int(players.max())
        if minimum < 0 or maximum > len(opponents):
            raise ValueError(
                f"`players` must be 0 to {len(opponents)}, the number of opponents; "
                f"got {minimum} to {maximum}"
            )
        self._opponents, self._players = tuple(opponents), players

    def collect(self, learner: Learner) -> Rollout:
        """Plays `steps` steps. The first call, and a call after a failure, resets the batch first.

        At the end, it calls the learner again, for values only.
        """
        try:
            if not self._last:
                latest = self.batch.reset()
                self._last = [latest.part(part.rows) for part in self._parts]
            for number, part in enumerate(self._parts):
                part.send(self._decide(0, number, learner))
            for step in range(self.steps):
                for number, part in enumerate(self._parts):
                    latest = self._last[number] = part.recv()
                    self._store(step, part, reward=latest.reward, over=latest.over)
                    if step + 1 < self.steps:
                        part.send(self._decide(step + 1, number, learner))
            return self._rollout(learner)
        except BaseException:
            # Responses that are still pending must not count as those of a later step.
            self._last, self._parts = [], self.batch.parts(len(self._parts))
            raise

    def _store(self, step: int, part: BatchPart, **columns: NDArray[Any] | None) -> None:
        """Stores the rows of a part; a column that the batch does not send is None."""
        for name, values in columns.items():
            if values is None:
                continue
            if name not in self._buffers:
                shape = self.steps, self.batch.environments, *values.shape[1:]
                self._buffers[name] = np.empty(shape, values.dtype)
            self._buffers[name][step, part.rows] = values

    def _decide(self, step: int, number: int, learner: Learner) -> NDArray[np.int64]:
        """Chooses the actions of a part, and stores them with the observations."""
        latest, player = self._last[number], self._players_of(number)
        action = np.zeros(len(player), np.int64)
        log_prob, value = np.zeros((2, len(player)), np.float32)
        if len(at := np.flatnonzero(player == 0)):
            chosen, log_prob[at], value[at] = learner(self._decisions_of(number, at))
            action[at] = whole_actions(chosen, len(at), "the learner")
        for index, opponent in enumerate(self._opponents, 1):
            if len(at := np.flatnonzero(player == index)):
                chosen = opponent(self._decisions_of(number, at))
                action[at] = whole_actions(chosen, len(at), f"opponent {index}")
        self._store(
            step,
            self._parts[number],
            view=latest.view,
            mask=latest.mask,
            seat=np.where(player == 0, latest.seat, np.uint8(NOBODY)),
            action=action,
            log_prob=log_prob,
            value=value,
            oracle=latest.oracle,
            advice=None if latest.advice is None else latest.advice.astype(np.int64),
            advice_shares=latest.advice_shares,
            estimates=latest.estimates,
        )
        return action

    def _players_of(self, number: int) -> NDArray[np.int64]:
        """Returns the player that decides in each row of a part; -1 where the episode is over."""
        seat, players = self._last[number].seat, self._players[self._parts[number].rows]
        over = seat == NOBODY
        return np.where(over, -1, players[np.arange(len(seat)), np.where(over, 0, seat)])

    def _decisions_of(self, number: int, at: NDArray[np.intp]) -> Decisions:
        latest = self._last[number]
        return Decisions(
            view=latest.view[at],
            mask=latest.mask[at],
            seat=latest.seat[at],
            environment=latest.first + at,
            oracle=None if latest.oracle is None else latest.oracle[at],
            advice=None if latest.advice is None else latest.advice[at].astype(np.int64),
            estimates=None if latest.estimates is None else latest.estimates[at],
        )

    def _rollout(self, learner: Learner) -> Rollout:
        n = self.batch.environments
        last_seat, last_value = np.full(n, NOBODY, np.uint8), np.zeros(n, np.float32)
        for number, latest in enumerate(self._last):
            if len(at := np.flatnonzero(self._players_of(number) == 0)):
                last_seat[latest.first + at] = latest.seat[at]
                last_value[latest.first + at] = learner(self._decisions_of(number, at))[2]
        columns = self._buffers.copy()
        reward, over = columns.pop("reward"), columns.pop("over")
        seat, value = columns["seat"], columns["value"]
        advantage, valid = self._advantages(seat, value, reward, over, last_seat, last_value)
        return Rollout(
            advantage=advantage[valid],
            returns=advantage[valid] + value[valid],
            environment=np.nonzero(valid)[1],
            rewards=reward[over],
            ended=np.nonzero(over)[1],
            **{name: column[valid] for name, column in columns.items()},
        )


def advantages(
    seat: NDArray[np.uint8],
    value: NDArray[np.float32],
    reward: NDArray[np.float32],
    over: NDArray[np.bool_],
    last_seat: NDArray[np.uint8],
    last_value: NDArray[np.float32],
    *,
    gamma: float,
    lam: float,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Computes generalized advantage estimation along the decisions of each seat.

    One time step is one decision of the seat. Its reward is all that the seat earns until its next decision
    or the end of the episode. The estimate bootstraps from the value of the seat's next decision.

    Args:
        seat: `uint8[steps, n]`, the seat that decided; 255 for none.
        value: `float32[steps, n]`, the value of the decision for that seat.
        reward: `float32[steps, n, seats]`, the reward of every seat in the step after the decision.
        over: `bool[steps, n]`, whether an episode ended in that step.
        last_seat: `uint8[n]`, the seat that decides after the last step; 255 for none.
        last_value: `float32[n]`, the value of that decision.
        gamma: The discount factor per decision.
        lam: The lambda of the estimation: the weight of the next decision's advantage.

    Returns:
        `float32[steps, n]` advantages, and `bool[steps, n]`, True for the valid ones. An advantage is valid
        if its seat decides again within the steps or just after them, or if its episode ended. Otherwise
        the decision is the seat's last one in the steps, and its outcome is not known yet.
    """
    steps, n, seats = reward.shape
    # By environment and seat: value and advantage of the seat's next decision, and the reward until then.
    next_value, next_advantage, earned = (np.zeros((n, seats), np.float32) for _ in range(3))
    # Whether the seat's next decision is known, or known not to exist because the episode ended.
    known = np.zeros((n, seats), np.bool_)
    rows = np.flatnonzero(last_seat != NOBODY)
    next_value[rows, last_seat[rows]] = last_value[rows]
    known[rows, last_seat[rows]] = True
    out, valid = np.zeros((steps, n), np.float32), np.zeros((steps, n), np.bool_)
    for step in reversed(range(steps)):
        ends = over[step]
        for column in (next_value, next_advantage, earned):
            column[ends] = 0
        known[ends] = True
        earned += reward[step]
        rows = np.flatnonzero(seat[step] != NOBODY)
        decider = rows, seat[step, rows]
        delta = earned[decider] + gamma * next_value[decider] - value[step, rows]
        advantage = np.where(known[decider], delta + gamma * lam * next_advantage[decider], 0)
        out[step, rows], valid[step, rows] = advantage, known[decider]
        next_value[decider], next_advantage[decider], earned[decider] = value[step, rows], advantage, 0
        known[decider] = True
    return out, valid


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
            size: The maximum number of snapshots that it keeps.
            seed: The seed of the random choices: which snapshot leaves, and which plays where.

        Raises:
            ValueError: `size` is less than 1.
        """
        if size < 1:
            raise ValueError(f"`size` must be at least 1; got {size}")
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
        agents = batch.agents
        players = np.zeros(agents.shape, np.int64)
        eligible = np.flatnonzero(agents.sum(axis=1) > 1)
        if not self.members or not len(eligible):
            return players
        at = self._random.choice(eligible, round(share * len(eligible)), replace=False)
        member = self._random.integers(1, len(self.members) + 1, len(at))
        # Picks one of the learner's seats uniformly: the greatest random number, where other seats have 0.
        learner_seat = (self._random.random((len(at), agents.shape[1])) * agents[at]).argmax(axis=1)
        players[at] = np.where(agents[at], member[:, None], 0)
        players[at, learner_seat] = 0
        return players
