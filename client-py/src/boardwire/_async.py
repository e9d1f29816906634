"""Clients, matches, seats, batches and searches whose calls are awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from types import TracebackType
from typing import Any

from ._batch import BatchCore
from ._client import CALL_SECONDS, ClientCore
from ._match import MatchCore
from ._part import BatchPartCore
from ._search import SearchCore
from ._seat import SeatCore
from ._tls import TLS
from ._twins import AsyncClosing, awaiting, awaiting_each
from ._ways import AWAITING


class Search(SearchCore, AsyncClosing):
    __doc__ = SearchCore.__doc__

    advance = awaiting(SearchCore._advance)
    rollout = awaiting(SearchCore._rollout)
    values = awaiting(SearchCore._values)
    close = awaiting(SearchCore._close)


class Seat(SeatCore[Search], AsyncClosing):
    __doc__ = SeatCore.__doc__
    _search_type = Search

    observe = awaiting(SeatCore[Search]._observe)
    act = awaiting(SeatCore[Search]._act)
    reset = awaiting(SeatCore[Search]._reset)
    open = awaiting(SeatCore[Search]._open)
    resign = awaiting(SeatCore[Search]._resign)
    search = awaiting(SeatCore[Search]._search)
    info = awaiting(SeatCore[Search]._info)
    replay = awaiting(SeatCore[Search]._replay)
    close = awaiting(SeatCore[Search]._close)


class Match(MatchCore[Seat], AsyncClosing):
    __doc__ = MatchCore.__doc__

    join = awaiting(MatchCore[Seat]._join)
    invite = awaiting(MatchCore[Seat]._invite)
    info = awaiting(MatchCore[Seat]._info)
    reset = awaiting(MatchCore[Seat]._reset)
    resign = awaiting(MatchCore[Seat]._resign)
    replay = awaiting(MatchCore[Seat]._replay)
    watch = awaiting_each(MatchCore[Seat]._watch)
    close = awaiting(MatchCore[Seat]._close)


class BatchPart(BatchPartCore):
    __doc__ = BatchPartCore.__doc__

    send = awaiting(BatchPartCore._send)
    recv = awaiting(BatchPartCore._recv)
    step = awaiting(BatchPartCore._step)


class Batch(BatchCore[BatchPart, Search], AsyncClosing):
    __doc__ = BatchCore.__doc__
    _part_type, _search_type = BatchPart, Search

    reset = awaiting(BatchCore[BatchPart, Search]._reset)
    step = awaiting(BatchCore[BatchPart, Search]._step)
    send = awaiting(BatchCore[BatchPart, Search]._send)
    recv = awaiting(BatchCore[BatchPart, Search]._recv)
    save = awaiting(BatchCore[BatchPart, Search]._save)
    load = awaiting(BatchCore[BatchPart, Search]._load)
    search = awaiting(BatchCore[BatchPart, Search]._search)
    close = awaiting(BatchCore[BatchPart, Search]._close)


class Client(ClientCore[Seat, Match, Batch], AsyncClosing):
    __doc__ = ClientCore.__doc__
    _WAY = AWAITING
    _seat_type, _match_type, _batch_type = Seat, Match, Batch

    server = awaiting(ClientCore[Seat, Match, Batch]._server)
    games = awaiting(ClientCore[Seat, Match, Batch]._games)
    game = awaiting(ClientCore[Seat, Match, Batch]._game)
    create_match = awaiting(ClientCore[Seat, Match, Batch]._create_match)
    open_batch = awaiting(ClientCore[Seat, Match, Batch]._open_batch)
    join = awaiting(ClientCore[Seat, Match, Batch]._join)
    seat = awaiting(ClientCore[Seat, Match, Batch]._seat)
    replay = awaiting(ClientCore[Seat, Match, Batch]._replay)
    watch = awaiting_each(ClientCore[Seat, Match, Batch]._watch)
    matches = awaiting_each(ClientCore[Seat, Match, Batch]._matches)
    close = awaiting(ClientCore[Seat, Match, Batch]._close)


class _Connecting:
    """A client to come: `await` gives it, `async with` gives and closes it."""

    def __init__(self, connect: Callable[[], Coroutine[Any, Any, Client]]) -> None:
        self._connect = connect

    def __await__(self) -> Generator[Any, Any, Client]:
        return self._connect().__await__()

    async def __aenter__(self) -> Client:
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)


def connect(
    target: str | None = None,
    *,
    tls: TLS | bool = False,
    token: str | None = None,
    insecure: bool = False,
    timeout: float = CALL_SECONDS,
    server_args: Sequence[str] = (),
) -> _Connecting:
    """Connects to a server, or starts a private one; for `async with`, or to be awaited.

    Args:
        target: `host:port` or `unix:/path`. Without it a server is started on a Unix socket of its own;
            it ends with the client, and at the latest with this process. `local:` is no server but an engine
            in this process, which has batches and no matches.
        tls: Whether to speak TLS, with a server whose certificate leads to a root of this system; or a `TLS`,
            which says what other roots to trust, and how this client proves itself.
        token: The token of an account, for servers that serve accounts alone.
        insecure: Whether to send it without TLS, too, where others could read it on its way.
        timeout: Seconds that a call may take, unless it waits for others.
        server_args: More arguments of `boardwire serve`, for a private server.

    Raises:
        StartError: The private server was not found or did not start, or there is no engine for `local:`.
        OSError: A file of `tls` cannot be read.
        ValueError: The target is no address, arguments are given for a server that runs already, a file of
            `tls` has not what it should, or the token could be read on its way.
    """
    return _Connecting(
        lambda: Client._connect(
            target, tls=tls, token=token, insecure=insecure, timeout=timeout, server_args=server_args
        )
    )
