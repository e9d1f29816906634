"""A search: worlds that a seat can believe in, to be played on at will.

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
from ._closing import Closing
from ._connection import ATTEMPTS, MESSAGE_BYTES, Connection, lease
from .._spec import GameSpec
from .._types import Reward, RolloutPolicy, WorldStep
from ..errors import LOST
SEARCH_SECONDS = 600.0
MAX_PLAYOUTS = 1 << 16
_ENDS = 'a search ends with the connection it was begun over: begin another search'

class Search(Closing):
    """Worlds that a seat can believe in, each in a place of its own; for one thread or task.

    `Seat.search` and `Batch.search` begin one. In each world all is drawn anew that its seat cannot know,
    from what the seat knows alone: no number of worlds tells what is true. A world has luck of its own, so
    the same actions lead to the same course. In a world all seats are yours to play: what a row shows is what
    its seat would see there.

    The worlds drawn fill the first places; copies may go to the others.

    Attributes:
        id: The search's id.
        spec: The table's description.
        worlds: How many worlds were drawn; those of one environment lie beside each other.
        places: How many places there are.
        seed: The seed from which worlds and luck follow.
        shown: The rows of the worlds as they were drawn.
    """

    def __init__(self, connection: Connection, answer: dict[str, Any], token: str, spec: GameSpec) -> None:
        """Is called by `Seat.search` and `Batch.search`."""
        about = answer['search']
        self.id: str = about['id']
        self.spec = spec
        self.worlds: int = about['worlds']
        self.places: int = about['places']
        self.seed: int = about['seed']
        self._shape = _core.Rows(spec.seats, spec.view_bytes, len(spec.actions))
        self.shown: WorldStep = self._shape.step(answer['step'])
        self._connection = connection
        self._token = token
        self._closed = False
        self._lease = lease(self, connection, 'SearchService/CloseSearch', {'search_id': self.id}, token)

    async def advance(self, worlds: ArrayLike, actions: ArrayLike, *, into: ArrayLike | None=None, timeout: float=SEARCH_SECONDS) -> WorldStep:
        """Makes the decisions that some worlds show: in their places, or in copies.

        Args:
            worlds: `int[n]`, the places of the worlds; all different, unless copies are played.
            actions: `int[n]`, the index of each action.
            into: `int[n]`, the places of the copies, all different, whatever was there before; the worlds
                stay as they are unless they lie there. Left out, the worlds themselves are played.
            timeout: Seconds.

        Returns:
            The rows of what was played, in this order.

        Raises:
            IllegalAction: There is no such action, or it is not legal there; nothing was played.
            EpisodeOver: A world is over; nothing was played.
            InvalidRequest: A place is none, empty, or named twice; nothing was played.
        """
        request = {'search_id': self.id, 'worlds': _column(worlds, '<u4', 'worlds'), 'actions': _column(actions, 'u1', 'actions'), 'into': b'' if into is None else _column(into, '<u4', 'into')}
        answer = await self._connection.call('SearchService/Advance', request, timeout=timeout, token=self._token, advice=_ENDS)
        step: WorldStep = self._shape.step(answer['step'])
        return step

    async def rollout(self, worlds: ArrayLike, *, playouts: int=1, policy: RolloutPolicy='estimate', seed: SupportsIndex | None=None, timeout: float=SEARCH_SECONDS) -> NDArray[np.float32]:
        """Plays copies of worlds to their end in the server, and tells what came of it.

        Args:
            worlds: `int[n]`, the places of the worlds.
            playouts: How often each is played, with luck that all worlds share: the first of all, the second
                of all, and so on. n times `playouts` is at most 65,536.
            policy: Who plays at all seats: `estimate`, what the game's own estimate likes best one ply ahead,
                or `random`.
            seed: The seed from which the luck follows; the server draws one when it is left out.
            timeout: Seconds.

        Returns:
            `float32[n, seats]`, the mean reward of every seat; a playout cut at its greatest length counts 0.

        Raises:
            InvalidRequest: A place is none or empty, or there are too many playouts.
        """
        request = {'search_id': self.id, 'worlds': _column(worlds, '<u4', 'worlds'), 'playouts': playouts, 'policy': policy, 'seed': seed}
        answer = await self._connection.call('SearchService/Rollout', request, timeout=timeout, token=self._token, advice=_ENDS)
        return np.frombuffer(answer['reward'], dtype='<f4').reshape(-1, self.spec.seats)

    async def values(self, *, playouts: int=1, policy: RolloutPolicy='estimate', seed: SupportsIndex | None=None, timeout: float=SEARCH_SECONDS) -> NDArray[np.float32]:
        """Tells what each legal action earns its seat in each world, when all then play on to the end.

        To learn from, or to choose by: the mean over the worlds of a decision is what `mc` goes by. Copies go
        to the places behind the worlds; call it before any of them has been played.

        Args:
            playouts: How often each is played, with luck that all actions and worlds share.
            policy: Who plays on, as in `rollout`.
            seed: The seed from which the luck follows; drawn when it is left out.
            timeout: Seconds of each call.

        Returns:
            `float32[worlds, actions]`, NaN where an action is not legal.

        Raises:
            ValueError: The search has no places for copies.
            InvalidRequest: There are too many playouts.
        """
        if self.places == self.worlds:
            raise ValueError(f'copies need places: {self.worlds} worlds have {self.places} places')
        room = min(self.places - self.worlds, max(MAX_PLAYOUTS // max(playouts, 1), 1))
        world, action = np.nonzero(self.shown.mask)
        seed = secrets.randbits(64) if seed is None else seed
        values = np.full(self.shown.mask.shape, np.nan, np.float32)
        for first in range(0, len(world), room):
            of, done = (world[first:first + room], action[first:first + room])
            into = self.worlds + np.arange(len(of))
            await self.advance(of, done, into=into, timeout=timeout)
            earned = await self.rollout(into, playouts=playouts, policy=policy, seed=seed, timeout=timeout)
            values[of, done] = earned[np.arange(len(of)), self.shown.seat[of]]
        return values

    async def close(self) -> None:
        """Releases the worlds. Does nothing when the server has them no longer, or is gone itself."""
        if self._closed:
            return
        with contextlib.suppress(*LOST):
            await self._connection.call('SearchService/CloseSearch', {'search_id': self.id}, timeout=SEARCH_SECONDS, token=self._token)
        self._closed = True
        self._lease.detach()

    def __repr__(self) -> str:
        """Names game and search, never the token."""
        return f'<Search {self.id} of {self.places} places of {self.spec.game.id}>'

async def begin(connection: Connection, token: str, spec: GameSpec, request: dict[str, Any], *, worlds: int, places: int | None, seed: SupportsIndex | None, reward: Reward, skip_forced: bool, timeout: float) -> Search:
    """Draws worlds for a request that says of what."""
    if worlds < 1:
        raise ValueError(f'a search draws at least one world, not {worlds}')
    request |= {'worlds': worlds, 'places': places or 0, 'seed': seed, 'reward': reward, 'skip_forced': skip_forced, 'max_message_bytes': MESSAGE_BYTES, 'request_id': str(uuid.uuid4())}
    answer = await connection.call('SearchService/CreateSearch', request, timeout=timeout, token=token, attempts=ATTEMPTS, advice=_ENDS)
    return Search(connection, answer, token, spec)

def _column(values: ArrayLike, dtype: str, name: str) -> bytes:
    """Whole numbers as bytes.

    Raises:
        ValueError: They are not whole, or one does not fit.
    """
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and (not np.issubdtype(given.dtype, np.integer))):
        raise ValueError(f'{name} are whole numbers in a row, not {given.dtype}{list(given.shape)}')
    most = np.iinfo(dtype).max
    if given.size and (not (given.min() >= 0 and given.max() <= most)):
        raise ValueError(f'{name} are from 0 to {most}, not {given.min()} to {given.max()}')
    return given.astype(dtype).tobytes()