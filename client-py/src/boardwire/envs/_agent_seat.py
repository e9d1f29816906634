"""The agent's seat of one table at a time: of a match, or of a batch of one."""

from __future__ import annotations

import contextlib
import operator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._client import Client
from .._match import Match
from .._opposed import Opposed
from .._seat import Seat
from .._spec import GameSpec
from .._types import (
    FORFEITED,
    SUBSTITUTED,
    TERMINATED,
    TRUNCATED,
    BatchStep,
    IllegalActions,
    Observation,
    Outcome,
    Reward,
)
from ..errors import BoardwireError
from ._players import Players
from ._recovery import check_table, dealt


@dataclass(frozen=True)
class Settings:
    """What tables are dealt with."""

    spec: GameSpec
    agent_seat: int
    players: Players
    reward: Reward
    illegal_actions: IllegalActions
    skip_forced: bool


class Shown(NamedTuple):
    """What an environment tells of an `Observation`, which takes longer to make than a step.

    Attributes:
        view: What it may know: `uint8[bytes]`.
        mask: The legal actions: `int8[actions]`.
        ply: How many actions have been applied, by all seats.
        decision: How many decisions the seat has made.
        reward: Its reward.
        terminated: Whether the episode has ended by the rules.
        truncated: Whether it was cut.
        substituted: Whether the seat's last action was illegal and another was played for it.
        outcome: How it ended, once it has.
    """

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    ply: int
    decision: int
    reward: float
    terminated: bool
    truncated: bool
    substituted: bool
    outcome: Outcome | None


def _shown(seen: Observation) -> Shown:
    return Shown(*(getattr(seen, name) for name in Shown._fields))


class AgentSeat(Protocol):
    """The seat, at a table that is there from the first deal to the close.

    Every call but the close raises what the server refuses, and those of `GONE` when the table is gone.
    """

    def deal(self, seed: int) -> Shown:
        """Begins an episode, at another table when the last one is gone."""

    def act(self, action: SupportsIndex) -> Shown:
        """Makes the agent's decision, and those of the others up to its next one."""

    def text(self) -> str:
        """The position as the seat may know it."""

    def close(self) -> None:
        """Closes the table. Another may be dealt at."""


class MatchSeat:
    """The seat of a match against bots."""

    def __init__(self, client: Client, settings: Settings) -> None:
        """Describes the match; the first deal creates it."""
        self._client = client
        self._settings = settings
        self._match: Match | None = None
        self._seat: Seat | None = None

    def deal(self, seed: int) -> Shown:
        """Begins an episode, in another match when the last one is gone."""
        seat = self._seat
        again = None if seat is None else lambda: _shown(seat.reset(seed))
        return dealt(again, lambda: self._begin(seed), self.close)

    def _begin(self, seed: int) -> Shown:
        settings = self._settings
        bots = settings.players.bots
        self._match = self._client.create_match(
            settings.spec.game.id,
            players=[bots.get(seat, "agent") for seat in range(settings.spec.seats)],
            options=settings.spec.options,
            seed=seed,
            reward=settings.reward,
            skip_forced=settings.skip_forced,
            seat_may_seed=True,
            illegal_actions=settings.illegal_actions,
        )
        check_table(settings.spec, self._match.spec)
        self._seat = self._match.join(settings.agent_seat)
        return _shown(self._seat.observe(wait=True))

    def act(self, action: SupportsIndex) -> Shown:
        """Makes the agent's decision, and those of the others up to its next one."""
        return _shown(self._there().act(action))

    def text(self) -> str:
        """The position as the seat may know it."""
        return self._there().observe(text=True).text

    def _there(self) -> Seat:
        if self._seat is None:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        return self._seat

    def close(self) -> None:
        """Closes the match. Another may be dealt."""
        # What cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._seat is not None:
                self._seat.close()
            if self._match is not None:
                self._match.close()
        self._match = self._seat = None


class BatchSeat:
    """The seat of the one environment of a batch."""

    def __init__(self, client: Client, settings: Settings) -> None:
        """Describes the batch; the first deal opens it."""
        self._client = client
        self._settings = settings
        self._table: Opposed | None = None
        self._decision = 0

    def deal(self, seed: int) -> Shown:
        """Begins an episode, in another batch when the last one is gone."""
        table = self._table
        again = None if table is None else lambda: self._show(table.reset(seeds=[seed]), 0)
        return dealt(again, lambda: self._begin(seed), self.close)

    def _begin(self, seed: int) -> Shown:
        settings = self._settings
        batch = self._client.open_batch(
            settings.spec.game.id,
            environments=1,
            seats=settings.spec.seats,
            opponents=settings.players.bots,
            options=settings.spec.options,
            seed=seed,
            reward=settings.reward,
            autoreset="disabled",
            illegal_actions=settings.illegal_actions,
            skip_forced=settings.skip_forced,
            scores=True,
            final_views=True,
            episodes=True,
        )
        self._table = Opposed(batch, settings.agent_seat, settings.players.policies)
        check_table(settings.spec, batch.spec)
        return self._show(self._table.reset(seeds=[seed]), 0)

    def act(self, action: SupportsIndex) -> Shown:
        """Makes the agent's decision, and those of the others up to its next one."""
        if self._table is None:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        return self._show(self._table.step(one_action(action)), self._decision + 1)

    def text(self) -> str:
        """The position as the seat may know it; a server shows none of batches."""
        if self._table is None:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._table.batch._carrier.text(0, self._settings.agent_seat)

    def close(self) -> None:
        """Closes the batch. Another may be dealt."""
        # What cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._table is not None:
                self._table.batch.close()
        self._table = None

    def _show(self, step: BatchStep, decision: int) -> Shown:
        self._decision = decision
        view, mask, _, ply, flags, reward = step._row(0, self._settings.agent_seat)
        return Shown(
            view,
            mask,
            ply,
            decision,
            reward,
            flags & TERMINATED > 0,
            flags & TRUNCATED > 0,
            flags & SUBSTITUTED > 0,
            outcome_of(step, flags),
        )


# Rows of one action each, since to make an array takes longer than to play it.
_ACTIONS = np.arange(256, dtype=np.uint8)[:, None]


def one_action(action: SupportsIndex) -> ArrayLike:
    """An action for the one environment of a batch."""
    index = operator.index(action)
    return _ACTIONS[index] if 0 <= index < len(_ACTIONS) else [index]


def outcome_of(step: BatchStep, flags: int) -> Outcome | None:
    """How the episode of a batch's one environment has ended, if it has by its flags."""
    if not flags & (TERMINATED | TRUNCATED):
        return None
    assert step.scores is not None
    assert step.ranks is not None
    truncated, forfeited = flags & TRUNCATED > 0, flags & FORFEITED > 0
    return Outcome(
        scores=() if truncated or forfeited else tuple(step.scores[0].tolist()),
        ranks=() if truncated else tuple(step.ranks[0].tolist()),
        forfeits=(),
        explanations=(),
    )
