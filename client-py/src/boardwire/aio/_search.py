"""Searches: determinizations (sampled worlds) of a position, which the client plays on.

Generated from boardwire/_search.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import contextlib
import secrets
import uuid
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._spec import GameSpec
from .._types import BatchStep, Reward
from ..errors import LOST
from ._connection import ATTEMPTS, MESSAGE_BYTES, Closing, Connection, lease

SEARCH_SECONDS = 600.0
MAX_PLAYOUTS = 1 << 16
_SEARCH_ENDS = "a search ends with its connection: create another search"


class Search(Closing):
    """A set of worlds (determinizations) of one position, for use by one thread or task.

    `Seat.search` and `Batch.search` create it. A world is a state sampled from what its seat knows; all that
    the seat cannot know is resampled. Sampling never reveals the true state. Each world fixes its own future
    luck: the same actions lead to the same course. The client plays all seats of a world. A row shows what
    its seat would see there.

    Each world has a place, a slot of the search. The sampled worlds fill the first places; copies may go to
    the others.

    Attributes:
        id: The search's id.
        spec: The table's description.
        worlds: The number of sampled worlds; the worlds of one environment are adjacent.
        places: The number of places.
        seed: The seed that determines the worlds and their luck.
        shown: The rows of the worlds as they were sampled, as in every step of the search. `seat` is the seat
            that the world was last sampled for while it owes a decision, else the lowest that owes one, or
            255 when the world is over. `view` is the view of `seat`; when the world is over, it is the view
            of the seat that it was sampled for. `ply` counts the actions applied since the sampling.
    """

    def __init__(self, connection: Connection, answer: dict[str, Any], token: str, spec: GameSpec) -> None:
        """Is called by `Seat.search` and `Batch.search`."""
        about = answer["search"]
        self.id: str = about["id"]
        self.spec = spec
        self.worlds: int = about["worlds"]
        self.places: int = about["places"]
        self.seed: int = about["seed"]
        self._shape = _core.Rows(spec.seats, spec.view_bytes, len(spec.actions))
        self.shown: BatchStep = self._shape.step(answer["step"])
        self._connection = connection
        self._token = token
        self._lease = lease(self, connection, "SearchService/CloseSearch", {"search_id": self.id}, token)

    async def advance(
        self,
        worlds: ArrayLike,
        actions: ArrayLike,
        *,
        into: ArrayLike | None = None,
        timeout: float | None = SEARCH_SECONDS,
    ) -> BatchStep:
        """Applies one action to each of these worlds, in place or in copies.

        Args:
            worlds: `int[n]`, the places of the worlds; all different, unless `into` is given.
            actions: `int[n]`, the index of each action.
            into: `int[n]`, the places of the copies, all different. Copies overwrite what these places held;
                other worlds do not change. Without it, the worlds themselves change.
            timeout: Seconds; None for no limit.

        Returns:
            The rows of the worlds or copies that were played, in the order of the arguments.

        Raises:
            IllegalAction: An action does not exist or is not legal in its world; nothing was played.
            EpisodeOver: A world is over; nothing was played.
            InvalidRequest: A place does not exist, is empty, or is named twice; nothing was played.
        """
        request = {
            "search_id": self.id,
            "worlds": _column(worlds, "<u4", "worlds"),
            "actions": _column(actions, "u1", "actions"),
            "into": b"" if into is None else _column(into, "<u4", "into"),
        }
        answer = await self._connection.call(
            "SearchService/Advance", request, timeout=timeout, token=self._token, advice=_SEARCH_ENDS
        )
        step: BatchStep = self._shape.step(answer["step"])
        return step

    async def redeterminize(
        self,
        worlds: ArrayLike,
        *,
        into: ArrayLike | None = None,
        seed: SupportsIndex | None = None,
        timeout: float | None = SEARCH_SECONDS,
    ) -> BatchStep:
        """Samples worlds again: each from what the deciding seat of a world knows there.

        So that seat does not choose by what only the seat of the search knows, such as its hand. The samples
        depend on the world alone, so they do not reveal the true state either.

        Args:
            worlds: `int[n]`, the places of the worlds; all different, unless `into` is given.
            into: `int[n]`, the places of the samples, all different. Without it, they replace their worlds.
            seed: The seed of the samples and their luck; the server draws one by default.
            timeout: Seconds; None for no limit.

        Returns:
            The rows of the samples, in the order of the arguments. `ply` counts from this sampling.

        Raises:
            EpisodeOver: A world is over; nothing was sampled.
            InvalidRequest: A place does not exist, is empty, or is named twice; nothing was sampled.
        """
        request = {
            "search_id": self.id,
            "worlds": _column(worlds, "<u4", "worlds"),
            "into": b"" if into is None else _column(into, "<u4", "into"),
            "seed": seed,
        }
        answer = await self._connection.call(
            "SearchService/Redeterminize", request, timeout=timeout, token=self._token, advice=_SEARCH_ENDS
        )
        step: BatchStep = self._shape.step(answer["step"])
        return step

    async def rollout(
        self,
        worlds: ArrayLike,
        *,
        playouts: int = 1,
        policy: str = "estimate",
        plies: int | None = None,
        seed: SupportsIndex | None = None,
        timeout: float | None = SEARCH_SECONDS,
    ) -> NDArray[np.float32]:
        """Plays copies of worlds on the server, to the end or for some plies, and returns the mean rewards.

        Args:
            worlds: `int[n]`, the places of the worlds.
            playouts: The number of playouts of each world; n times `playouts` is at most 65,536. Copies of
                one world share the luck of their playouts; different worlds do not.
            policy: The policy at all seats: `estimate` chooses the action that the game's own estimate rates
                best one ply ahead, `random` a random one; `policy:NAME` and `policy:NAME:argmax` follow a
                network of the server, which evaluates up to 16 worlds at a time.
            plies: The most decisions in a playout, of all seats together. If it is not over then, it counts
                the margin that the policy expects; 0 values the worlds as they are. Needs a policy whose file
                states the unit of its values, and a search with `reward="margin"`.
            seed: The seed of the luck; the server draws one by default.
            timeout: Seconds; None for no limit.

        Returns:
            `float32[n, seats]`, the mean reward of every seat; a playout truncated at its greatest length
            counts 0. After `plies`, each seat's value is the network's for its own view. Networks learn the
            views of deciding seats, so in a game of two, a seat that owes no decision has the negative
            value of the other.

        Raises:
            InvalidRequest: A place does not exist or is empty, there are too many playouts, the policy does
                not exist, or `plies` is not allowed.
            Gone: The network failed, such as by a value that is not a number.
        """
        request = {
            "search_id": self.id,
            "worlds": _column(worlds, "<u4", "worlds"),
            "playouts": playouts,
            "policy": policy,
            "plies": plies,
            "seed": seed,
        }
        answer = await self._connection.call(
            "SearchService/Rollout", request, timeout=timeout, token=self._token, advice=_SEARCH_ENDS
        )
        return np.frombuffer(answer["reward"], dtype="<f4").reshape(-1, self.spec.seats)

    async def values(
        self,
        *,
        playouts: int = 1,
        policy: str = "estimate",
        plies: int | None = None,
        seed: SupportsIndex | None = None,
        timeout: float | None = SEARCH_SECONDS,
    ) -> NDArray[np.float32]:
        """Estimates by playouts what each legal action of each world earns the deciding seat.

        Use the values as training targets or to choose actions: `mc` compares their means over the worlds of
        a decision. The copies go to the places after the worlds. Call it before you play any world.

        Args:
            playouts: The number of playouts of each action. The actions of one world share their luck.
            policy: The policy at all seats after the action, as in `rollout`.
            plies: The most decisions after the action, as in `rollout`; with 0, the network values the
                position after each action.
            seed: The seed of the luck; random by default.
            timeout: Seconds of each call; None for no limit.

        Returns:
            `float32[worlds, actions]`, NaN where an action is not legal.

        Raises:
            ValueError: The search has no places for copies.
            InvalidRequest: There are too many playouts, or as `rollout`.
        """
        if self.places == self.worlds:
            raise ValueError(
                f"`values` needs places for copies: open the search with more than {self.worlds} places"
            )
        room = min(self.places - self.worlds, max(MAX_PLAYOUTS // max(playouts, 1), 1))
        world, action = np.nonzero(self.shown.mask)
        seed = secrets.randbits(64) if seed is None else seed
        values = np.full(self.shown.mask.shape, np.nan, np.float32)
        for first in range(0, len(world), room):
            worlds, actions = (world[first : first + room], action[first : first + room])
            into = self.worlds + np.arange(len(worlds))
            await self.advance(worlds, actions, into=into, timeout=timeout)
            rewards = await self.rollout(
                into, playouts=playouts, policy=policy, plies=plies, seed=seed, timeout=timeout
            )
            values[worlds, actions] = rewards[np.arange(len(worlds)), self.shown.seat[worlds]]
        return values

    async def close(self) -> None:
        """Releases the worlds. Does nothing if the server no longer has them or the connection is lost."""
        if not self._lease.alive:
            return
        with contextlib.suppress(*LOST):
            await self._connection.call(
                "SearchService/CloseSearch", {"search_id": self.id}, timeout=SEARCH_SECONDS, token=self._token
            )
        self._lease.detach()

    def __repr__(self) -> str:
        """Names the game and the search, but never shows the token."""
        return f"<Search {self.id} of {self.places} places of {self.spec.id}>"


async def create_search(
    connection: Connection,
    token: str,
    spec: GameSpec,
    request: dict[str, Any],
    *,
    worlds: int,
    places: int | None,
    seed: SupportsIndex | None,
    reward: Reward,
    skip_forced: bool,
    timeout: float | None,
) -> Search:
    """Creates a search of the match or batch that `request` names."""
    if worlds < 1:
        raise ValueError(f"`worlds` must be at least 1; got {worlds}")
    request |= {
        "worlds": worlds,
        "places": places or 0,
        "seed": seed,
        "reward": reward,
        "skip_forced": skip_forced,
        "max_message_bytes": MESSAGE_BYTES,
        "request_id": str(uuid.uuid4()),
    }
    answer = await connection.call(
        "SearchService/CreateSearch",
        request,
        timeout=timeout,
        token=token,
        attempts=ATTEMPTS,
        advice=_SEARCH_ENDS,
    )
    return Search(connection, answer, token, spec)


def _column(values: ArrayLike, dtype: str, name: str) -> bytes:
    """Converts a one-dimensional array of integers to bytes.

    Raises:
        ValueError: The values are not a row of integers, or one does not fit the dtype.
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and (not np.issubdtype(array.dtype, np.integer))):
        raise ValueError(
            f"`{name}` must be a one-dimensional array of integers; got {array.dtype}{list(array.shape)}"
        )
    maximum = np.iinfo(dtype).max
    if array.size and (not (array.min() >= 0 and array.max() <= maximum)):
        raise ValueError(f"`{name}` must be from 0 to {maximum}; got {array.min()} to {array.max()}")
    return array.astype(dtype).tobytes()
