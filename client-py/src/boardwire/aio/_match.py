"""A match in the hands of its host.

Generated from boardwire/_match.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import operator
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, SupportsIndex
from .. import _values
from ._closing import Closing
from ._connection import Connection
from .._info import Invitation, MatchInfo
from .._replay import Frame, Replay
from ._seat import MATCH_GOES_ON, WAIT_SECONDS, Seat, fetch_match
from .._spec import GameSpec
from ._watching import fetch_replay, watch
if TYPE_CHECKING:
    from ._client import Client

class Match(Closing):
    """A match, in the hands of its host. It shows nobody's cards.

    Attributes:
        id: The match's id.
        spec: The table's description.
        host_token: What proves the host.
        spectator_token: What lets others watch the match if it is private.
        invitations: An invitation for each agent's seat; each lets one agent in, once.
    """

    def __init__(self, client: Client, connection: Connection, match_id: str, spec: GameSpec, host_token: str, spectator_token: str, invitations: tuple[Invitation, ...]) -> None:
        """Is called by `Client.create_match`."""
        self.id = match_id
        self.spec = spec
        self.host_token = host_token
        self.spectator_token = spectator_token
        self.invitations = invitations
        self._client = client
        self._connection = connection

    async def join(self, seat: int) -> Seat:
        """Takes an agent's seat in this process.

        Raises:
            ValueError: It is no agent's seat.
            NotPossibleNow: Somebody has taken it.
        """
        for given in self.invitations:
            if given.seat == seat:
                return await self._client._take(self._connection, given.code, self.host_token)
        seats = ', '.join((str(given.seat) for given in self.invitations)) or 'none'
        raise ValueError(f"seat {seat} is not an agent's: {seats} of {self.id} is")

    async def invite(self, seat: int) -> Invitation:
        """Gives an agent's seat away anew: whoever had its invitation or its token has it no longer.

        Raises:
            InvalidRequest: It is no agent's seat.
            NotPossibleNow: Agents are opening what they contribute to fair deals: none may be exchanged now.
        """
        request = {'match_id': self.id, 'seat': operator.index(seat)}
        answer = await self._connection.call('MatchService/Invite', request, timeout=self._client._timeout, token=self.host_token, advice=MATCH_GOES_ON)
        given = _values.invitation(answer['invitation'])
        self.invitations = tuple((given if known.seat == seat else known for known in self.invitations))
        return given

    async def info(self) -> MatchInfo:
        """What everybody at the table may know of the match."""
        return await fetch_match(self._connection, self.id, self._client._timeout, self.host_token)

    async def reset(self, seed: SupportsIndex | None=None) -> None:
        """Begins the next episode, with this seed or the next one derived.

        At once, but with `host_begins` when every agent has asked for it.
        """
        request = {'match_id': self.id, 'seed': seed}
        await self._connection.call('MatchService/ResetMatch', request, timeout=WAIT_SECONDS, token=self.host_token, advice=MATCH_GOES_ON)

    async def resign(self, seat: int, *, episode: int | None=None) -> None:
        """Ends the present episode against an agent's seat: it is last, the others share the first place.

        Args:
            seat: The seat, counted from 0.
            episode: The episode, which makes it safe to repeat; when left out, whichever is present.

        Raises:
            EpisodeOver: The episode has ended without a forfeit of the seat, or been left.
            InvalidRequest: It is no agent's seat.
        """
        request = {'match_id': self.id, 'episode': episode, 'seat': operator.index(seat)}
        await self._connection.call('MatchService/Resign', request, timeout=self._client._timeout, token=self.host_token, advice=MATCH_GOES_ON)

    async def replay(self, episode: int | None=None) -> Replay:
        """An episode from its deal on, as the public may see it; once over, with all decisions and the key.

        Args:
            episode: The episode; the present one when left out. The four before it are kept too.

        Raises:
            InvalidRequest: It has not come, or is not kept any more.
        """
        return await fetch_replay(self._connection, self.id, episode, token=self.host_token, timeout=self._client._timeout, advice=MATCH_GOES_ON)

    def watch(self, *, after: int | None=None, timeout: float=WAIT_SECONDS) -> AsyncIterator[Frame]:
        """Every position as the public may see it, one after another, as the match goes on.

        Whoever does not take them as fast as they come falls behind and holds nobody up. It ends when the
        host closes the match or its last episode is over. After a lost stream, `after` says where to go on.

        Args:
            after: The `sequence` of the last frame known: those after it follow. When left out, the present
                position and what comes after it.
            timeout: Seconds that may pass without a frame.

        Raises:
            NotFound: The frames after that are not kept any more: begin again without `after`.
            CallTimeout: Nothing has happened for so long.
            ConnectionLost: Nobody answers, or no longer.
        """
        return watch(self._connection, self.id, after, token=self.spectator_token, timeout=timeout, advice=MATCH_GOES_ON)

    async def close(self) -> MatchInfo:
        """Ends the match for good: waiting calls are answered with `Gone`.

        Raises:
            ConnectionLost: Nobody answers. At the end of a `with` block that is passed over.
        """
        request = {'match_id': self.id}
        answer = await self._connection.call('MatchService/CloseMatch', request, timeout=self._client._timeout, token=self.host_token, advice=MATCH_GOES_ON)
        return _values.match_info(answer['match'])

    def __repr__(self) -> str:
        """Names game and match, never the token."""
        return f'<Match {self.id} of {self.spec.game.id}>'