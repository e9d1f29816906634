"""Calls about a match that its host, its seats and spectators share."""

from __future__ import annotations

from collections.abc import Iterator

from ._connection import Connection
from ._info import MatchInfo
from ._replay import Frame, Replay
from ._values import frame, match_info, replay
from ._waiting import result_of
from .errors import BoardwireError

#: The advice that errors about a lost connection give to players and hosts.
MATCH_GOES_ON = (
    "the match continues while the server runs, and after a restart with its journal: repeat the call, or "
    "take the seat again with client.seat(match_id, token)"
)


def fetch_match(connection: Connection, match_id: str, timeout: float | None, token: str) -> MatchInfo:
    """Fetches what the holder of a token may know of a match."""
    request = {"match_id": match_id}
    answer = result_of(
        connection.call("MatchService/GetMatch", request, timeout=timeout, token=token, advice=MATCH_GOES_ON)
    )
    return match_info(answer["match"])


def fetch_replay(
    connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float | None
) -> Replay:
    """Fetches an episode as the holder of `token` may see it, or the public if it is empty."""
    request = {"match_id": match_id, "episode": episode}
    answer = result_of(
        connection.call("MatchService/GetReplay", request, timeout=timeout, token=token, advice=MATCH_GOES_ON)
    )
    return replay(answer["replay"])


def watch(
    connection: Connection,
    match_id: str,
    after: int | None,
    *,
    token: str,
    timeout: float | None,
) -> Iterator[Frame]:
    """Yields every position of a match as the public may see it, as the match is played."""
    request = {"match_id": match_id, "after": after}
    pipe = connection.channel.stream("MatchService/Watch", token, request)
    try:
        while True:
            try:
                shown = result_of(pipe.receive(timeout))
            except BoardwireError as failure:
                raise result_of(connection.explained(failure, MATCH_GOES_ON)) from None
            if shown is None:
                return
            yield frame(shown["frame"])
    finally:
        pipe.close()
