"""Episodes of matches: replays, and frames as the match is played."""

from __future__ import annotations

from collections.abc import Iterator

from ._connection import Connection
from ._replay import Frame, Replay
from ._values import frame, replay
from ._waiting import result_of
from .errors import BoardwireError


def fetch_replay(
    connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float, advice: str
) -> Replay:
    """Fetches an episode as the holder of `token` may see it, or the public if it is empty."""
    request = {"match_id": match_id, "episode": episode}
    answer = result_of(
        connection.call("MatchService/GetReplay", request, timeout=timeout, token=token, advice=advice)
    )
    return replay(answer["replay"])


def watch(
    connection: Connection,
    match_id: str,
    after: int | None,
    *,
    token: str,
    timeout: float,
    advice: str,
) -> Iterator[Frame]:
    """Yields every position of a match as the public may see it, as the match is played."""
    request = {"match_id": match_id, "after": after}
    pipe = connection.channel.stream("MatchService/Watch", token, request)
    try:
        while True:
            try:
                shown = result_of(pipe.receive(timeout))
            except BoardwireError as failure:
                raise result_of(connection.explained(failure, advice)) from None
            if shown is None:
                return
            yield frame(shown["frame"])
    finally:
        pipe.close()
