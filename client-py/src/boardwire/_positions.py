"""Positions as values: the caller can keep each position and continue from it more than once.

A dealt position is played in an environment of a batch and shows the view of every seat. An environment
returns to it from a snapshot, saved at the first action from a shared position, or by replaying its actions.
A world (a determinization) is sampled for one seat. A search stores it, and it shows the deciding seat's
view.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import NOBODY, Batch, BatchColumn, BatchStep, BoardwireError, Search, shared_client
from .errors import LOST, InvalidRequest

_T = TypeVar("_T")

# The number of environments that stay open, each at its last position.
_ENVIRONMENTS = 16
# Worlds per search, places per search for worlds and their copies, and searches that stay open.
_SEARCH_WORLDS, _SEARCH_PLACES, _OPEN_SEARCHES = 32, 512, 8

#: Game, seats, options, and the address of the server, empty for the private one.
Key = tuple[str, int, tuple[tuple[str, str], ...], str]


@dataclass(eq=False)
class Position:
    """A position, whose seat, mask, reward and views never change.

    Attributes:
        seat: The seat that decides; 255 when the episode is over.
        mask: `bool[actions]`, True for the legal actions.
        reward: `float32[seats]`, the rewards of the seats; 0 until the episode is over.
        views: `uint8[bytes]`, the view of each seat that the position shows.
        shared: Whether the caller may continue from this position more than once.
    """

    seat: int
    mask: NDArray[np.bool_]
    reward: NDArray[np.float32]
    views: Mapping[int, NDArray[np.uint8]]
    shared: bool = field(default=False, init=False)

    def __deepcopy__(self, memo: object) -> Position:
        """Marks the position as shared and returns it."""
        self.shared = True
        return self


@dataclass(eq=False)
class Dealt(Position):
    """A position of an episode, determined by a table, a seed and actions; `snapshot` is saved if needed."""

    table: Table
    seed: int
    actions: tuple[int, ...]
    snapshot: bytes | None = field(default=None, init=False)

    def after(self, action: int) -> Dealt:
        """Returns the position after a legal action."""

        def play() -> Dealt:
            environment = self.table.environment_at(self)
            if self.shared and self.snapshot is None:
                self.snapshot = environment.batch.save()
            step = environment.batch.step([action])
            return environment.show(step, self.table, self.seed, (*self.actions, action))

        return self.table.with_retry(play)

    def resampled(self, seed: int) -> World:
        """Returns a determinization for the seat that decides; `seed` is for new worlds, if none is left."""
        return self.table.with_retry(lambda: self.table.world(self, seed))

    def __reduce__(self) -> tuple[object, ...]:
        """Serializes the table key, seed and actions; deserialization replays them."""
        return _replayed, (self.table.key, self.seed, self.actions)


@dataclass(eq=False)
class World(Position):
    """A position of a world, in a place of a search. The place is freed with the position."""

    worlds: _Worlds
    place: int

    def after(self, action: int) -> World:
        """Returns the position after a legal action: in the same place, or in a copy if this one is shared.

        Raises:
            RuntimeError: No place is free, because the caller keeps too many positions of the search.
        """
        if self.shared and not self.worlds.free:
            raise RuntimeError(f"one position can have {_SEARCH_PLACES} resampled states: delete some")
        place = self.worlds.free.pop() if self.shared else self.place
        try:
            step = self.worlds.search.advance([self.place], [action], into=[place])
        except BaseException:
            if self.shared:
                self.worlds.free.append(place)
            raise
        if not self.shared:
            self.place = -1
        return self.worlds.show(step, 0, place)

    def rollout(self, playouts: int, policy: str, seed: int) -> NDArray[np.float32]:
        """Returns the mean reward of each seat over playouts: `float32[seats]`."""
        if self.seat == NOBODY:
            return self.reward
        ends = self.worlds.search.rollout([self.place], playouts=playouts, policy=policy, seed=seed)
        return np.asarray(ends[0])

    def __reduce__(self) -> tuple[object, ...]:
        """Raises `TypeError`: the server stores the world and deletes it with its search."""
        raise TypeError("a resampled state cannot be serialized: the server has it")

    def __del__(self) -> None:
        if self.place >= 0:
            self.worlds.free.append(self.place)


class Table:
    """One table of a game, with the batches and searches of its positions. For one thread only.

    Attributes:
        key: The game, seats, options and server address.
        spec: The spec of the table.
    """

    def __init__(self, key: Key) -> None:
        """Fetches the spec of the table; the first deal opens a batch."""
        game, seats, options, address = self.key = key
        client = shared_client(address or None)
        table: dict[str, Any] = {"seats": seats, "options": dict(options)}
        self.spec = client.game(game, **table)
        self._open = functools.partial(client.open_batch, game, environments=1, autoreset="disabled", **table)
        self._restart()

    def _restart(self) -> None:
        # In both lists the least recently used one is the first.
        self._environments: list[_Environment] = []
        self._searches: list[_Worlds] = []
        self._owner = os.getpid()

    def deal(self, seed: int) -> Dealt:
        """Returns the first position of the episode with a seed."""
        return self.with_retry(lambda: self.environment_at(None).deal(self, seed))

    def with_retry(self, play: Callable[[], _T]) -> _T:
        """Calls `play`, and if environments or searches are lost, once more with new environments."""
        if self._owner != os.getpid():
            # After a fork the parent still uses the environments.
            self._restart()
        try:
            return play()
        except LOST:
            self._restart()
            return play()

    def world(self, position: Dealt, seed: int) -> World:
        """Returns a world of a position in which a seat decides."""
        found = next((each for each in self._searches if each.position is position and each.unused), None)
        if found is not None:
            self._searches.remove(found)
        elif len(self._searches) == _OPEN_SEARCHES:
            # If the caller still has positions of its worlds, their next use raises an error.
            with contextlib.suppress(BoardwireError):
                self._searches.pop(0).search.close()
        if found is None:
            batch = self.environment_at(position).batch
            found = _Worlds(batch.search(_SEARCH_WORLDS, places=_SEARCH_PLACES, seed=seed), position)
        self._searches.append(found)
        return found.unused.pop()

    def environment_at(self, position: Dealt | None) -> _Environment:
        """Returns an environment at a position, or at any for None."""
        environment = next((each for each in self._environments if each.at is position), None)
        if environment is None:
            is_full = len(self._environments) == _ENVIRONMENTS
            columns: list[BatchColumn] = ["oracle", "final_views"]
            environment = self._environments[0] if is_full else _Environment(self._open(columns=columns))
        if position is not None and environment.at is not position:
            environment.move_to(position)
        self._environments = [*(each for each in self._environments if each is not environment), environment]
        return environment


#: Returns the table of this process for a key.
table = functools.cache(Table)


def _replayed(key: Key, seed: int, actions: tuple[int, ...]) -> Dealt:
    position = table(key).deal(seed)
    for action in actions:
        position = position.after(action)
    return position


@dataclass(eq=False)
class _Environment:
    """A batch of one environment, and its current position."""

    batch: Batch
    at: Dealt | None = None

    def deal(self, table: Table, seed: int) -> Dealt:
        return self.show(self.batch.reset(seeds=[seed]), table, seed, ())

    def move_to(self, position: Dealt) -> None:
        self.at = None
        if position.snapshot is not None:
            # If another server has made the snapshot, the actions are replayed.
            with contextlib.suppress(InvalidRequest):
                self.batch.load(position.snapshot)
                self.at = position
                return
        self.batch.reset(seeds=[position.seed])
        for action in position.actions:
            self.batch.step([action])
        self.at = position

    def show(self, step: BatchStep, table: Table, seed: int, actions: tuple[int, ...]) -> Dealt:
        """Returns the position of a step, at which the environment is now."""
        assert step.oracle is not None
        assert step.final_view is not None
        seat = int(step.seat[0])
        # The views are in clockwise order from the deciding seat; at the end from seat 0.
        rows, first = (step.final_view[0], 0) if seat == NOBODY else (step.oracle[0], seat)
        views = {(first + row) % len(rows): view for row, view in enumerate(rows)}
        self.at = Dealt(seat, step.mask[0], step.reward[0], views, table, seed, actions)
        return self.at


class _Worlds:
    """The worlds sampled for a position.

    Attributes:
        search: The search, which has their places.
        position: The position that they were sampled for.
        free: The free places of the search.
        unused: The worlds that no caller has got yet.
    """

    def __init__(self, search: Search, position: Dealt) -> None:
        self.search = search
        self.position = position
        self.free = list(range(search.worlds, search.places))
        self.unused = [self.show(search.shown, place, place) for place in range(search.worlds)]

    def show(self, step: BatchStep, row: int, place: int) -> World:
        """Returns the game position that a row of a step shows."""
        seat = int(step.seat[row])
        owner = self.position.seat if seat == NOBODY else seat
        return World(seat, step.mask[row], step.reward[row], {owner: step.view[row]}, self, place)
