"""A seat: observe, act, reset.

Generated from boardwire/_seat.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import operator
import time
from typing import Any, SupportsIndex
from .. import _values
from ._closing import Closing
from ._connection import Connection
from .._info import FairDeal, MatchInfo
from .._replay import Replay
from ._search import SEARCH_SECONDS, Search, begin
from .._spec import GameSpec
from ._stream import PlayStream
from .._types import Observation, Reward
from ._waiting import aside, given
from ._watching import fetch_replay
from ..errors import CallTimeout, IllegalAction, ServerFault
WAIT_SECONDS = 600.0
MATCH_GOES_ON = 'as long as the server runs, or is started again with its journal, the match goes on: repeat the call, or take the seat again with client.seat(match_id, token)'

class Seat(Closing):
    """A place in a match, for one agent in one thread or task.

    What it asks goes over one stream of messages, which opens with the first call, and again after it broke.
    Use it in a `with` statement, or `close` it, which ends the stream.

    Attributes:
        match_id: The match.
        index: The seat, counted from 0; none where only the token is known.
        token: The seat's secret; valid until the match is closed, over any connection.
        spec: The table's description.
        secret: The 32 bytes that it contributes to deals that are fair; empty where they are not known.
        bound: What everybody was bound by when this seat revealed its secret; none before. Replays are
            compared with it.
        last: The observation answered last, which `act` refers to.
    """

    def __init__(self, connection: Connection, match_id: str, token: str, spec: GameSpec, *, index: int | None, timeout: float, host_token: str='', secret: bytes=b'') -> None:
        """Is called by `Client.join`, `Client.seat` and `Match.join`."""
        self.match_id = match_id
        self.index = index
        self.token = token
        self.spec = spec
        self.last: Observation | None = None
        self._came = 0.0
        self._connection = connection
        self._timeout = timeout
        self._stream = PlayStream(connection, token, advice=MATCH_GOES_ON)
        self._host_token = host_token
        self.secret = secret
        self.bound: FairDeal | None = None

    async def observe(self, *, wait: bool=True, text: bool=False, explain: bool=False, actions: bool=False, head: bool=False, timeout: float | None=None) -> Observation:
        """Shows what the seat may know, when it has something to decide or the episode is over.

        Args:
            wait: Whether to wait for that; at once otherwise.
            text: Whether to add the position as text.
            explain: Whether to add where the points came from, once the episode is over.
            actions: Whether to add the legal actions with their labels.
            head: Whether to add what all decisions so far chain up to, to compare with the replay at the end.
            timeout: Seconds; the client's own when left out, `WAIT_SECONDS` for waiting calls.
        """
        extras = _extras(text, explain, actions, head)
        request = {'match_id': self.match_id, 'wait': wait, 'extras': extras}
        return await self._ask('observe', request, timeout, wait)

    async def act(self, action: SupportsIndex, *, wait: bool=True, text: bool=False, explain: bool=False, actions: bool=False, head: bool=False, timeout: float | None=None) -> Observation:
        """Makes the decision that the last observation asks for; observes first when there is none.

        To repeat an act whose answer was lost is safe: it counts once.

        Args:
            action: The index of the action.
            wait: Whether to answer only when the seat has something to decide again or the episode is over.
            text: Whether to add the position as text.
            explain: Whether to add where the points came from, once the episode is over.
            actions: Whether to add the legal actions with their labels.
            head: Whether to add what all decisions so far chain up to, to compare with the replay at the end.
            timeout: Seconds; the client's own when left out, `WAIT_SECONDS` for waiting calls.

        Raises:
            IllegalAction: It is not legal now, and the match refuses such actions.
            NotYourTurn: The seat owes no decision.
            StaleRequest: The seat has decided already, or the episode is another by now; or its time had run
                out, and the decision has been made for it (`DECISION_LATE`): observe again.
        """
        index = operator.index(action)
        if index < 0:
            metadata = {'action': str(index), 'actions': str(len(self.spec.actions))}
            raise IllegalAction(f'an action is not negative: {index}', reason='ACTION_OUT_OF_RANGE', metadata=metadata)
        seen = self.last or await self.observe(wait=False)
        request = {'match_id': self.match_id, 'episode': seen.episode, 'decision': seen.decision, 'action': index, 'wait': wait, 'extras': _extras(text, explain, actions, head), 'thought': time.monotonic() - self._came if seen.clocks else None}
        return await self._ask('act', request, timeout, wait)

    async def reset(self, seed: SupportsIndex | None=None, *, wait: bool=True, text: bool=False, actions: bool=False, timeout: float | None=None) -> Observation:
        """Asks for the next episode, and waits for it: it begins when all agents have asked.

        With `host_begins` it begins when the host has, too. An agent that plays against bots alone may leave
        an episode for the next one, unless its match counts `episodes`.

        Args:
            seed: The seed, for a seat that the host has taken by `Match.join`, and for the only agent
                of a match created with `seat_may_seed`; when left out the next one follows from the seed that
                the match was given, or is secret.
            wait: Whether to answer only when the seat has something to decide or the episode is over.
            text: Whether to add the position as text.
            actions: Whether to add the legal actions with their labels.
            timeout: Seconds; `WAIT_SECONDS` when left out.

        Raises:
            NotPossibleNow: Other agents are still playing, or the deal is fair.
            AccessDenied: A seed is not the seat's to give.
        """
        given = None if seed is None else operator.index(seed)
        episode = self.last.episode if self.last else None
        if given is not None and self._host_token:
            await self._connection.call('MatchService/ResetMatch', {'match_id': self.match_id, 'seed': given, 'episode': episode}, timeout=timeout or WAIT_SECONDS, token=self._host_token, advice=MATCH_GOES_ON)
            self.last = None
            return await self.observe(wait=wait, text=text, actions=actions, timeout=timeout)
        request = {'match_id': self.match_id, 'seed': given, 'episode': episode, 'wait': wait, 'extras': _extras(text, False, actions)}
        return await self._ask('reset', request, timeout, True)

    async def reveal(self, *, timeout: float=WAIT_SECONDS) -> None:
        """Reveals what this seat contributes to deals that are fair, once all seats have joined.

        The secret is not sent before all are seen to be bound: who knew it could choose what to be bound by.
        When all have revealed theirs, the first episode is dealt. To repeat it is safe.

        Args:
            timeout: Seconds that the others may take to join.

        Raises:
            CallTimeout: The others have not joined in time; nothing was sent.
            InvalidRequest: The deals of this match are the server's.
            Gone: Another seat has not revealed its own in time, and has forfeited the match.
        """
        self.bound = self.bound or await self._all_bound(timeout)
        request = {'match_id': self.match_id, 'secret': self.secret}
        await self._connection.call('MatchService/OpenDeal', request, timeout=self._timeout, token=self.token, attempts=2, advice=MATCH_GOES_ON)

    async def _all_bound(self, timeout: float) -> FairDeal | None:
        """What everybody is bound by, once all agents have joined; none where deals are the server's."""
        pause, deadline = (0.02, time.monotonic() + timeout)
        while True:
            match = await self.info()
            if match.fair is None:
                return None
            bound = zip(match.players, match.fair.seat_commitments, strict=True)
            if all((commitment for player, commitment in bound if player == 'agent')):
                return match.fair
            if time.monotonic() + pause > deadline:
                raise CallTimeout(f'the others have not joined within {timeout:g} seconds: try again')
            await aside(time.sleep, pause)
            pause = min(2 * pause, 1.0)

    async def resign(self, *, text: bool=False, explain: bool=False, timeout: float | None=None) -> Observation:
        """Gives up the episode of the last observation: the seat is last, the others share the first place.

        Observes first when there is no observation. To repeat it is safe.

        Args:
            text: Whether to add the position as text.
            explain: Whether to add where the points came from.
            timeout: Seconds; the client's own when left out.

        Raises:
            EpisodeOver: The episode has ended without a forfeit of the seat, or been left.
        """
        seen = self.last or await self.observe(wait=False)
        extras = _extras(text, explain, False)
        request = {'match_id': self.match_id, 'episode': seen.episode, 'extras': extras}
        return await self._ask('resign', request, timeout, False)

    async def search(self, worlds: int=16, *, places: int | None=None, seed: SupportsIndex | None=None, reward: Reward='rank', skip_forced: bool=False, timeout: float=SEARCH_SECONDS) -> Search:
        """Draws worlds that the seat can believe in, to look ahead in; use it in a `with` statement.

        Args:
            worlds: How many.
            places: How many places the search has, for copies; as many as there are worlds when left out.
            seed: The seed from which the worlds follow, and the luck to come in each; the server draws one
                when it is left out.
            reward: What seats are rewarded for there.
            skip_forced: Whether decisions with a single legal action are played at once.
            timeout: Seconds.

        Raises:
            NotYourTurn: The seat owes no decision.
            EpisodeOver: The episode has ended.
            InvalidRequest: The rows of so many worlds do not fit a message, or there are fewer places.
            ServerFull: The server holds as much as it may: places count as environments do.
        """
        return await begin(self._connection, self.token, self.spec, {'match_id': self.match_id}, worlds=worlds, places=places, seed=seed, reward=reward, skip_forced=skip_forced, timeout=timeout)

    async def info(self) -> MatchInfo:
        """What everybody at the table may know of the match."""
        return await fetch_match(self._connection, self.match_id, self._timeout, self.token)

    async def replay(self, episode: int | None=None) -> Replay:
        """An episode from its deal on, as this seat saw it; once it is over with every decision and the key.

        Args:
            episode: The episode; the present one when left out. The four before it are kept too.

        Raises:
            InvalidRequest: It has not come, or is not kept any more.
            ServerFault: Its deals are fair, and it says that somebody was bound otherwise than `bound` says.
        """
        replay = await fetch_replay(self._connection, self.match_id, episode, token=self.token, timeout=self._timeout, advice=MATCH_GOES_ON)
        if self.bound is not None:
            check_bound(self.bound, replay.fair)
        return replay

    async def close(self) -> None:
        """Ends the stream. The seat stays taken, and the next call opens another."""
        await given(self._stream.close())

    def __repr__(self) -> str:
        """Names match and seat, never the token."""
        return f'<Seat {self.index} of {self.match_id}>'

    async def _ask(self, kind: str, request: dict[str, Any], timeout: float | None, waits: bool) -> Observation:
        if timeout is None:
            timeout = WAIT_SECONDS if waits else self._timeout
        self.last = _values.observation(await self._stream.ask(kind, request, timeout), self.spec)
        self._came = time.monotonic()
        return self.last

def check_bound(seen: FairDeal, told: FairDeal | None) -> None:
    """Compares what everybody was bound by when it was `seen` with what is told of it later."""
    if told is None or (told.server_commitment, told.seat_commitments) != (seen.server_commitment, seen.seat_commitments):
        raise ServerFault('the replay says that others were bound than this seat saw before it opened')

async def fetch_match(connection: Connection, match_id: str, timeout: float, token: str) -> MatchInfo:
    """What the holder of a token may know of a match."""
    request = {'match_id': match_id}
    answer = await connection.call('MatchService/GetMatch', request, timeout=timeout, token=token, advice=MATCH_GOES_ON)
    return _values.match_info(answer['match'])

def _extras(text: bool, explain: bool, actions: bool, head: bool=False) -> dict[str, bool] | None:
    if not (text or explain or actions or head):
        return None
    return {'text': text, 'explanation': explain, 'actions': actions, 'head': head}