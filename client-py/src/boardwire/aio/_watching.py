"""Calls about a match that its host, its seats and spectators share.

Generated from boardwire/_watching.py by client-py/tools/aio.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from .._info import MatchInfo
from .._replay import Frame, Replay
from .._values import frame, match_info, replay
from ..errors import BoardwireError
from ._connection import Connection

MATCH_GOES_ON = "the match continues while the server runs, and after a restart with its journal: repeat the call, or take the seat again with client.seat(match_id, token)"


async def fetch_match(connection: Connection, match_id: str, timeout: float | None, token: str) -> MatchInfo:
    """Fetches what the holder of a token may know of a match."""
    request = {"match_id": match_id}
    answer = await connection.call(
        "MatchService/GetMatch", request, timeout=timeout, token=token, advice=MATCH_GOES_ON
    )
    return match_info(answer["match"])


async def fetch_replay(
    connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float | None
) -> Replay:
    """Fetches an episode as the holder of `token` may see it, or the public if it is empty."""
    request = {"match_id": match_id, "episode": episode}
    answer = await connection.call(
        "MatchService/GetReplay", request, timeout=timeout, token=token, advice=MATCH_GOES_ON
    )
    return replay(answer["replay"])


async def watch(
    connection: Connection, match_id: str, after: int | None, *, token: str, timeout: float | None
) -> AsyncIterator[Frame]:
    """Yields every position of a match as the public may see it, as the match is played."""
    request = {"match_id": match_id, "after": after}
    pipe = connection.channel.stream("MatchService/Watch", token, request)
    try:
        while True:
            try:
                shown = await pipe.receive(timeout)
            except BoardwireError as failure:
                raise await connection.explained(failure, MATCH_GOES_ON) from None
            if shown is None:
                return
            yield frame(shown["frame"])
    finally:
        pipe.close()
