"""Clients, matches, seats, batches and searches whose calls wait in the thread that makes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._batch import BatchCore
from ._client import CALL_SECONDS, ClientCore
from ._match import MatchCore
from ._part import BatchPartCore
from ._search import SearchCore
from ._seat import WAIT_SECONDS, SeatCore
from ._tls import TLS
from ._twins import Closing, blocking, blocking_each, run
from ._types import BatchStep
from ._ways import BLOCKING


class Search(SearchCore, Closing):
    __doc__ = SearchCore.__doc__

    advance = blocking(SearchCore._advance)
    rollout = blocking(SearchCore._rollout)
    values = blocking(SearchCore._values)
    close = blocking(SearchCore._close)


class Seat(SeatCore[Search], Closing):
    __doc__ = SeatCore.__doc__
    _search_type = Search

    observe = blocking(SeatCore[Search]._observe)
    act = blocking(SeatCore[Search]._act)
    reset = blocking(SeatCore[Search]._reset)
    open = blocking(SeatCore[Search]._open)
    resign = blocking(SeatCore[Search]._resign)
    search = blocking(SeatCore[Search]._search)
    info = blocking(SeatCore[Search]._info)
    replay = blocking(SeatCore[Search]._replay)
    close = blocking(SeatCore[Search]._close)


class Match(MatchCore[Seat], Closing):
    __doc__ = MatchCore.__doc__

    join = blocking(MatchCore[Seat]._join)
    invite = blocking(MatchCore[Seat]._invite)
    info = blocking(MatchCore[Seat]._info)
    reset = blocking(MatchCore[Seat]._reset)
    resign = blocking(MatchCore[Seat]._resign)
    replay = blocking(MatchCore[Seat]._replay)
    watch = blocking_each(MatchCore[Seat]._watch)
    close = blocking(MatchCore[Seat]._close)


class BatchPart(BatchPartCore):
    __doc__ = BatchPartCore.__doc__

    send = blocking(BatchPartCore._send)
    recv = blocking(BatchPartCore._recv)
    step = blocking(BatchPartCore._step)


class Batch(BatchCore[BatchPart, Search], Closing):
    __doc__ = BatchCore.__doc__
    _part_type, _search_type = BatchPart, Search

    reset = blocking(BatchCore[BatchPart, Search]._reset)

    def step(
        self,
        actions: ArrayLike,
        *,
        mask: NDArray[np.bool_] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> BatchStep:
        # To go through coroutines would take longer than to step one environment.
        at_once = self._at_once
        if at_once is not None and mask is None and not self._whole._sent:
            step = at_once(actions)
            if step is not None:
                return step
        return run(self._step(actions, mask=mask, timeout=timeout))

    step.__doc__ = BatchCore._step.__doc__
    send = blocking(BatchCore[BatchPart, Search]._send)
    recv = blocking(BatchCore[BatchPart, Search]._recv)
    save = blocking(BatchCore[BatchPart, Search]._save)
    load = blocking(BatchCore[BatchPart, Search]._load)
    search = blocking(BatchCore[BatchPart, Search]._search)
    close = blocking(BatchCore[BatchPart, Search]._close)


class Client(ClientCore[Seat, Match, Batch], Closing):
    __doc__ = ClientCore.__doc__
    _WAY = BLOCKING
    _seat_type, _match_type, _batch_type = Seat, Match, Batch

    server = blocking(ClientCore[Seat, Match, Batch]._server)
    games = blocking(ClientCore[Seat, Match, Batch]._games)
    game = blocking(ClientCore[Seat, Match, Batch]._game)
    create_match = blocking(ClientCore[Seat, Match, Batch]._create_match)
    open_batch = blocking(ClientCore[Seat, Match, Batch]._open_batch)
    join = blocking(ClientCore[Seat, Match, Batch]._join)
    seat = blocking(ClientCore[Seat, Match, Batch]._seat)
    replay = blocking(ClientCore[Seat, Match, Batch]._replay)
    watch = blocking_each(ClientCore[Seat, Match, Batch]._watch)
    matches = blocking_each(ClientCore[Seat, Match, Batch]._matches)
    close = blocking(ClientCore[Seat, Match, Batch]._close)


def connect(
    target: str | None = None,
    *,
    tls: TLS | bool = False,
    token: str | None = None,
    insecure: bool = False,
    timeout: float = CALL_SECONDS,
    server_args: Sequence[str] = (),
) -> Client:
    """Connects to a server, or starts a private one.

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
    return run(
        Client._connect(
            target, tls=tls, token=token, insecure=insecure, timeout=timeout, server_args=server_args
        )
    )
