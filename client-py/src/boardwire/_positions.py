"""Positions as values: each can be kept, and be played on more than once.

A position that was dealt belongs to an environment of a batch, which shows what every seat may know. Where it
is played on a second time, an environment is brought there again: by a snapshot, which is taken when a
position that is shared is first left, or by playing its actions again. A world is drawn for one seat and lies
in a search; it shows what the seat may know that decides.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._search import Search
from ._shared import shared_client
from ._types import NOBODY, BatchStep, RolloutPolicy, WorldStep
from .errors import LOST, BoardwireError, InvalidRequest

_T = TypeVar("_T")

# Environments that are kept where they were left.
_ENVIRONMENTS = 16
# Worlds that are drawn at once for a seat, places for copies of them, and searches that are kept.
_WORLDS, _PLACES, _SEARCHES = 32, 512, 8

#: Game, seats, options, and the address of the server, empty for the private one.
Key = tuple[str, int, tuple[tuple[str, str], ...], str]


@dataclass(eq=False)
class Position:
    """What is known of a position. Nothing that is known of it changes.

    Attributes:
        seat: The seat that decides; 255 when the episode is over.
        mask: `int8[actions]`, 0 or 1, what it may choose.
        reward: `float32[seats]`, what the seats have earned; 0 until the episode is over.
        views: `uint8[bytes]` of each seat, what it may know, as far as it is shown.
        shared: Whether it may be played on more than once.
    """

    seat: int
    mask: NDArray[np.int8]
    reward: NDArray[np.float32]
    views: Mapping[int, NDArray[np.uint8]]
    shared: bool = field(default=False, init=False)

    def after(self, action: int) -> Position:
        """The position after an action that is legal here."""
        raise NotImplementedError

    def __deepcopy__(self, memo: object) -> Position:
        """Is the same, shared."""
        self.shared = True
        return self


@dataclass(eq=False)
class Dealt(Position):
    """A position of an episode, which follows from a seed and actions.

    Attributes:
        table: Where it is played.
        seed: The seed of the episode.
        actions: All that were applied.
    """

    table: Table
    seed: int
    actions: tuple[int, ...]
    snapshot: bytes | None = field(default=None, init=False)

    def after(self, action: int) -> Dealt:
        """The position after an action."""
        return self.table.step(self, action)

    def __reduce__(self) -> tuple[object, ...]:
        """Is played again elsewhere."""
        return _replayed, (self.table.key, self.seed, self.actions)

    def resampled(self, seed: int) -> World:
        """A world that the seat can believe in which decides here.

        Args:
            seed: The seed of the worlds that are drawn, where none is left of those drawn before.

        Raises:
            ValueError: The episode is over.
        """
        return self.table.resample(self, seed)


@dataclass(eq=False)
class World(Position):
    """A position of a world, in a place of a search, which is free again when nobody has the position."""

    of: _Worlds
    place: int

    def after(self, action: int) -> World:
        """The position after an action: in the same place, or in a copy where the position is shared.

        Raises:
            RuntimeError: No place is left, since too many positions of one search are kept.
        """
        if self.shared and not self.of.free:
            raise RuntimeError(f"{_PLACES} states drawn for one position are kept: let go of some")
        place = self.of.free.pop() if self.shared else self.place
        step = self.of.search.advance([self.place], [action], into=[place])
        if not self.shared:
            self.place = -1
        return _world(step, 0, self.of, place)

    def rollout(self, playouts: int, policy: RolloutPolicy, seed: int) -> NDArray[np.float32]:
        """What the seats earn on average in playouts in the server: `float32[seats]`."""
        if self.seat == NOBODY:
            return self.reward
        ends = self.of.search.rollout([self.place], playouts=playouts, policy=policy, seed=seed)
        earned: NDArray[np.float32] = ends[0]
        return earned

    def __reduce__(self) -> tuple[object, ...]:
        """Lies in the server and ends with its search.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a resampled state cannot be serialized: it lies in the server")

    def __del__(self) -> None:
        if self.place >= 0:
            self.of.free.append(self.place)


class Table:
    """Where positions of one table of a game are played; for one thread.

    Attributes:
        key: What tells it from others.
        spec: The table's description.
    """

    def __init__(self, key: Key) -> None:
        """Describes the table; the first deal opens a batch."""
        game, seats, options, address = self.key = key
        self._client = shared_client(address or None)
        self.spec = self._client.game(game, seats=seats, options=dict(options))
        # That which was used the longest ago is the first.
        self._environments: list[_Environment] = []
        self._searches: list[_Worlds] = []
        self._owner = os.getpid()

    def deal(self, seed: int) -> Dealt:
        """The first position of the episode with a seed."""
        return self._played(lambda: self._free().deal(seed))

    def replay(self, seed: int, actions: tuple[int, ...]) -> Dealt:
        """The position that follows from a seed and actions."""
        position = self.deal(seed)
        for action in actions:
            position = self.step(position, action)
        return position

    def step(self, position: Dealt, action: int) -> Dealt:
        """The position after an action."""

        def stepped() -> Dealt:
            environment = self._at(position)
            if position.shared and position.snapshot is None:
                position.snapshot = environment.batch.save()
            return environment.step(position, action)

        return self._played(stepped)

    def resample(self, position: Dealt, seed: int) -> World:
        """A world that the seat can believe in which decides at a position; the seed is that of new ones."""
        if position.seat == NOBODY:
            raise ValueError("the episode is over: nobody has anything to imagine")
        return self._played(lambda: self._world(position, seed))

    def _played(self, play: Callable[[], _T]) -> _T:
        """Plays where positions are, and once more in new environments when those there were are gone."""
        if self._owner != os.getpid():
            # The parent goes on with them.
            self._begin_anew()
        try:
            return play()
        except LOST:
            self._begin_anew()
            return play()

    def _begin_anew(self) -> None:
        self._environments, self._searches, self._owner = [], [], os.getpid()

    def _world(self, position: Dealt, seed: int) -> World:
        for worlds in self._searches:
            if worlds.of is position and worlds.drawn:
                return worlds.drawn.pop()
        if len(self._searches) == _SEARCHES:
            # Whoever has worlds of it still is told that the search is gone.
            with contextlib.suppress(BoardwireError):
                self._searches.pop(0).search.close()
        search = self._at(position).batch.search(_WORLDS, places=_PLACES, seed=seed)
        worlds = _Worlds(search, position)
        self._searches.append(worlds)
        return worlds.drawn.pop()

    def _at(self, position: Dealt) -> _Environment:
        """An environment at a position."""
        for environment in self._environments:
            if environment.at is position:
                self._environments.remove(environment)
                self._environments.append(environment)
                return environment
        environment = self._free()
        environment.go_to(position)
        return environment

    def _free(self) -> _Environment:
        """An environment that may be used for anything."""
        if len(self._environments) < _ENVIRONMENTS:
            self._environments.append(_Environment(self, self._open()))
        else:
            self._environments.append(self._environments.pop(0))
        return self._environments[-1]

    def _open(self) -> Batch:
        spec = self.spec
        return self._client.open_batch(
            spec.game.id,
            environments=1,
            seats=spec.seats,
            options=spec.options,
            autoreset="disabled",
            columns=["oracle", "final_views"],
        )


@functools.cache
def table(key: Key) -> Table:
    """The table of this process for a key."""
    return Table(key)


def _replayed(key: Key, seed: int, actions: tuple[int, ...]) -> Dealt:
    return table(key).replay(seed, actions)


class _Environment:
    """A batch of one environment, and where it is."""

    def __init__(self, table: Table, batch: Batch) -> None:
        self._table = table
        self.batch = batch
        self.at: Dealt | None = None

    def deal(self, seed: int) -> Dealt:
        return self._show(self.batch.reset(seeds=[seed]), seed, ())

    def step(self, position: Dealt, action: int) -> Dealt:
        return self._show(self.batch.step([action]), position.seed, (*position.actions, action))

    def go_to(self, position: Dealt) -> None:
        self.at = None
        if not self._load(position.snapshot):
            self.batch.reset(seeds=[position.seed])
            for action in position.actions:
                self.batch.step([action])
        self.at = position

    def _load(self, snapshot: bytes | None) -> bool:
        """Whether it is at a snapshot now, which another server may have made."""
        if snapshot is None:
            return False
        try:
            self.batch.load(snapshot)
        except InvalidRequest:
            return False
        return True

    def _show(self, step: BatchStep, seed: int, actions: tuple[int, ...]) -> Dealt:
        assert step.oracle is not None, "the batch was opened with it"
        assert step.final_view is not None, "the batch was opened with it"
        seat = int(step.seat[0])
        # From the deciding seat on clockwise; at the end from the first.
        shown, first = (step.final_view[0], 0) if seat == NOBODY else (step.oracle[0], seat)
        views = {(first + at) % len(shown): view for at, view in enumerate(shown)}
        self.at = Dealt(seat, step.mask[0], step.reward[0], views, self._table, seed, actions)
        return self.at


class _Worlds:
    """The worlds drawn for a position, and the places of their search."""

    def __init__(self, search: Search, of: Dealt) -> None:
        self.search = search
        self.of = of
        self.free = list(range(search.worlds, search.places))
        self.drawn = [_world(search.shown, at, self, at) for at in range(search.worlds)]


def _world(step: WorldStep, row: int, of: _Worlds, place: int) -> World:
    seat = int(step.seat[row])
    shown = of.of.seat if seat == NOBODY else seat
    return World(seat, step.mask[row], step.reward[row], {shown: step.view[row]}, of, place)
