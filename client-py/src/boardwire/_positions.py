"""Positions as values: the caller can keep each position and continue from it more than once.

A dealt position is played in an environment of a batch and shows the view of every seat. To continue from it
a second time, an environment returns to it: from a snapshot, or by replaying its actions. The table saves the
snapshot at the first action from a shared position. A determinization (world) is sampled for one seat and is
stored in a search. It shows the view of the seat that decides.
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
from ._types import NOBODY, BatchStep, RolloutPolicy
from .errors import LOST, BoardwireError, InvalidRequest

_T = TypeVar("_T")

# The number of environments that stay open, each at its last position.
_ENVIRONMENTS = 16
# Worlds per search, places per search for worlds and their copies, and searches that stay open.
_WORLDS, _PLACES, _SEARCHES = 32, 512, 8

#: Game, seats, options, and the address of the server, empty for the private one.
Key = tuple[str, int, tuple[tuple[str, str], ...], str]


@dataclass(eq=False)
class Position:
    """A position, whose seat, mask, reward and views never change.

    Attributes:
        seat: The seat that decides; 255 when the episode is over.
        mask: `int8[actions]`, 0 or 1, the legal actions.
        reward: `float32[seats]`, the rewards of the seats; 0 until the episode is over.
        views: `uint8[bytes]`, the view of each seat that the position shows.
        shared: Whether the caller may continue from this position more than once.
    """

    seat: int
    mask: NDArray[np.int8]
    reward: NDArray[np.float32]
    views: Mapping[int, NDArray[np.uint8]]
    shared: bool = field(default=False, init=False)

    def after(self, action: int) -> Position:
        """Returns the position after a legal action."""
        raise NotImplementedError

    def __deepcopy__(self, memo: object) -> Position:
        """Marks the position as shared and returns it."""
        self.shared = True
        return self


@dataclass(eq=False)
class Dealt(Position):
    """A position of an episode, determined by a seed and actions.

    Attributes:
        table: The table that plays it.
        seed: The seed of the episode.
        actions: The actions of all seats so far.
        snapshot: A snapshot of the position, if one was saved.
    """

    table: Table
    seed: int
    actions: tuple[int, ...]
    snapshot: bytes | None = field(default=None, init=False)

    def after(self, action: int) -> Dealt:
        """Returns the position after an action."""
        return self.table.step(self, action)

    def __reduce__(self) -> tuple[object, ...]:
        """Serializes the table key, seed and actions; deserialization replays them."""
        return _replayed, (self.table.key, self.seed, self.actions)

    def resampled(self, seed: int) -> World:
        """Returns a determinization for the seat that decides.

        Args:
            seed: The seed for new worlds, used only if none is left from an earlier call.

        Raises:
            ValueError: The episode is over.
        """
        return self.table.resample(self, seed)


@dataclass(eq=False)
class World(Position):
    """A position of a world, in a place of a search. The place is freed with the position."""

    of: _Worlds
    place: int

    def after(self, action: int) -> World:
        """Returns the position after an action: in the same place, or in a copy if the position is shared.

        Raises:
            RuntimeError: No place is free, because the caller keeps too many positions of the search.
        """
        if self.shared and not self.of.free:
            raise RuntimeError(f"{_PLACES} states drawn for one position are kept: let go of some")
        place = self.of.free.pop() if self.shared else self.place
        step = self.of.search.advance([self.place], [action], into=[place])
        if not self.shared:
            self.place = -1
        return _world(step, 0, self.of, place)

    def rollout(self, playouts: int, policy: RolloutPolicy, seed: int) -> NDArray[np.float32]:
        """Returns the mean reward of each seat over playouts in the server: `float32[seats]`."""
        if self.seat == NOBODY:
            return self.reward
        ends = self.of.search.rollout([self.place], playouts=playouts, policy=policy, seed=seed)
        earned: NDArray[np.float32] = ends[0]
        return earned

    def __reduce__(self) -> tuple[object, ...]:
        """Refuses serialization, because the server stores the world and deletes it with its search.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a resampled state cannot be serialized: it lies in the server")

    def __del__(self) -> None:
        if self.place >= 0:
            self.of.free.append(self.place)


class Table:
    """One table of a game, with the batches and searches of its positions. For one thread only.

    Attributes:
        key: The game, seats, options and server address.
        spec: The spec of the table.
    """

    def __init__(self, key: Key) -> None:
        """Fetches the spec of the table; the first deal opens a batch."""
        game, seats, options, address = self.key = key
        self._client = shared_client(address or None)
        self.spec = self._client.game(game, seats=seats, options=dict(options))
        # The least recently used environment is the first.
        self._environments: list[_Environment] = []
        self._searches: list[_Worlds] = []
        self._owner = os.getpid()

    def deal(self, seed: int) -> Dealt:
        """Returns the first position of the episode with a seed."""
        return self._played(lambda: self._free().deal(seed))

    def replay(self, seed: int, actions: tuple[int, ...]) -> Dealt:
        """Returns the position determined by a seed and actions."""
        position = self.deal(seed)
        for action in actions:
            position = self.step(position, action)
        return position

    def step(self, position: Dealt, action: int) -> Dealt:
        """Returns the position after an action."""

        def stepped() -> Dealt:
            environment = self._at(position)
            if position.shared and position.snapshot is None:
                position.snapshot = environment.batch.save()
            return environment.step(position, action)

        return self._played(stepped)

    def resample(self, position: Dealt, seed: int) -> World:
        """Returns a determinization for the seat that decides; `seed` is used if new worlds are sampled."""
        if position.seat == NOBODY:
            raise ValueError("the episode is over: nobody has anything to imagine")
        return self._played(lambda: self._world(position, seed))

    def _played(self, play: Callable[[], _T]) -> _T:
        """Calls `play`, and if environments or searches are lost, once more with new environments."""
        if self._owner != os.getpid():
            # After a fork the parent still uses the environments.
            self._restart()
        try:
            return play()
        except LOST:
            self._restart()
            return play()

    def _restart(self) -> None:
        self._environments, self._searches, self._owner = [], [], os.getpid()

    def _world(self, position: Dealt, seed: int) -> World:
        for worlds in self._searches:
            if worlds.of is position and worlds.drawn:
                return worlds.drawn.pop()
        if len(self._searches) == _SEARCHES:
            # If the caller still has positions of its worlds, their next use raises an error.
            with contextlib.suppress(BoardwireError):
                self._searches.pop(0).search.close()
        search = self._at(position).batch.search(_WORLDS, places=_PLACES, seed=seed)
        worlds = _Worlds(search, position)
        self._searches.append(worlds)
        return worlds.drawn.pop()

    def _at(self, position: Dealt) -> _Environment:
        """Returns an environment at a position."""
        for environment in self._environments:
            if environment.at is position:
                self._environments.remove(environment)
                self._environments.append(environment)
                return environment
        environment = self._free()
        environment.go_to(position)
        return environment

    def _free(self) -> _Environment:
        """Returns a new environment, or the least recently used one if the limit is reached."""
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
    """Returns the table of this process for a key."""
    return Table(key)


def _replayed(key: Key, seed: int, actions: tuple[int, ...]) -> Dealt:
    return table(key).replay(seed, actions)


class _Environment:
    """A batch of one environment, and its current position."""

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
        """Loads a snapshot and returns whether it worked; another server may have made the snapshot."""
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
        # The views are in clockwise order from the deciding seat; at the end from seat 0.
        shown, first = (step.final_view[0], 0) if seat == NOBODY else (step.oracle[0], seat)
        views = {(first + at) % len(shown): view for at, view in enumerate(shown)}
        self.at = Dealt(seat, step.mask[0], step.reward[0], views, self._table, seed, actions)
        return self.at


class _Worlds:
    """The worlds sampled for a position, and the free places of their search."""

    def __init__(self, search: Search, of: Dealt) -> None:
        self.search = search
        self.of = of
        self.free = list(range(search.worlds, search.places))
        self.drawn = [_world(search.shown, at, self, at) for at in range(search.worlds)]


def _world(step: BatchStep, row: int, of: _Worlds, place: int) -> World:
    seat = int(step.seat[row])
    shown = of.of.seat if seat == NOBODY else seat
    return World(seat, step.mask[row], step.reward[row], {shown: step.view[row]}, of, place)
