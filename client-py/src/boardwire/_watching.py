"""Episodes as they are asked for, and as they come."""

from __future__ import annotations

from collections.abc import Iterator

from ._connection import Connection, path
from ._replay import Frame, Replay, frame, replay
from ._waiting import result_of
from .errors import BoardwireError
from .v1 import match_service_pb2 as pb


def fetch_replay(
    connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float, advice: str
) -> Replay:
    """An episode as the holder of a token may see it, or anybody."""
    request = pb.GetReplayRequest(match_id=match_id, episode=episode)
    answer = result_of(
        connection.call("MatchService/GetReplay", request, timeout=timeout, token=token, advice=advice)
    )
    return replay(answer.replay)


def watch(
    connection: Connection,
    match_id: str,
    after: int | None,
    *,
    token: str,
    timeout: float,
    advice: str,
) -> Iterator[Frame]:
    """Every position of a match as the public may see it, as it comes."""
    request = pb.WatchRequest(match_id=match_id, after=after)
    pipe = connection.channel.stream(path("MatchService/Watch"), token, request.SerializeToString())
    try:
        while True:
            try:
                shown = result_of(pipe.receive(timeout))
            except BoardwireError as failure:
                raise result_of(connection.explained(failure, advice)) from None
            if shown is None:
                return
            yield frame(pb.WatchResponse.FromString(shown).frame)
    finally:
        pipe.close()
