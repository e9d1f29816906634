"""What provokes the errors of tables and matches, and how tests note what provokes an error."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.rpc.status_pb2 import Status

import boardwire
from accounts import account
from boardwire_v1 import match_pb2, match_service_pb2_grpc
from boardwire_v1 import match_service_pb2 as pb
from journals import served
from raw import fields_of, players, refusal

#: What provokes an error, by its name in the table.
PROVOKED: dict[str, Callable[[boardwire.Client], object]] = {}


def provokes(reason: str) -> Callable[[Any], Any]:
    """Notes that a function provokes an error."""

    def note(function: Any) -> Any:
        PROVOKED[reason] = function
        return function

    return note


def call(
    client: boardwire.Client,
    method: str,
    request: Any,
    token: str = "",
) -> Any:
    """A call as no well-behaved client makes it."""
    return client._connection.call(method, fields_of(request), timeout=60, token=token)


def over_grpcio(client: boardwire.Client) -> grpc.Channel:
    """Another connection to the server, on which any call can be made in any way."""
    return grpc.insecure_channel(client.address, options=[("grpc.default_authority", "localhost")])


def observing(client: boardwire.Client) -> Any:
    """The method `Observe` over such a connection."""
    return match_service_pb2_grpc.MatchServiceStub(over_grpcio(client)).Observe


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """The metadata of who has a token."""
    return (("authorization", f"Bearer {token}"),)


def refused(status: grpc.RpcError) -> boardwire.BoardwireError:
    """The exception for a call that has failed so."""
    assert isinstance(status, grpc.Call)
    (details,) = (value for name, value in status.trailing_metadata() if name == "grpc-status-details-bin")
    return refusal(Status.FromString(details))


def begun(
    client: boardwire.Client, *others: str, **kwargs: Any
) -> tuple[boardwire.Match, boardwire.Seat, boardwire.Observation]:
    """A match that has begun, with the seat that has something to decide."""
    match = client.create_match("faraway", players=["agent", *(others or ["random"])], seed=1, **kwargs)
    seat = match.join(0)
    return match, seat, seat.observe()


def legal(seen: boardwire.Observation) -> int:
    """The first legal action."""
    return int(seen.mask.nonzero()[0][0])


def accounts_of(folder: Path) -> list[str]:
    """What lets a server serve one account alone."""
    file = folder / "accounts.toml"
    account(file, "ada")
    return ["--auth-token-file", str(file)]


def play_out(seat: boardwire.Seat) -> None:
    """Plays first legal actions to the end."""
    seen = seat.observe()
    while not seen.over:
        seen = seat.act(legal(seen))


@provokes("GAME_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.game("chess")


@provokes("SEATS_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["random"])


@provokes("OPTION_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.game("faraway", options={"weather": "fine"})


@provokes("OPTION_VALUE_INVALID")
def _(client: boardwire.Client) -> None:
    client.game("faraway", options={"variant": "deluxe"})


@provokes("BOT_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["agent", "oracle"])


@provokes("FIELD_INVALID")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    call(
        client,
        "MatchService/Reset",
        pb.ResetRequest(match_id=match.id, episode=99),
        seat.token,
    )


@provokes("MATCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.seat("nowhere", "token")


@provokes("INVITATION_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.join("nobody")


@provokes("DECISION_LATE")
def _(client: boardwire.Client) -> None:
    clock = boardwire.Clock(limit=0.01, on_timeout="first_legal")
    match = client.create_match("faraway", players=["agent", "random"], clock=clock)
    seat = match.join(0)
    seen = seat.observe()
    while not seat.observe(wait=False).timed_out:
        time.sleep(0.01)
    seat.last = seen
    seat.act(int(seen.mask.nonzero()[0][0]))


@provokes("NOT_DEALT")
def _(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "random"], fair_deals=True)
    match.join(0).observe(wait=False)


@provokes("DEAL_WITHHELD")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--opening-timeout", "1"]) as hurried:
        match = hurried.create_match("faraway", players=["agent", "random"], fair_deals=True)
        match.join(0).observe()


@provokes("FRAMES_GONE")
def _(client: boardwire.Client) -> None:
    match = begun(client)[0]
    for _ in range(6):
        match.resign(0)
        match.reset()
    next(match.watch(after=0))


@provokes("INVITATION_USED")
def _(client: boardwire.Client) -> None:
    begun(client)[0].join(0)


@provokes("TOKEN_MISSING")
def _(client: boardwire.Client) -> None:
    match = begun(client)[0]
    call(client, "MatchService/Observe", pb.ObserveRequest(match_id=match.id))


@provokes("CALLER_TOKEN_MISSING")
def _(client: boardwire.Client) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        boardwire.connect(server_args=accounts_of(Path(folder))) as nobody,
    ):
        nobody.games()


@provokes("CALLER_TOKEN_WRONG")
def _(client: boardwire.Client) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        boardwire.connect(server_args=accounts_of(Path(folder)), token="guessed") as nobody,
    ):
        nobody.games()


@provokes("TOKEN_WRONG")
def _(client: boardwire.Client) -> None:
    client.seat(begun(client)[0].id, "guessed").observe(wait=False)


@provokes("HOST_ONLY")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    call(
        client,
        "MatchService/CloseMatch",
        pb.CloseMatchRequest(match_id=match.id),
        seat.token,
    )


@provokes("SEAT_ONLY")
def _(client: boardwire.Client) -> None:
    match = begun(client)[0]
    client.seat(match.id, match.host_token).observe(wait=False)


@provokes("NOT_YOUR_TURN")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client, "agent")
    seat.act(legal(seen), wait=False)
    seat.act(legal(seen), wait=False)


@provokes("ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client)
    seat.act(int((seen.mask == 0).nonzero()[0][0]))


@provokes("ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    seat.act(len(match.spec.actions))


@provokes("DECISION_STALE")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client)
    seat.act(legal(seen))
    seat.last = seen
    seat.act(int(seen.mask.nonzero()[0][1]))


@provokes("EPISODE_OVER")
def _(client: boardwire.Client) -> None:
    _, seat, _ = begun(client)
    play_out(seat)
    seat.act(0)


@provokes("EPISODE_NOT_OVER")
def _(client: boardwire.Client) -> None:
    begun(client, "agent")[1].reset()


@provokes("MATCH_CLOSED")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    match.close()
    seat.observe(wait=False)


@provokes("MATCHES_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-matches", "1"]) as small:
        small.create_match("faraway", players=["random", "random"])
        small.create_match("faraway", players=["random", "random"])


@provokes("MATCH_EXPIRED")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--match-idle-timeout", "1"]) as forgetful:
        seat = begun(forgetful)[1]
        # A list is no use of a match.
        while next(forgetful.matches()).state != "closed":
            pass
        seat.observe(wait=False)


@provokes("SEAT_BUSY")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-waiting-calls", "1"]) as strict:
        match, seat, seen = begun(strict, "agent")
        seat.act(legal(seen), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = observing(strict)
        calls = [observe.future(request, metadata=bearer(seat.token)) for _ in range(2)]
        while not any(waiting.done() for waiting in calls):
            pass
        status = next(waiting for waiting in calls if waiting.done()).exception()
        assert isinstance(status, grpc.RpcError)
        raise refused(status)


@provokes("REQUEST_ID_REUSED")
def _(client: boardwire.Client) -> None:
    request_id = str(uuid.uuid4())
    for bot in ("random", "greedy"):
        request = pb.CreateMatchRequest(
            config=match_pb2.MatchConfig(game="faraway", players=players(["agent", bot])),
            request_id=request_id,
        )
        call(client, "MatchService/CreateMatch", request)


@provokes("CALLER_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-matches-per-caller", "1"]) as small:
        small.create_match("faraway", players=["random", "random"])
        small.create_match("faraway", players=["random", "random"])


@provokes("JOURNAL_FAILED")
def _(client: boardwire.Client) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder), file_bytes=200_000),
        boardwire.connect(f"unix:{folder}/socket") as full,
    ):
        while True:
            begun(full)


@provokes("SHUTTING_DOWN")
def _(client: boardwire.Client) -> None:
    with boardwire.connect() as doomed:
        match, seat, seen = begun(doomed, "agent")
        seat.act(legal(seen), wait=False)
        channel, server = over_grpcio(doomed), doomed._private
        stub = match_service_pb2_grpc.MatchServiceStub(channel)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        waiting = stub.Observe.future(request, metadata=bearer(seat.token))
        # Answered on the same connection, so the server has the call before it by now.
        info = pb.GetMatchRequest(match_id=match.id)
        stub.GetMatch(info, timeout=60)
        assert server is not None
        assert server._process.stdin is not None
        server._process.stdin.close()
        status = waiting.exception()
        assert isinstance(status, grpc.RpcError)
        raise refused(status)
