"""Episodes as they are asked for, and as they come.

Generated from boardwire/_watching.py by client-py/tools/aio.py.
"""
from __future__ import annotations
from collections.abc import AsyncIterator
from ._connection import Connection
from .._replay import Frame, Replay
from .._values import frame, replay
from ..errors import BoardwireError

async def fetch_replay(connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float, advice: str) -> Replay:
    """An episode as the holder of a token may see it, or anybody."""
    request = {'match_id': match_id, 'episode': episode}
    answer = await connection.call('MatchService/GetReplay', request, timeout=timeout, token=token, advice=advice)
    return replay(answer['replay'])

async def watch(connection: Connection, match_id: str, after: int | None, *, token: str, timeout: float, advice: str) -> AsyncIterator[Frame]:
    """Every position of a match as the public may see it, as it comes."""
    request = {'match_id': match_id, 'after': after}
    pipe = connection.channel.stream('MatchService/Watch', token, request)
    try:
        while True:
            try:
                shown = await pipe.receive(timeout)
            except BoardwireError as failure:
                raise await connection.explained(failure, advice) from None
            if shown is None:
                return
            yield frame(shown['frame'])
    finally:
        pipe.close()