"""Valid calls, many at the same time, and counts of their outcomes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import grpc
from google.rpc import error_details_pb2, status_pb2
from raw import player

from boardwire_v1 import (
    batch_pb2_grpc,
    catalog_pb2_grpc,
    match_service_pb2,
    match_service_pb2_grpc,
    search_pb2_grpc,
)
from boardwire_v1.batch_pb2 import BatchConfig, LineUp, OpenBatchRequest
from boardwire_v1.match_pb2 import Clock, MatchConfig
from boardwire_v1.observation_pb2 import Observation
from target import Failed, Target, expect

Request = TypeVar("Request")
#: The maximum duration of a call in seconds, even on a busy server.
CALL_TIMEOUT = 60.0
#: The outcome of a successful call.
OK = "OK"


def connect(address: str) -> grpc.Channel:
    """Returns a channel with its own connection."""
    options: list[tuple[str, Any]] = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.max_reconnect_backoff_ms", 200),
    ]
    if address.startswith("unix:"):
        options.append(("grpc.default_authority", "localhost"))
    return grpc.insecure_channel(address, options=options)


class Stubs:
    """The services over one connection."""

    def __init__(self, address: str) -> None:
        """Opens the connection."""
        self.channel = connect(address)
        self.matches = match_service_pb2_grpc.MatchServiceStub(self.channel)
        self.batches = batch_pb2_grpc.BatchServiceStub(self.channel)
        self.catalog = catalog_pb2_grpc.CatalogServiceStub(self.channel)
        self.searches = search_pb2_grpc.SearchServiceStub(self.channel)

    def close(self) -> None:
        """Closes the connection."""
        self.channel.close()

    def __enter__(self) -> Stubs:
        """Returns the stubs."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connection."""
        self.close()


def method(channel: grpc.Channel, path: str) -> Any:
    """Returns a unary method that takes and returns bytes."""
    return channel.unary_unary(path)


def bearer(token: str) -> tuple[tuple[str, str | bytes], ...]:
    """Returns the metadata that carries a token."""
    return (("authorization", f"Bearer {token}"),)


def reason(error: grpc.RpcError | grpc.Call) -> str:
    """Returns the reason of a failed call, or its code if the status has no reason."""
    assert isinstance(error, grpc.Call)
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            info = error_details_pb2.ErrorInfo()
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(info):
                    return str(info.reason)
    return f"{error.code().name} without a reason: {error.details()}"


def outcome(future: Any) -> str:
    """Waits for a call and returns OK or the reason of its error."""
    try:
        future.result(timeout=CALL_TIMEOUT)
    except grpc.FutureTimeoutError:
        raise Failed(f"a call had no response within {CALL_TIMEOUT:g} s") from None
    except grpc.FutureCancelledError:
        return "CANCELLED"
    except grpc.RpcError as error:
        return reason(error)
    return OK


def flood(
    call: Callable[[Request], Any],
    requests: Iterable[Request],
    *,
    width: int = 256,
    on_response: Callable[[Request, Any], None] | None = None,
) -> Counter[str]:
    """Makes calls with `call`, `width` at a time, and counts their outcomes.

    `on_response` gets each successful request with its response.
    """
    free, outcomes, failures = threading.Semaphore(width), Counter[str](), list[BaseException]()

    def done(request: Request, future: Any) -> None:
        try:
            result = outcome(future)
            outcomes[result] += 1
            if result == OK and on_response is not None:
                on_response(request, future.result())
        except BaseException as error:
            failures.append(error)
        finally:
            free.release()

    for request in requests:
        expect(free.acquire(timeout=CALL_TIMEOUT), f"calls had no response within {CALL_TIMEOUT:g} s")
        call(request).add_done_callback(lambda future, request=request: done(request, future))
    for _ in range(width):
        expect(free.acquire(timeout=CALL_TIMEOUT), f"calls had no response within {CALL_TIMEOUT:g} s")
    if failures:
        raise failures[0]
    return outcomes


class Seat:
    """The seats of agents in a new match."""

    def __init__(
        self,
        stubs: Stubs,
        players: Iterable[str] = ("agent", "random"),
        game: str = "faraway",
        clocks: Iterable[Clock] = (),
    ) -> None:
        """Creates a match and joins the seats of all agents."""
        self.stubs = stubs
        self.created = stubs.matches.CreateMatch(
            match_request(players, config=MatchConfig(game=game, clocks=clocks))
        )
        self.match_id = self.created.match.id
        self.tokens = [
            stubs.matches.JoinMatch(match_service_pb2.JoinMatchRequest(code=each.code)).token
            for each in self.created.invitations
        ]

    def observe(self, seat: int = 0) -> Observation:
        """Returns the current observation of a seat."""
        request = match_service_pb2.ObserveRequest(match_id=self.match_id)
        return self.stubs.matches.Observe(request, metadata=bearer(self.tokens[seat])).observation

    def act(self, seat: int = 0) -> None:
        """Plays the first legal action at a pending seat."""
        self.play_first(self.observe(seat), seat)

    def play_first(self, obs: Observation, seat: int = 0, **fields: Any) -> Observation:
        """Plays the first legal action of an observation and returns the next observation."""
        act = match_service_pb2.ActRequest(
            match_id=self.match_id,
            episode=obs.episode,
            decision=obs.decision,
            action=legal(obs.mask)[0],
            **fields,
        )
        metadata = bearer(self.tokens[seat])
        return self.stubs.matches.Act(act, metadata=metadata, timeout=CALL_TIMEOUT).observation

    def alternate(self) -> None:
        """Plays at seat 1 until seat 0 is pending. The cards determine which seat is next."""
        while 0 not in self.observe().pending:
            self.act(1)

    def close(self) -> None:
        """Closes the match."""
        request = match_service_pb2.CloseMatchRequest(match_id=self.match_id)
        self.stubs.matches.CloseMatch(request, metadata=bearer(self.created.host_token))


def match_request(
    players: Iterable[str],
    config: MatchConfig | None = None,
    *,
    seed: int | None = None,
    request_id: str = "",
) -> match_service_pb2.CreateMatchRequest:
    """Returns a request for a match of these players. The default game is Faraway."""
    request = match_service_pb2.CreateMatchRequest(config=config, seed=seed, request_id=request_id)
    request.config.game = request.config.game or "faraway"
    request.config.players.extend(map(player, players))
    return request


def batch_request(players: Sequence[str], environments: int, *, request_id: str = "") -> OpenBatchRequest:
    """Returns a request for a batch of Faraway with the largest possible responses."""
    line_up = LineUp(players=map(player, players))
    return OpenBatchRequest(
        config=BatchConfig(game="faraway", line_ups=[line_up], environments=environments),
        max_message_bytes=64 << 20,
        request_id=request_id,
    )


def legal(mask: bytes) -> list[int]:
    """Returns the legal actions of a mask."""
    return [action for action in range(8 * len(mask)) if mask[action // 8] >> action % 8 & 1]


def format_counts(counts: Counter[str]) -> str:
    """Formats counts for a line of output."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


def check_served(target: Target) -> None:
    """Fails unless the server plays a match on a new connection."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs)
        seat.act()
        seat.close()
