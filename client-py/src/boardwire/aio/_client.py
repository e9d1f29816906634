"""The client: games, matches, seats, batches.

Generated from boardwire/_client.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import hashlib
import secrets
import uuid
from collections.abc import Collection, AsyncIterator, Mapping, Sequence
from typing import Any, SupportsIndex, get_args
from .. import _core, _values
from .._access import TLS, checked, read
from ._batch import Batch, carrier
from ._catalog import Catalog
from ._closing import Closing
from ._connection import ATTEMPTS, MESSAGE_BYTES, Connection, pages
from .._info import Clock, Invitation, MatchInfo, MatchState
from .._line_ups import against, seats_of
from ._local import LOCAL, LocalConnection
from ._match import Match
from .._replay import Frame, Replay
from ._seat import MATCH_GOES_ON, WAIT_SECONDS, Seat, fetch_match
from ._server import PrivateServer
from .._types import Autoreset, BatchColumn, IllegalActions, Reward
from ._waiting import aside
from ._watching import fetch_replay, watch
from ..errors import BoardwireError, CallTimeout, ConnectionLost
CALL_SECONDS = 30.0
_UNANSWERED: tuple[type[BoardwireError], ...] = (ConnectionLost, CallTimeout)

class Client(Catalog, Closing):
    """A server's games and matches, over a channel that opens at the first call of each process.

    Several threads, or tasks, may use it. Use it in a `with` statement, or `close` it.

    With the address `local:` it has an engine in this process instead of a server, which has no matches.

    A private server that has ended by itself is started again by the next call that asks for nothing of what
    was lost with it: any but `join` and `seat`.
    """

    def __init__(self, server: PrivateServer | Connection, *, timeout: float=CALL_SECONDS) -> None:
        """Is called by `connect`."""
        self._private = server if isinstance(server, PrivateServer) else None
        super().__init__(server, timeout)
        self._joins: dict[str, tuple[str, bytes]] = {}

    async def create_match(self, game: str, *, players: Sequence[str], options: Mapping[str, str] | None=None, seed: SupportsIndex | None=None, reward: Reward='rank', skip_forced: bool=False, illegal_actions: IllegalActions='reject', seat_may_seed: bool=False, private: bool=False, labels: Mapping[str, str] | None=None, watch_delay: float=0.0, clock: Clock | Mapping[int, Clock] | None=None, fair_deals: bool=False, episodes: int=0, host_begins: bool=False) -> Match:
        """Creates a match and deals its first episode.

        Args:
            game: The game's id.
            players: Who plays at each seat: `agent`, or a bot such as `random`, `greedy` or `mc:160`.
            options: Options by name; those left out have their defaults.
            seed: The seed of the first episode, 0 to 2**64 - 1. Without it the server draws one that
                nobody learns before the end.
            reward: What a seat is rewarded for.
            skip_forced: Whether the engine plays decisions with a single legal action; only where one agent
                plays, since others could tell from it what a hidden hand allows.
            illegal_actions: What happens to illegal actions.
            seat_may_seed: Whether the only agent may give seeds: for training, never for evaluation.
            private: Whether the match is listed for nobody, and shown to those alone who hold a token of it:
                host, seats, spectators.
            labels: Labels of your own, for everybody to see and `matches` to filter by: at most 16, names of
                1 to 63 bytes of `a-z`, `0-9`, `_`, `-` and `.`, values of at most 128 bytes.
            watch_delay: How long after they have come to be positions are shown, by `watch` to everybody, by
                `replay` to all but the host and the seats: seconds, up to a day.
            clock: How long agents may think: one clock for all of them, or one for some seats, such as
                `{0: boardwire.Clock(limit=1)}`; for as long as they like when left out.
            fair_deals: Whether every agent has a hand in the deals, so that nobody can choose what is dealt:
                each calls `Seat.reveal` before anything else. Not with a seed.
            episodes: After how many episodes the match closes itself; 0 for no end. Each is played out.
            host_begins: Whether only `Match.reset` begins episodes, which the `reset` of seats waits for: the
                host chooses each deal then, and takes note of each result. Not with `seat_may_seed`.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: It has no such table, there is no such bot, or a label cannot be.
            ServerFull: The server holds as many matches as it may.
        """
        config = {'game': game, 'players': players, 'options': _values.options(options), 'reward': reward, 'skip_forced': skip_forced, 'illegal_actions': illegal_actions, 'seat_may_seed': seat_may_seed, 'private': private, 'labels': labels or {}, 'watch_delay': watch_delay or None, 'clocks': _values.clocks(clock, len(players)), 'fair_deals': fair_deals, 'episodes': episodes, 'host_begins': host_begins}
        request = {'config': config, 'seed': seed, 'request_id': str(uuid.uuid4())}
        answer, connection = await self._server.ask('MatchService/CreateMatch', request, timeout=self._timeout, attempts=ATTEMPTS)
        info = _values.match_info(answer['match'])
        spec = await self._table(info.game, len(info.players), info.options, info.spec_digest)
        return Match(self, connection, info.id, spec, answer['host_token'], answer['spectator_token'], tuple(map(_values.invitation, answer['invitations'])))

    async def open_batch(self, game: str, *, environments: int, seats: int | None=None, opponents: Mapping[int, str] | None=None, line_ups: Sequence[Sequence[str]] | None=None, options: Mapping[str, str] | None=None, seed: SupportsIndex | None=None, first_environment: int=0, duplicate_deals: bool=False, reward: Reward='rank', autoreset: Autoreset='next_step', illegal_actions: IllegalActions='reject', skip_forced: bool=False, columns: Collection[BatchColumn]=(), advice: str | None=None, keep: bool=False) -> Batch:
        """Opens a batch: many environments of one table, stepped together, for one trusted owner.

        Args:
            game: The game's id.
            environments: How many environments.
            seats: How many seats; when left out as many as the line-ups have, else the fewest the game is
                played by.
            opponents: The seats that bots play in the server, such as `{1: "greedy"}`; all others are the
                agents'.
            line_ups: Who plays where, instead of `opponents`, such as `[["agent", "greedy"], ["greedy",
                "agent"]]`: environment number i has line-up i % line_ups.
            options: Options by name; those left out have their defaults.
            seed: The seed from which the seeds of all episodes follow; the server draws one when it is left
                out. What environment number i plays depends on i and the seed alone.
            first_environment: The number of the first environment, to open parts of a large batch apart.
            duplicate_deals: Whether the line-ups in turn play the same episodes: environment number i then
                has the seeds that number i // line_ups has otherwise.
            reward: What a seat is rewarded for.
            autoreset: What becomes of an environment whose episode has ended.
            illegal_actions: What happens to illegal actions.
            skip_forced: Whether the engine plays decisions with a single legal action.
            columns: What steps carry besides, such as `{"scores", "oracle"}`. `scores`: scores and ranks of
                the episodes that ended; `final_views`: what the agents' seats saw at the end of those;
                `episodes`: the number of every environment's episode; `oracle`: what every seat may know, for
                critics in training; `advice_shares`: what speaks for each action where there is advice, such
                as its share of playouts.
            advice: A bot, such as `mc:160`, whose choice in the deciding seat's place they carry, to imitate.
            keep: Whether the batch outlives the connection it is opened over. Steps and resets are numbered
                then, so that those whose answers were lost with a connection are asked for again.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: It has no such table, there is no such bot, or not so many environments fit.
            ServerFull: The server holds as much as it may.
            ValueError: A bot is given a seat that is not there; or the line-ups have not as many seats as one
                another or as `seats` says, or stand beside opponents.
        """
        if line_ups is not None:
            seats = seats_of(line_ups, seats, opponents)
        spec = await self.game(game, seats=seats, options=options)
        if line_ups is None:
            line_ups = [against(opponents or {}, spec.seats)]
        config = {'game': game, 'line_ups': [{'players': players} for players in line_ups], 'options': _values.options(options), 'environments': environments, 'first_environment': first_environment, 'seed': seed, 'duplicate_deals': duplicate_deals, 'reward': reward, 'autoreset': autoreset, 'illegal_actions': illegal_actions, 'skip_forced': skip_forced, 'columns': {**dict.fromkeys(_values.one_of(columns, get_args(BatchColumn)), True), 'advice': advice or None}}
        request = {'config': config, 'max_message_bytes': MESSAGE_BYTES, 'keep': keep, 'request_id': str(uuid.uuid4())}
        answer, connection = await self._server.ask('BatchService/OpenBatch', request, timeout=WAIT_SECONDS, attempts=ATTEMPTS)
        about, token = (answer['batch'], answer['token'])
        if spec.digest != about['spec_digest']:
            spec = await self._table(game, spec.seats, spec.options, about['spec_digest'])
        way = carrier(connection, token, about, spec, keep=keep, timeout=self._timeout)
        return Batch(way, connection, token)

    async def join(self, invitation: Invitation | str) -> Seat:
        """Takes the seat that an invitation is for.

        Args:
            invitation: The invitation, or its code.

        Raises:
            NotFound: It was never given.
            NotPossibleNow: Somebody has joined with it.
        """
        code = invitation.code if isinstance(invitation, Invitation) else invitation
        return await self._take(self._connection, code)

    async def _take(self, connection: Connection, code: str, host_token: str='') -> Seat:
        before = self._joins.pop(code, None)
        request_id, secret = before or (str(uuid.uuid4()), secrets.token_bytes(32))
        commitment = hashlib.sha256(secret).digest()
        request = {'code': code, 'request_id': request_id, 'commitment': commitment}
        try:
            answer = await connection.call('MatchService/JoinMatch', request, timeout=self._timeout, attempts=ATTEMPTS)
        except BaseException as error:
            if not isinstance(error, BoardwireError) or isinstance(error, _UNANSWERED):
                self._joins[code] = (request_id, secret)
            raise
        info = _values.match_info(answer['match'])
        return await self._made(connection, info, answer['token'], answer['seat'], secret, host_token)

    async def seat(self, match_id: str, token: str, *, secret: bytes=b'') -> Seat:
        """Takes a seat again whose token is known: after a crash of the agent, or in another process.

        Args:
            match_id: The match's id.
            token: The seat's token.
            secret: Its secret, if it has yet to `reveal` that.
        """
        connection = self._connection
        info = await fetch_match(connection, match_id, self._timeout, token)
        return await self._made(connection, info, token, None, secret)

    async def _made(self, connection: Connection, info: MatchInfo, token: str, index: int | None, secret: bytes, host_token: str='') -> Seat:
        spec = await self._table(info.game, len(info.players), info.options, info.spec_digest)
        timeout = self._timeout
        return Seat(connection, info.id, token, spec, index=index, timeout=timeout, host_token=host_token, secret=secret)

    async def replay(self, match_id: str, episode: int | None=None, *, spectator_token: str='') -> Replay:
        """An episode of a match, as the public may see it.

        Args:
            match_id: The match's id.
            episode: The episode; the present one when left out. The four before it are kept too.
            spectator_token: Its token for spectators, if it is private.

        Raises:
            AccessDenied: The match is private, and no token was given.
            InvalidRequest: The episode has not come, or is not kept any more.
        """
        return await fetch_replay(self._connection, match_id, episode, token=spectator_token, timeout=self._timeout, advice=MATCH_GOES_ON)

    def watch(self, match_id: str, *, after: int | None=None, spectator_token: str='', timeout: float=WAIT_SECONDS) -> AsyncIterator[Frame]:
        """Every position as the public may see it, one after another, as the match goes on.

        Whoever does not take them as fast as they come falls behind and holds nobody up. It ends when the
        host closes the match or its last episode is over. After a lost stream, `after` says where to go on.

        Args:
            match_id: The match's id.
            spectator_token: Its token for spectators, if it is private.
            after: The `sequence` of the last frame known: those after it follow. When left out, the present
                position and what comes after it.
            timeout: Seconds that may pass without a frame.

        Raises:
            NotFound: The frames after that are not kept any more: begin again without `after`.
            CallTimeout: Nothing has happened for so long.
            ConnectionLost: Nobody answers, or no longer.
        """
        return watch(self._connection, match_id, after, token=spectator_token, timeout=timeout, advice=MATCH_GOES_ON)

    def matches(self, game: str | None=None, *, states: Collection[MatchState]=(), labels: Mapping[str, str] | None=None) -> AsyncIterator[MatchInfo]:
        """The matches that the server remembers and that are not private, closed ones included.

        Args:
            game: Only those of this game.
            states: Only those that stand so, such as `["playing", "over"]`; all when empty.
            labels: Only those with all of these labels.
        """
        wanted = {'game': game, 'states': _values.one_of(states, get_args(MatchState)), 'labels': labels or {}}

        async def page(token: str) -> dict[str, Any]:
            asked = {**wanted, 'page_token': token}
            answer, _ = await self._server.ask('MatchService/ListMatches', asked, timeout=self._timeout)
            return answer
        return (_values.match_info(match) async for answer in pages(page) for match in answer['matches'])

    def __repr__(self) -> str:
        """Names the server."""
        return f'<Client of {self.address}>'

async def connect(address: str | None=None, *, tls: TLS | bool=False, token: str | None=None, insecure: bool=False, timeout: float=CALL_SECONDS, server_args: Sequence[str]=()) -> Client:
    """Connects to a server, or starts a private one.

    Args:
        address: `host:port` or `unix:/path`. Without it a server is started on a Unix socket of its own;
            it ends with the client, and at the latest with this process. `local:` is no server but an engine
            in this process, which has batches and no matches.
        tls: Whether to speak TLS, with a server whose certificate leads to a root of this system; or a `TLS`,
            which says what other roots to trust, and how this client proves itself.
        token: The token of an account, for servers that serve accounts alone.
        insecure: Whether to send it without TLS, too, where others could read it on its way.
        timeout: Seconds that a call may take, unless it waits for others.
        server_args: More arguments of `boardwire serve`, for a private server.

    Raises:
        StartError: The private server was not found or did not start.
        OSError: A file of `tls` cannot be read.
        ValueError: The address is no address, arguments are given for a server that runs already, a file of
            `tls` has not what it should, or the token could be read on its way.
    """
    if address is None:
        if tls:
            raise ValueError('a private server has a Unix socket, which takes no TLS')
        account = checked(token, 'unix:/', insecure=insecure)
        return Client(await aside(PrivateServer, server_args, account=account), timeout=timeout)
    if server_args:
        raise ValueError('server_args are for a private server: leave the address out')
    if address == LOCAL:
        if tls or token is not None:
            raise ValueError(f'{LOCAL!r} is no server: it takes neither TLS nor a token')
        return Client(LocalConnection(), timeout=timeout)
    understood = _core.check_address(address)
    if tls and understood.startswith('unix:'):
        raise ValueError(f'{understood} is a Unix socket, which takes no TLS')
    secured = await aside(read, tls)
    account = checked(token, understood, insecure=insecure or secured is not None)
    return Client(Connection(understood, tls=secured, account=account), timeout=timeout)