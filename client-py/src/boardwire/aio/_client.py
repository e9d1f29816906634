"""The client: games, matches, seats, batches.

Generated from boardwire/_client.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, SupportsIndex, get_args

from .. import _core, _values
from .._access import TLS, Address, checked, read
from .._info import Clock, Invitation, MatchInfo, MatchState
from .._replay import Frame, Replay
from .._types import Autoreset, BatchColumn, IllegalActions, Reward, line_up_against, seats_of
from ..errors import BoardwireError, CallTimeout, ConnectionLost
from ._batch import Batch, open_transport
from ._catalog import Catalog
from ._connection import ATTEMPTS, MESSAGE_BYTES, Closing, Connection, pages
from ._local import LOCAL, LocalConnection
from ._match import Match
from ._seat import WAIT_SECONDS, Seat, fetch_match, fetch_replay, watch
from ._server import PrivateServer
from ._waiting import in_thread

CALL_SECONDS = 30.0
_UNANSWERED: tuple[type[BoardwireError], ...] = (ConnectionLost, CallTimeout)


class Client(Catalog, Closing):
    """A client of one server: it gives access to the server's games, matches and batches.

    The connection opens at the first call of each process. Several threads or tasks may share a client. Use
    the client in a `with` statement, or `close` it.

    With the address `local:` the client uses an engine in this process instead of a server. The engine has
    no matches.

    If a private server has ended by itself, the next request of the client restarts it. `join`, `seat`,
    `replay` and `watch` do not: they need what was lost with the old server.
    """

    def __init__(
        self, server: PrivateServer | Connection, *, found_by: Address, timeout: float | None = CALL_SECONDS
    ) -> None:
        """Is called by `connect`, whose arguments are in `found_by`."""
        self._found_by = found_by
        self._private = server if isinstance(server, PrivateServer) else None
        super().__init__(server, timeout)
        self._joins: dict[str, tuple[str, bytes]] = {}

    async def create_match(
        self,
        game: str,
        *,
        players: Sequence[str],
        options: Mapping[str, str] | None = None,
        seed: SupportsIndex | None = None,
        reward: Reward = "rank",
        skip_forced: bool = False,
        illegal_actions: IllegalActions = "reject",
        seat_may_seed: bool = False,
        private: bool = False,
        labels: Mapping[str, str] | None = None,
        watch_delay: float = 0.0,
        clock: Clock | Mapping[int, Clock] | None = None,
        fair_deals: bool = False,
        episodes: int = 0,
        host_begins: bool = False,
    ) -> Match:
        """Creates a match and deals its first episode.

        Args:
            game: The game's id.
            players: The player at each seat: `agent`, or a bot such as `random`, `greedy`, `mc:160` or
                `strong`.
            options: Options by name; missing options have their defaults.
            seed: The seed of the first episode, 0 to 2**64 - 1. By default the server draws a seed and keeps
                it secret until the episode is over.
            reward: What a seat is rewarded for.
            skip_forced: Whether the engine plays decisions with a single legal action. Allowed only with one
                agent: others would see that a hidden hand left one choice.
            illegal_actions: What happens to illegal actions.
            seat_may_seed: Whether the agent may give seeds, if the match has exactly one agent. For training,
                never for evaluation.
            private: Whether the match is unlisted, and shown only to holders of one of its tokens: host,
                seats, spectators.
            labels: Public labels that `matches` can filter by. At most 16; names have 1 to 63 bytes of `a-z`,
                `0-9`, `_`, `-` and `.`, values at most 128 bytes.
            watch_delay: The delay before positions are shown, in seconds, up to a day. It applies to all
                callers of `watch`, and to callers of `replay` other than the host and the seats.
            clock: The time limits of agents: one clock for all of them, or a clock for some seats, such as
                `{0: boardwire.Clock(limit=1)}`. By default there is no limit.
            fair_deals: Whether every agent contributes to the deals, so that no party can choose them. Each
                agent calls `Seat.reveal` first. Excludes a seed.
            episodes: The number of episodes after which the match closes itself; 0 for no limit. No agent can
                leave an episode early.
            host_begins: Whether only `Match.reset` begins episodes; the `reset` of a seat waits for it. The
                host can then choose each deal and record each result. Excludes `seat_may_seed`.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: The game has no such table, a bot does not exist, or a label is invalid.
            ServerFull: The server holds the maximum number of matches.
        """
        config = {
            "game": game,
            "players": players,
            "options": _values.options(options),
            "reward": reward,
            "skip_forced": skip_forced,
            "illegal_actions": illegal_actions,
            "seat_may_seed": seat_may_seed,
            "private": private,
            "labels": labels or {},
            "watch_delay": watch_delay or None,
            "clocks": _values.clocks(clock, len(players)),
            "fair_deals": fair_deals,
            "episodes": episodes,
            "host_begins": host_begins,
        }
        request = {"config": config, "seed": seed, "request_id": str(uuid.uuid4())}
        answer, connection = await self._server.ask(
            "MatchService/CreateMatch", request, timeout=self._timeout, attempts=ATTEMPTS
        )
        info = _values.match_info(answer["match"])
        spec = await self._table(info.game, len(info.players), info.options, info.spec_digest)
        return Match(
            self,
            connection,
            info.id,
            spec,
            answer["host_token"],
            answer["spectator_token"],
            tuple(map(_values.invitation, answer["invitations"])),
        )

    async def open_batch(
        self,
        game: str,
        *,
        environments: int,
        seats: int | None = None,
        opponents: Mapping[int, str] | None = None,
        line_ups: Sequence[Sequence[str]] | None = None,
        options: Mapping[str, str] | None = None,
        seed: SupportsIndex | None = None,
        first_environment: int = 0,
        duplicate_deals: bool = False,
        reward: Reward = "rank",
        autoreset: Autoreset = "next_step",
        illegal_actions: IllegalActions = "reject",
        skip_forced: bool = False,
        columns: Collection[BatchColumn] = (),
        advice: str | None = None,
        keep: bool = False,
    ) -> Batch:
        """Opens a batch: many environments of one table, stepped together, for one trusted owner.

        Args:
            game: The game's id.
            environments: The number of environments.
            seats: The number of seats. By default that of the line-ups, or without line-ups the smallest
                number the game allows.
            opponents: The seats that bots play in the server, such as `{1: "greedy"}`; agents play all other
                seats.
            line_ups: The players of each line-up, instead of `opponents`, such as `[["agent", "greedy"],
                ["greedy", "agent"]]`. Environment number i has line-up `i % len(line_ups)`.
            options: Options by name; missing options have their defaults.
            seed: The seed from which the seeds of all episodes follow; by default the server draws one. The
                episodes of environment number i depend only on i and the seed.
            first_environment: The number of the first environment, to open a large batch in parts.
            duplicate_deals: Whether each line-up in turn plays the same episodes. Environment number i then
                has the seeds that number `i // len(line_ups)` has otherwise.
            reward: What a seat is rewarded for.
            autoreset: What happens to an environment whose episode has ended.
            illegal_actions: What happens to illegal actions.
            skip_forced: Whether the engine plays decisions with a single legal action.
            columns: Additional columns of steps, such as `{"scores", "oracle"}`. `scores`: scores and ranks
                of the episodes that ended. `final_views`: the last views of the agents' seats in these
                episodes. `episodes`: the number of every environment's episode. `oracle`: the views of all
                seats, for critics in training. `advice_shares`: how the advice weighs each action, such as
                by its share of playouts. `estimates`: the game's estimate after each action, as input of a
                network or a baseline.
            advice: A bot, such as `mc:160`. Steps carry the action it would choose for the deciding seat, for
                imitation learning.
            keep: Whether the batch outlives its connection. Steps and resets are then numbered, so that the
                client can retry those whose responses were lost with a connection.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: The game has no such table, a bot does not exist, or there are too many
                environments.
            ServerFull: The server is full.
            ValueError: A bot is given a seat that does not exist; the numbers of seats of the line-ups differ
                from each other or from `seats`; or both line-ups and opponents are given.
        """
        if line_ups is not None:
            seats = seats_of(line_ups, seats, opponents)
        spec = await self.game(game, seats=seats, options=options)
        if line_ups is None:
            line_ups = [line_up_against(opponents or {}, spec.seats)]
        config = {
            "game": game,
            "line_ups": [{"players": players} for players in line_ups],
            "options": _values.options(options),
            "environments": environments,
            "first_environment": first_environment,
            "seed": seed,
            "duplicate_deals": duplicate_deals,
            "reward": reward,
            "autoreset": autoreset,
            "illegal_actions": illegal_actions,
            "skip_forced": skip_forced,
            "columns": {
                **dict.fromkeys(_values.words("columns", columns, get_args(BatchColumn)), True),
                "advice": advice or None,
            },
        }
        request = {
            "config": config,
            "max_message_bytes": MESSAGE_BYTES,
            "keep": keep,
            "request_id": str(uuid.uuid4()),
        }
        answer, connection = await self._server.ask(
            "BatchService/OpenBatch", request, timeout=WAIT_SECONDS, attempts=ATTEMPTS
        )
        about, token = (answer["batch"], answer["token"])
        if spec.digest != about["spec_digest"]:
            spec = await self._table(game, spec.seats, spec.options, about["spec_digest"])
        transport = open_transport(connection, token, about, spec, keep=keep, timeout=self._timeout)
        return Batch(transport, connection, token)

    async def join(self, invitation: Invitation | str) -> Seat:
        """Takes the seat of an invitation.

        Args:
            invitation: The invitation, or its code.

        Raises:
            NotFound: The invitation does not exist.
            NotPossibleNow: An agent has already joined with the invitation.
        """
        code = invitation.code if isinstance(invitation, Invitation) else invitation
        return await self._join_with(self._connection, code)

    async def _join_with(self, connection: Connection, code: str, host_token: str = "") -> Seat:
        before = self._joins.pop(code, None)
        request_id, secret = before or (str(uuid.uuid4()), secrets.token_bytes(32))
        commitment = hashlib.sha256(secret).digest()
        request = {"code": code, "request_id": request_id, "commitment": commitment}
        has_joined = False
        try:
            answer = await connection.call(
                "MatchService/JoinMatch", request, timeout=self._timeout, attempts=ATTEMPTS
            )
            has_joined = True
            info = _values.match_info(answer["match"])
            return await self._create_seat(
                connection, info, answer["token"], answer["seat"], secret, host_token
            )
        except BaseException as error:
            if has_joined or not isinstance(error, BoardwireError) or isinstance(error, _UNANSWERED):
                self._joins[code] = (request_id, secret)
            raise

    async def seat(self, match_id: str, token: str, *, secret: bytes = b"") -> Seat:
        """Takes a seat again with its token: after a crash of the agent, or in another process.

        Args:
            match_id: The match's id.
            token: The seat's token.
            secret: The seat's secret, if the agent has not called `reveal` yet.
        """
        connection = self._connection
        info = await fetch_match(connection, match_id, self._timeout, token)
        return await self._create_seat(connection, info, token, None, secret)

    async def _create_seat(
        self,
        connection: Connection,
        info: MatchInfo,
        token: str,
        index: int | None,
        secret: bytes,
        host_token: str = "",
    ) -> Seat:
        spec = await self._table(info.game, len(info.players), info.options, info.spec_digest)
        timeout = self._timeout
        return Seat(
            connection,
            info.id,
            token,
            spec,
            index=index,
            timeout=timeout,
            host_token=host_token,
            secret=secret,
        )

    async def replay(self, match_id: str, episode: int | None = None, *, spectator_token: str = "") -> Replay:
        """Returns an episode of a match, as the public may see it.

        Args:
            match_id: The match's id.
            episode: The episode; by default the present one. The server keeps it and the four before it.
            spectator_token: The spectators' token of a private match.

        Raises:
            AccessDenied: The match is private, and no token was given.
            InvalidRequest: The episode has not begun, or the server no longer keeps it.
        """
        return await fetch_replay(
            self._connection, match_id, episode, token=spectator_token, timeout=self._timeout
        )

    def watch(
        self,
        match_id: str,
        *,
        after: int | None = None,
        spectator_token: str = "",
        timeout: float | None = WAIT_SECONDS,
    ) -> AsyncIterator[Frame]:
        """Yields every position as the public may see it, as the match is played.

        A slow caller falls behind and delays no player. The iterator ends when the host closes the match or
        its last episode is over. To resume a lost stream, give `after`.

        Args:
            match_id: The match's id.
            spectator_token: The spectators' token of a private match.
            after: The `sequence` of the last frame that the caller has; the frames after it follow. By
                default the present position comes first.
            timeout: The longest time without a frame: seconds; None for no limit.

        Raises:
            NotFound: The server no longer keeps the frames after `after`: call `watch` without it.
            CallTimeout: No frame came within `timeout`.
            ConnectionLost: The server does not answer, or the connection was lost.
        """
        return watch(self._connection, match_id, after, token=spectator_token, timeout=timeout)

    def matches(
        self,
        game: str | None = None,
        *,
        states: Collection[MatchState] = (),
        labels: Mapping[str, str] | None = None,
    ) -> AsyncIterator[MatchInfo]:
        """Yields the matches that the server lists: all that are not private, and closed ones for a while.

        Args:
            game: Only matches of this game.
            states: Only matches in these states, such as `["playing", "over"]`; all when empty.
            labels: Only matches with all of these labels.
        """
        wanted = {
            "game": game,
            "states": _values.words("states", states, get_args(MatchState)),
            "labels": labels or {},
        }

        async def page(token: str) -> dict[str, Any]:
            request = {**wanted, "page_token": token}
            answer, _ = await self._server.ask("MatchService/ListMatches", request, timeout=self._timeout)
            return answer

        return (_values.match_info(match) async for answer in pages(page) for match in answer["matches"])

    def __repr__(self) -> str:
        """Returns a text with the server's address."""
        return f"<Client of {self.address}>"


async def connect(
    address: str | None = None,
    *,
    tls: TLS | bool = False,
    token: str | None = None,
    insecure: bool = False,
    timeout: float | None = CALL_SECONDS,
    server_args: Sequence[str] = (),
    binary: str | os.PathLike[str] | None = None,
    module: str | None = None,
) -> Client:
    """Connects to a server, or starts a private one.

    Args:
        address: `host:port` or `unix:/path`. Without an address, the client starts a private server on a new
            Unix socket; this server ends with the client, and at the latest with this process. It has the bot
            `strong` if the package `boardwire-opponents` is installed. `local:` means an engine in this
            process, which has batches and no matches.
        tls: Whether to use TLS and trust the roots of this system; or a `TLS` with other roots to trust and
            the certificate with which this client authenticates.
        token: The token of an account, for servers that require accounts.
        insecure: Whether to send the token without TLS even where others could eavesdrop.
        timeout: The timeout in seconds of calls whose `timeout` is not set; None for no limit.
        server_args: Additional arguments of `boardwire serve`, for a private server.
        binary: The program of a private server, if it is not that of this package: one with other games.
        module: The extension module of `local:`, if it is not that of this package: one with other games.

    Raises:
        StartError: The private server was not found or did not start.
        ImportError: There is no such `module`.
        OSError: A file of `tls` cannot be read.
        ValueError: The address is invalid; `server_args` or `binary` is given with an address; `tls`, `token`
            or `module` is given where it does not apply; `module` is no such extension; a file of `tls` has
            invalid contents; the token is invalid; or the connection to the server could be eavesdropped on
            and would carry the token.
    """
    found_by = Address(address, tls, token, insecure, binary, module)
    if module is not None and address != LOCAL:
        raise ValueError(f"`module` is for {LOCAL!r}: use this address")
    if address is None:
        if tls:
            raise ValueError("a private server uses a Unix socket without TLS: omit `tls`")
        account = checked(token, "unix:/", insecure=insecure)
        server = await in_thread(PrivateServer, server_args, account=account, binary=binary)
        return Client(server, found_by=found_by, timeout=timeout)
    if server_args or binary is not None:
        raise ValueError("`server_args` and `binary` are for a private server: omit the address")
    if address == LOCAL:
        if tls or token is not None:
            raise ValueError(f"{LOCAL!r} is not a server: omit `tls` and `token`")
        return Client(LocalConnection(module), found_by=found_by, timeout=timeout)
    understood = _core.check_address(address)
    if tls and understood.startswith("unix:"):
        raise ValueError(f"{understood} is a Unix socket, which does not use TLS: omit `tls`")
    secured = await in_thread(read, tls)
    account = checked(token, understood, insecure=insecure or secured is not None)
    connection = Connection(understood, tls=secured, account=account)
    return Client(connection, found_by=found_by, timeout=timeout)
