"""Deals that are fair: what a seat looks at before it opens what it contributes, and afterwards."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from ._channel import Connection
from ._info import FairDeal, MatchInfo
from .errors import CallTimeout, ServerFault


async def all_bound(
    connection: Connection, info: Callable[[], Awaitable[MatchInfo]], timeout: float
) -> FairDeal | None:
    """What everybody is bound by, once all agents have joined; none where deals are the server's."""
    pause, deadline = 0.02, time.monotonic() + timeout
    while True:
        match = await info()
        if match.fair is None:
            return None
        bound = zip(match.players, match.fair.seat_commitments, strict=True)
        if all(commitment for player, commitment in bound if player == "agent"):
            return match.fair
        if time.monotonic() + pause > deadline:
            raise CallTimeout(f"the others have not joined within {timeout:g} seconds: open again")
        await connection.way.aside(time.sleep, pause)
        pause = min(2 * pause, 1.0)


def check_bound(seen: FairDeal, told: FairDeal | None) -> None:
    """Compares what everybody was bound by when it was `seen` with what is told of it later."""
    if told is None or (told.server_commitment, told.seat_commitments) != (
        seen.server_commitment,
        seen.seat_commitments,
    ):
        raise ServerFault("the replay says that others were bound than this seat saw before it opened")
