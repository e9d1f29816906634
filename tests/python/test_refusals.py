"""Every error that can be provoked from outside, end to end: code, reason, and the names of its metadata."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import boardwire
from boardwire._channel import Stubs, bearer
from boardwire._stream import PlayStream
from boardwire._twins import run
from boardwire.v1 import batch_service_pb2 as batch_pb
from boardwire.v1 import match_service_pb2 as pb

TABLE = Path(__file__).parents[1] / "errors.tsv"
ROWS = {row["variant"]: row for row in csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t")}

#: What provokes an error, by its name in the table.
PROVOKED: dict[str, Callable[[boardwire.Client], object]] = {}


def provokes(variant: str) -> Callable[[Any], Any]:
    """Notes that a function provokes an error."""

    def note(function: Any) -> Any:
        PROVOKED[variant] = function
        return function

    return note


def call(
    client: boardwire.Client,
    method: Callable[[Stubs], Any],
    request: Any,
    token: str = "",
) -> Any:
    """A call as no well-behaved client makes it."""
    return run(client._connection.call(method, request, timeout=10, token=token))


def begun(
    client: boardwire.Client, *others: str, **kwargs: Any
) -> tuple[boardwire.Match, boardwire.Seat, boardwire.Observation]:
    """A match that has begun, with the seat that has something to decide."""
    match = client.create_match("faraway", players=["remote", *(others or ["random"])], seed=1, **kwargs)
    seat = match.join(0)
    return match, seat, seat.observe(wait=True)


def legal(seen: boardwire.Observation) -> int:
    """The first legal action."""
    return int(seen.mask.nonzero()[0][0])


def play_out(seat: boardwire.Seat) -> None:
    """Plays first legal actions to the end."""
    seen = seat.observe(wait=True)
    while not seen.over:
        seen = seat.act(legal(seen))


@provokes("UnknownGame")
def _(client: boardwire.Client) -> None:
    client.game("chess")


@provokes("Seats")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["random"])


@provokes("UnknownOption")
def _(client: boardwire.Client) -> None:
    client.game("faraway", options={"weather": "fine"})


@provokes("OptionValue")
def _(client: boardwire.Client) -> None:
    client.game("faraway", options={"variant": "deluxe"})


@provokes("UnknownBot")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["remote", "oracle"])


@provokes("BadField")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    call(
        client,
        lambda on: on.match.Reset,
        pb.ResetRequest(match_id=match.id, episode=99),
        seat.token,
    )


@provokes("UnknownMatch")
def _(client: boardwire.Client) -> None:
    client.seat("nowhere", "token")


@provokes("UnknownInvitation")
def _(client: boardwire.Client) -> None:
    client.join("nobody")


@provokes("InvitationUsed")
def _(client: boardwire.Client) -> None:
    begun(client)[0].join(0)


@provokes("MissingToken")
def _(client: boardwire.Client) -> None:
    match = begun(client)[0]
    call(client, lambda on: on.match.Observe, pb.ObserveRequest(match_id=match.id))


@provokes("WrongToken")
def _(client: boardwire.Client) -> None:
    client.seat(begun(client)[0].id, "guessed").observe()


@provokes("HostOnly")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    call(
        client,
        lambda on: on.match.CloseMatch,
        pb.CloseMatchRequest(match_id=match.id),
        seat.token,
    )


@provokes("SeatOnly")
def _(client: boardwire.Client) -> None:
    match = begun(client)[0]
    client.seat(match.id, match.host_token).observe()


@provokes("NotYourTurn")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client, "remote")
    seat.act(legal(seen), wait=False)
    seat.act(legal(seen), wait=False)


@provokes("IllegalAction")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client)
    seat.act(int((seen.mask == 0).nonzero()[0][0]))


@provokes("ActionOutOfRange")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    seat.act(len(match.spec.actions))


@provokes("StaleDecision")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client)
    seat.act(legal(seen))
    seat.last = seen
    seat.act(int(seen.mask.nonzero()[0][1]))


@provokes("EpisodeOver")
def _(client: boardwire.Client) -> None:
    _, seat, _ = begun(client)
    play_out(seat)
    seat.act(0)


@provokes("EpisodeNotOver")
def _(client: boardwire.Client) -> None:
    begun(client, "remote")[1].reset()


@provokes("MatchClosed")
def _(client: boardwire.Client) -> None:
    match, seat, _ = begun(client)
    match.close()
    seat.observe()


@provokes("TableFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-matches", "1"]) as small:
        small.create_match("faraway", players=["random", "random"])
        small.create_match("faraway", players=["random", "random"])


@provokes("MatchExpired")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--match-idle-timeout", "1"]) as forgetful:
        seat = begun(forgetful)[1]
        # A list is no use of a match.
        while next(forgetful.matches()).state != "closed":
            pass
        seat.observe()


@provokes("SeatBusy")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-waiting-calls", "1"]) as strict:
        match, seat, seen = begun(strict, "remote")
        seat.act(legal(seen), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = strict._connection.stubs.match.Observe
        calls = [observe.future(request, metadata=bearer(seat.token)) for _ in range(2)]
        while not any(waiting.done() for waiting in calls):
            pass
        status = next(waiting for waiting in calls if waiting.done()).exception()
        assert isinstance(status, grpc.RpcError)
        raise run(strict._connection.failure(status))


@provokes("RequestReused")
def _(client: boardwire.Client) -> None:
    request_id = str(uuid.uuid4())
    for bot in ("random", "greedy"):
        request = pb.CreateMatchRequest(game="faraway", players=["remote", bot], request_id=request_id)
        call(client, lambda on: on.match.CreateMatch, request)


@provokes("CallerFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-matches-per-caller", "1"]) as small:
        small.create_match("faraway", players=["random", "random"])
        small.create_match("faraway", players=["random", "random"])


@provokes("UnknownToken")
def _(client: boardwire.Client) -> None:
    request = pb.ObserveRequest(match_id=begun(client)[0].id)
    run(PlayStream(client._connection, "guessed", advice="").ask(request, 10))


@provokes("ShuttingDown")
def _(client: boardwire.Client) -> None:
    with boardwire.connect() as doomed:
        match, seat, seen = begun(doomed, "remote")
        seat.act(legal(seen), wait=False)
        connection, server = doomed._connection, doomed._private
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        waiting = connection.stubs.match.Observe.future(request, metadata=bearer(seat.token))
        # Answered on the same connection, so the server has the call before it by now.
        match.info()
        assert server is not None
        assert server._process.stdin is not None
        server._process.stdin.close()
        status = waiting.exception()
        assert isinstance(status, grpc.RpcError)
        raise run(connection.failure(status))


def opened(client: boardwire.Client, **kwargs: Any) -> tuple[boardwire.Batch, boardwire.BatchStep]:
    """A batch at its first decisions."""
    batch = client.open_batch("faraway", environments=3, opponents={1: "random"}, seed=1, **kwargs)
    return batch, batch.reset()


@provokes("UnknownBatch")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    batch.close()
    batch.step(step.mask.argmax(axis=1))


@provokes("BatchOwnerOnly")
def _(client: boardwire.Client) -> None:
    mine, _ = opened(client)
    theirs, step = opened(client)
    theirs.id = theirs._stream.about.id = mine.id
    theirs.step(step.mask.argmax(axis=1))


@provokes("BatchesFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-batches", "1"]) as small:
        opened(small)
        opened(small)


@provokes("EnvironmentsFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-environments", "5"]) as small:
        opened(small)
        opened(small)


@provokes("BatchActionIllegal")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    batch.step((step.mask == 0).argmax(axis=1))


@provokes("BatchActionOutOfRange")
def _(client: boardwire.Client) -> None:
    batch, _ = opened(client)
    batch.step([len(batch.spec.actions)] * 3)


@provokes("EnvironmentOver")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client, autoreset="disabled")
    while not step.over.any():
        step = batch.step(step.mask.argmax(axis=1))
    batch.step(step.mask.argmax(axis=1))


@provokes("UnknownSearch")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.close()
    search.rollout([0])


@provokes("SearchOwnerOnly")
def _(client: boardwire.Client) -> None:
    mine, theirs = (begun(client)[1].search(1) for _ in range(2))
    theirs.id = mine.id
    theirs.rollout([0])


@provokes("WorldActionIllegal")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.advance([0], (search.shown.mask == 0).argmax(axis=1))


@provokes("WorldActionOutOfRange")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.advance([0], [len(search.spec.actions)])


@provokes("WorldOver")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    step = search.shown
    for _ in range(search.spec.max_plies + 1):
        step = search.advance([0], step.mask.argmax(axis=1))


@provokes("SequenceStale")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    actions = step.mask.argmax(axis=1).astype(np.uint8).tobytes()
    request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=actions, sequence=99)
    call(client, lambda on: on.batch.StepBatch, request, batch.token)


@provokes("SnapshotInvalid")
def _(client: boardwire.Client) -> None:
    opened(client)[0].load(b"remembered")


MATCHES = "/boardwire.v1.MatchService"


def raw(client: boardwire.Client, path: str, *messages: bytes, **kwargs: Any) -> None:
    """A call of any method with any bytes."""

    def sent(on: Stubs) -> Any:
        method: Any = on.channel.stream_stream(path)
        return lambda request, **rest: list(method(iter(request), **rest, **kwargs))

    call(client, sent, messages)


@provokes("TokenTooLong")
def _(client: boardwire.Client) -> None:
    client.seat(begun(client)[0].id, "guessed" * 1000).observe()


@provokes("UnknownService")
def _(client: boardwire.Client) -> None:
    raw(client, "/chess.v1.Chess/Move", b"")


@provokes("UnknownMethod")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Undo", b"")


@provokes("UnknownHealth")
def _(client: boardwire.Client) -> None:
    raw(client, "/grpc.health.v1.Health/Check", b"\x0a\x05chess")


@provokes("UnknownDescriptor")
def _(client: boardwire.Client) -> None:
    # Field 4: the file that contains a symbol.
    raw(client, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", b"\x22\x05chess")


@provokes("Undecodable")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act", b"\xff" * 9)


@provokes("MissingMessage")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act")


@provokes("MessageTooLarge")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["random"] * 10_000)


@provokes("UnsupportedCompression")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act", b"\x0a\x04" + b"word" * 100, compression=grpc.Compression.Gzip)


@provokes("TimedOut")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client, "remote")
    seat.act(legal(seen), wait=False)
    seat.observe(wait=True, timeout=0.05)


@provokes("CallsFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-calls", "2"]) as small:
        match, seat, seen = begun(small, "remote")
        seat.act(legal(seen), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = small._connection.stubs.match.Observe
        waiting = [observe.future(request, metadata=bearer(seat.token)) for _ in range(2)]
        try:
            # They may come in later than the calls after them.
            for _ in range(1000):
                match.info()
        finally:
            for waits in waiting:
                waits.cancel()


@provokes("StreamsFull")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-streams", "1"]) as small:
        one, two = begun(small)[1], begun(small)[1]
        with one.stream() as first, two.stream() as second:
            first.observe()
            second.observe()


@provokes("RateExceeded")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-rate", "1"]) as small:
        for _ in range(10):
            call(small, lambda on: on.match.ListMatches, pb.ListMatchesRequest())


def test_every_error_is_provoked_but_broken_invariants() -> None:
    # No client of grpcio can leave answers unread: `tests/abuse` does.
    assert set(ROWS) - set(PROVOKED) == {"Internal", "BotFailed", "BytesFull"}


@pytest.mark.parametrize("variant", PROVOKED)
def test_an_error_has_the_code_reason_and_metadata_of_its_row(client: boardwire.Client, variant: str) -> None:
    with pytest.raises(boardwire.BoardwireError) as caught:
        PROVOKED[variant](client)
    row, failure = ROWS[variant], caught.value
    assert (failure.code, failure.reason) == (row["code"], row["reason"])
    assert set(failure.metadata) == set(filter(None, row["metadata"].split(",")))
    assert failure.message
    if variant not in ("WrongToken", "MissingToken"):
        for value in failure.metadata.values():
            assert value in failure.message


@pytest.mark.parametrize(
    "variant",
    ["UnknownBatch", "BatchOwnerOnly", "BatchActionIllegal", "BatchActionOutOfRange", "EnvironmentOver"],
)
def test_a_stream_of_steps_refuses_as_single_calls_do(
    client: boardwire.Client, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(boardwire.BoardwireError) as streamed:
        PROVOKED[variant](client)

    def step(batch: boardwire.Batch, actions: Any) -> boardwire.BatchStep:
        request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=np.uint8(actions).tobytes())
        answer = call(client, lambda on: on.batch.StepBatch, request, batch.token)
        return batch._stream.rows(answer.step)

    monkeypatch.setattr(boardwire.Batch, "step", step)
    with pytest.raises(boardwire.BoardwireError) as single:
        PROVOKED[variant](client)
    assert type(streamed.value) is type(single.value)
    assert streamed.value.code == single.value.code
    assert set(streamed.value.metadata) == set(single.value.metadata)


@pytest.mark.parametrize(
    "variant",
    ["WrongToken", "SeatOnly", "NotYourTurn", "IllegalAction", "ActionOutOfRange"],
)
def test_a_stream_refuses_in_the_same_words(
    client: boardwire.Client, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(boardwire.BoardwireError) as single:
        PROVOKED[variant](client)

    async def ask(seat: boardwire.Seat, *args: Any) -> boardwire.Observation:
        seat._carrier = seat.stream()._carrier
        return await asked(seat, *args)

    asked = boardwire.Seat._ask
    monkeypatch.setattr(boardwire.Seat, "_ask", ask)
    with pytest.raises(boardwire.BoardwireError) as streamed:
        PROVOKED[variant](client)
    assert type(streamed.value) is type(single.value)
    assert streamed.value.code == single.value.code
    assert set(streamed.value.metadata) == set(single.value.metadata)
