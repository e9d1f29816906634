"""A function for each error of games and matches that provokes it, and their register."""

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
from raw import fields_of, players, stream_error

#: The function that provokes each error, by its name in the table.
PROVOKED: dict[str, Callable[[boardwire.Client], object]] = {}


def provokes(reason: str) -> Callable[[Any], Any]:
    """Registers a function that provokes an error."""

    def register(function: Any) -> Any:
        PROVOKED[reason] = function
        return function

    return register


def call(
    client: boardwire.Client,
    method: str,
    request: Any,
    token: str = "",
) -> Any:
    """Makes a call that the methods of the client would not make."""
    return client._connection.call(method, fields_of(request), timeout=60, token=token)


def grpc_channel(client: boardwire.Client) -> grpc.Channel:
    """Opens another connection to the server, for any call with any bytes."""
    return grpc.insecure_channel(client.address, options=[("grpc.default_authority", "localhost")])


def observe_method(client: boardwire.Client) -> Any:
    """Returns the method `Observe` of such a connection."""
    return match_service_pb2_grpc.MatchServiceStub(grpc_channel(client)).Observe


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Returns the metadata that carries a token."""
    return (("authorization", f"Bearer {token}"),)


def error_of(status: grpc.RpcError) -> boardwire.BoardwireError:
    """Returns the exception for the status of a failed call."""
    assert isinstance(status, grpc.Call)
    (details,) = (value for name, value in status.trailing_metadata() if name == "grpc-status-details-bin")
    return stream_error(Status.FromString(details))


def started_match(
    client: boardwire.Client, *others: str, **kwargs: Any
) -> tuple[boardwire.Match, boardwire.Seat, boardwire.Observation]:
    """Creates a match with a seat that has a pending decision."""
    match = client.create_match("faraway", players=["agent", *(others or ["random"])], seed=1, **kwargs)
    seat = match.join(0)
    return match, seat, seat.observe()


def first_legal(obs: boardwire.Observation) -> int:
    """Returns the first legal action."""
    return int(obs.mask.nonzero()[0][0])


def accounts_of(folder: Path) -> list[str]:
    """Returns the arguments of a server with one account."""
    file = folder / "accounts.toml"
    account(file, "ada")
    return ["--auth-token-file", str(file)]


def play_out(seat: boardwire.Seat) -> None:
    """Plays first legal actions to the end."""
    obs = seat.observe()
    while not obs.over:
        obs = seat.act(first_legal(obs))


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
    match, seat, _ = started_match(client)
    call(
        client,
        "MatchService/Reset",
        pb.ResetRequest(match_id=match.id, episode=99),
        seat.token,
    )


@provokes("MATCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.seat("unknown", "token")


@provokes("INVITATION_UNKNOWN")
def _(client: boardwire.Client) -> None:
    client.join("unknown")


@provokes("DECISION_LATE")
def _(client: boardwire.Client) -> None:
    clock = boardwire.Clock(limit=0.01, on_timeout="first_legal")
    match = client.create_match("faraway", players=["agent", "random"], clock=clock)
    seat = match.join(0)
    obs = seat.observe()
    while not seat.observe(wait=False).timed_out:
        time.sleep(0.01)
    seat.last = obs
    seat.act(int(obs.mask.nonzero()[0][0]))


@provokes("NOT_DEALT")
def _(client: boardwire.Client) -> None:
    match = client.create_match("faraway", players=["agent", "random"], fair_deals=True)
    match.join(0).observe(wait=False)


@provokes("DEAL_WITHHELD")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--opening-timeout", "1"]) as short_timeout:
        match = short_timeout.create_match("faraway", players=["agent", "random"], fair_deals=True)
        match.join(0).observe()


@provokes("FRAMES_GONE")
def _(client: boardwire.Client) -> None:
    match = started_match(client)[0]
    for _ in range(6):
        match.resign(0)
        match.reset()
    next(match.watch(after=0))


@provokes("INVITATION_USED")
def _(client: boardwire.Client) -> None:
    started_match(client)[0].join(0)


@provokes("TOKEN_MISSING")
def _(client: boardwire.Client) -> None:
    match = started_match(client)[0]
    call(client, "MatchService/Observe", pb.ObserveRequest(match_id=match.id))


@provokes("CALLER_TOKEN_MISSING")
def _(client: boardwire.Client) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        boardwire.connect(server_args=accounts_of(Path(folder))) as anonymous,
    ):
        anonymous.games()


@provokes("CALLER_TOKEN_WRONG")
def _(client: boardwire.Client) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        boardwire.connect(server_args=accounts_of(Path(folder)), token="guessed") as stranger,
    ):
        stranger.games()


@provokes("TOKEN_WRONG")
def _(client: boardwire.Client) -> None:
    client.seat(started_match(client)[0].id, "guessed").observe(wait=False)


@provokes("HOST_ONLY")
def _(client: boardwire.Client) -> None:
    match, seat, _ = started_match(client)
    call(
        client,
        "MatchService/CloseMatch",
        pb.CloseMatchRequest(match_id=match.id),
        seat.token,
    )


@provokes("SEAT_ONLY")
def _(client: boardwire.Client) -> None:
    match = started_match(client)[0]
    client.seat(match.id, match.host_token).observe(wait=False)


@provokes("NOT_YOUR_TURN")
def _(client: boardwire.Client) -> None:
    _, seat, obs = started_match(client, "agent")
    seat.act(first_legal(obs), wait=False)
    seat.act(first_legal(obs), wait=False)


@provokes("ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    _, seat, obs = started_match(client)
    seat.act(int((~obs.mask).nonzero()[0][0]))


@provokes("ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    match, seat, _ = started_match(client)
    seat.act(len(match.spec.actions))


@provokes("DECISION_STALE")
def _(client: boardwire.Client) -> None:
    _, seat, obs = started_match(client)
    seat.act(first_legal(obs))
    seat.last = obs
    seat.act(int(obs.mask.nonzero()[0][1]))


@provokes("EPISODE_OVER")
def _(client: boardwire.Client) -> None:
    _, seat, _ = started_match(client)
    play_out(seat)
    seat.act(0)


@provokes("EPISODE_NOT_OVER")
def _(client: boardwire.Client) -> None:
    started_match(client, "agent")[1].reset()


@provokes("MATCH_CLOSED")
def _(client: boardwire.Client) -> None:
    match, seat, _ = started_match(client)
    match.close()
    seat.observe(wait=False)


@provokes("MATCHES_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-matches", "1"]) as small:
        small.create_match("faraway", players=["random", "random"])
        small.create_match("faraway", players=["random", "random"])


@provokes("MATCH_EXPIRED")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--match-idle-timeout", "1"]) as short_timeout:
        seat = started_match(short_timeout)[1]
        # Listing a match does not count as its use.
        while next(short_timeout.matches()).state != "closed":
            pass
        seat.observe(wait=False)


@provokes("SEAT_BUSY")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-waiting-calls", "1"]) as small:
        match, seat, obs = started_match(small, "agent")
        seat.act(first_legal(obs), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = observe_method(small)
        calls = [observe.future(request, metadata=bearer(seat.token)) for _ in range(2)]
        while not any(waiting.done() for waiting in calls):
            pass
        status = next(waiting for waiting in calls if waiting.done()).exception()
        assert isinstance(status, grpc.RpcError)
        raise error_of(status)


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
            started_match(full)


@provokes("SHUTTING_DOWN")
def _(client: boardwire.Client) -> None:
    with boardwire.connect() as stopping:
        match, seat, obs = started_match(stopping, "agent")
        seat.act(first_legal(obs), wait=False)
        channel, server = grpc_channel(stopping), stopping._private
        stub = match_service_pb2_grpc.MatchServiceStub(channel)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        waiting = stub.Observe.future(request, metadata=bearer(seat.token))
        # A later call on the same connection has a response, so the server has received `Observe`.
        info = pb.GetMatchRequest(match_id=match.id)
        stub.GetMatch(info, timeout=60)
        assert server is not None
        assert server._process.stdin is not None
        server._process.stdin.close()
        status = waiting.exception()
        assert isinstance(status, grpc.RpcError)
        raise error_of(status)
