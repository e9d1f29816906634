"""All seats of one table at a time: of a match, each on a stream of its own, or of a batch of one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .._spec import GameSpec
from .._sync import Batch, Client, Match, Seat
from .._twins import run
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
            players=["remote"] * spec.seats,
            options=spec.options,
            seed=seed,
            reward=self._settings.reward,
            illegal_actions=self._settings.illegal_actions,
        )
        check_table(spec, self._match.spec)
        self._seats = [self._match.join(seat).stream() for seat in range(spec.seats)]
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


class BatchSeats:
    """The seats of the one environment of a batch, which tells its owner what every seat may know."""

    def __init__(self, client: Client, settings: TableSettings) -> None:
        """Describes the batch; the first deal opens it."""
        self._client = client
        self._settings = settings
        self._batch: Batch | None = None
        self._step: BatchStep | None = None
        self._decisions = [0] * settings.spec.seats
        self._substituted = [False] * settings.spec.seats

    def deal(self, seed: int) -> list[Observation]:
        """Begins an episode, in another batch when the last one is gone."""
        self._step, batch = None, self._batch
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
        self._step = batch.reset(seeds=[seed])
        self._decisions = [0] * self._settings.spec.seats
        self._substituted = [False] * self._settings.spec.seats

    def act(self, seat: int, action: Any) -> Observation:
        """Makes the decision of the lowest seat that owes one."""
        batch, step = self._there()
        assert step.seat[0] == seat, "decisions are made in the order of seats"
        self._step = batch.step(one_action(action))
        self._decisions[seat] += 1
        self._substituted[seat] = bool(self._step.flags[0] & SUBSTITUTED)
        return self.seen(seat)

    def seen(self, seat: int) -> Observation:
        """What a seat may know."""
        _, step = self._there()
        spec, first, flags = self._settings.spec, int(step.seat[0]), int(step.flags[0])
        assert step.episode is not None
        assert step.oracle is not None
        assert step.oracle_mask is not None
        assert step.final_view is not None
        if first == NOBODY:
            view, masks = step.final_view[0, seat], np.zeros((spec.seats, spec.mask_bytes), np.uint8)
        else:
            view = step.oracle[0, (seat - first) % spec.seats]
            masks = np.roll(step.oracle_mask[0], first, axis=0)
        return Observation(
            episode=int(step.episode[0]),
            ply=int(step.ply[0]),
            decision=self._decisions[seat],
            view=view,
            mask=unpacked_mask(masks[seat], step.action_count),
            pending=_any(masks),
            reward=float(step.reward[0, seat]),
            terminated=flags & TERMINATED > 0,
            truncated=flags & TRUNCATED > 0,
            substituted=self._substituted[seat],
            outcome=outcome_of(step),
            text="",
            actions=(),
        )

    def text(self, seat: int) -> str:
        """The position as a seat may know it; a server shows none of batches."""
        batch, _ = self._there()
        return run(batch._carrier.text(0, seat))

    def _there(self) -> tuple[Batch, BatchStep]:
        if self._batch is None or self._step is None:
            raise gymnasium.error.ResetNeeded(_NO_DEAL)
        return self._batch, self._step

    def close(self) -> None:
        """Closes the batch. Another may be dealt."""
        # What cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._batch is not None:
                self._batch.close()
        self._batch = self._step = None


def _any(masks: NDArray[np.uint8]) -> tuple[int, ...]:
    """The seats that may choose something."""
    return tuple(masks.any(axis=1).nonzero()[0].tolist())
