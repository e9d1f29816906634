"""All seats of one table at a time: of a match, each on a stream of its own, or of a batch of one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium

from .._batch import Batch
from .._client import Client
from .._match import Match
from .._seat import Seat
from .._spec import GameSpec
from .._types import (
    NOBODY,
    SUBSTITUTED,
    TERMINATED,
    TRUNCATED,
    BatchStep,
    IllegalActions,
    Observation,
    Reward,
    unpacked_mask,
)
from ..errors import BoardwireError
from ._agent_seat import one_action, outcome_of
from ._recovery import check_table, dealt

_NO_DEAL = "the last reset failed: reset the environment"


@dataclass(frozen=True)
class TableSettings:
    """What tables are dealt with."""

    spec: GameSpec
    reward: Reward
    illegal_actions: IllegalActions


class TableSeats(Protocol):
    """The seats, at a table that is there from the first deal to the close.

    Every call but the close raises what the server refuses, and those of `GONE` when the table is gone.
    """

    def deal(self, seed: int) -> list[Observation]:
        """Begins an episode, at another table when the last one is gone.

        Returns:
            What the seats see, in their order, where all of them had to be asked; else nothing.
        """

    def act(self, seat: int, action: Any) -> Observation:
        """Makes the decision of a seat, the lowest that owes one."""

    def seen(self, seat: int) -> Observation:
        """What a seat may know."""

    def text(self, seat: int) -> str:
        """The position as a seat may know it."""

    def close(self) -> None:
        """Closes the table. Another may be dealt at."""


class MatchSeats:
    """The seats of a match."""

    def __init__(self, client: Client, settings: TableSettings) -> None:
        """Describes the match; the first deal creates it."""
        self._client = client
        self._settings = settings
        self._match: Match | None = None
        self._seats: list[Seat] = []

    def deal(self, seed: int) -> list[Observation]:
        """Begins an episode, in another match when the last one is gone."""
        match = self._match
        again = None if match is None else lambda: self._begin(match, seed)
        return dealt(again, lambda: self._look(self._created(seed)), self.close)

    def _begin(self, match: Match, seed: int) -> list[Observation]:
        match.reset(seed)
        return self._look(self._seats)

    def _created(self, seed: int) -> list[Seat]:
        spec = self._settings.spec
        self._match = self._client.create_match(
            spec.game.id,
            players=["agent"] * spec.seats,
            options=spec.options,
            seed=seed,
            reward=self._settings.reward,
            illegal_actions=self._settings.illegal_actions,
        )
        check_table(spec, self._match.spec)
        self._seats = [self._match.join(seat) for seat in range(spec.seats)]
        return self._seats

    def _look(self, seats: list[Seat]) -> list[Observation]:
        # A decision names its episode, so every seat has to have seen this one.
        return [seat.observe() for seat in seats]

    def act(self, seat: int, action: Any) -> Observation:
        """Makes the decision of a seat."""
        return self._there(seat).act(action, wait=False)

    def seen(self, seat: int) -> Observation:
        """What a seat may know."""
        return self._there(seat).observe()

    def text(self, seat: int) -> str:
        """The position as a seat may know it."""
        return self._there(seat).observe(text=True).text

    def _there(self, seat: int) -> Seat:
        if not self._seats:
            raise gymnasium.error.ResetNeeded(_NO_DEAL)
        return self._seats[seat]

    def close(self) -> None:
        """Closes the match. Another may be dealt."""
        # What cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            for seat in self._seats:
                seat.close()
            if self._match is not None:
                self._match.close()
        self._match, self._seats = None, []


class _Position:
    """What every seat may know at a step of a batch of one environment.

    Attributes:
        first: The lowest seat that owes a decision, or nobody.
        substituted: Whether the last action was illegal and another was played for it.
    """

    def __init__(self, step: BatchStep, seats: int) -> None:
        """Reads what does not depend on the seat."""
        _, _, self._episode, self._ply, self._flags, _ = step._row(0, 0)
        assert step.oracle_mask is not None
        self._step = step
        self._seats = seats
        self.first = int(step.seat[0])
        self.substituted = self._flags & SUBSTITUTED > 0
        # From the first seat on clockwise; 0 for all when it is over.
        self._masks = step.oracle_mask[0]
        due = self._masks.any(axis=1).nonzero()[0].tolist()
        self._pending = tuple(sorted((self.first + at) % seats for at in due))
        self._outcome = outcome_of(step, self._flags)

    def seen(self, seat: int, decision: int, substituted: bool) -> Observation:
        """What a seat may know, which has made so many decisions."""
        step, at = self._step, (seat - self.first) % self._seats
        assert step.oracle is not None
        assert step.final_view is not None
        assert self._episode is not None
        return Observation(
            episode=self._episode,
            ply=self._ply,
            decision=decision,
            view=step.final_view[0, seat] if self.first == NOBODY else step.oracle[0, at],
            mask=unpacked_mask(self._masks[at], step.action_count),
            pending=self._pending,
            reward=float(step.reward[0, seat]),
            terminated=self._flags & TERMINATED > 0,
            truncated=self._flags & TRUNCATED > 0,
            substituted=substituted,
            outcome=self._outcome,
            text="",
            actions=(),
        )


class BatchSeats:
    """The seats of the one environment of a batch, which tells its owner what every seat may know."""

    def __init__(self, client: Client, settings: TableSettings) -> None:
        """Describes the batch; the first deal opens it."""
        self._client = client
        self._settings = settings
        self._batch: Batch | None = None
        self._position: _Position | None = None
        self._decisions = [0] * settings.spec.seats
        self._substituted = [False] * settings.spec.seats

    def deal(self, seed: int) -> list[Observation]:
        """Begins an episode, in another batch when the last one is gone."""
        self._position, batch = None, self._batch
        again = None if batch is None else lambda: self._begin(batch, seed)
        dealt(again, lambda: self._begin(self._opened(seed), seed), self.close)
        return []

    def _opened(self, seed: int) -> Batch:
        spec = self._settings.spec
        self._batch = self._client.open_batch(
            spec.game.id,
            environments=1,
            seats=spec.seats,
            options=spec.options,
            seed=seed,
            reward=self._settings.reward,
            autoreset="disabled",
            illegal_actions=self._settings.illegal_actions,
            scores=True,
            final_views=True,
            episodes=True,
            oracle=True,
        )
        check_table(spec, self._batch.spec)
        return self._batch

    def _begin(self, batch: Batch, seed: int) -> None:
        seats = self._settings.spec.seats
        self._position = _Position(batch.reset(seeds=[seed]), seats)
        self._decisions = [0] * seats
        self._substituted = [False] * seats

    def act(self, seat: int, action: Any) -> Observation:
        """Makes the decision of the lowest seat that owes one."""
        batch, position = self._there()
        assert position.first == seat, "decisions are made in the order of seats"
        self._position = _Position(batch.step(one_action(action)), self._settings.spec.seats)
        self._decisions[seat] += 1
        self._substituted[seat] = self._position.substituted
        return self.seen(seat)

    def seen(self, seat: int) -> Observation:
        """What a seat may know."""
        _, position = self._there()
        return position.seen(seat, self._decisions[seat], self._substituted[seat])

    def text(self, seat: int) -> str:
        """The position as a seat may know it; a server shows none of batches."""
        batch, _ = self._there()
        return batch._carrier.text(0, seat)

    def _there(self) -> tuple[Batch, _Position]:
        if self._batch is None or self._position is None:
            raise gymnasium.error.ResetNeeded(_NO_DEAL)
        return self._batch, self._position

    def close(self) -> None:
        """Closes the batch. Another may be dealt."""
        # What cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._batch is not None:
                self._batch.close()
        self._batch = self._position = None
