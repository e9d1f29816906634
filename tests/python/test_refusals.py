"""Every error that can be provoked from outside, end to end: code, reason, and the names of its metadata."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from outages import stream_of
from single_calls import by_single_calls

import boardwire
from boardwire_v1 import batch_pb2 as batch_pb
from boardwire_v1 import match_service_pb2 as pb
from refusals import PROVOKED, bearer, begun, call, legal, observing, over_grpcio, provokes, refused

TABLE = Path(__file__).parents[1] / "errors.tsv"
ROWS = {row["reason"]: row for row in csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t")}


def opened(client: boardwire.Client, **kwargs: Any) -> tuple[boardwire.Batch, boardwire.BatchStep]:
    """A batch at its first decisions."""
    batch = client.open_batch("faraway", environments=3, opponents={1: "random"}, seed=1, **kwargs)
    return batch, batch.reset()


@provokes("BATCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    batch.close()
    batch.step(step.mask.argmax(axis=1))


@provokes("BATCH_OWNER_ONLY")
def _(client: boardwire.Client) -> None:
    mine, _ = opened(client)
    theirs, step = opened(client)
    theirs.id = theirs._carrier.about["id"] = mine.id
    theirs.step(step.mask.argmax(axis=1))


@provokes("BATCHES_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-batches", "1"]) as small, opened(small)[0]:
        opened(small)


@provokes("ENVIRONMENTS_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-environments", "5"]) as small, opened(small)[0]:
        opened(small)


@provokes("BATCH_ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    batch.step((step.mask == 0).argmax(axis=1))


@provokes("BATCH_ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    batch, _ = opened(client)
    batch.step([len(batch.spec.actions)] * 3)


@provokes("ENVIRONMENT_OVER")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client, autoreset="disabled")
    while not step.over.any():
        step = batch.step(step.mask.argmax(axis=1))
    batch.step(step.mask.argmax(axis=1))


@provokes("SEARCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.close()
    search.rollout([0])


@provokes("SEARCH_OWNER_ONLY")
def _(client: boardwire.Client) -> None:
    mine, theirs = (begun(client)[1].search(1) for _ in range(2))
    theirs.id = mine.id
    theirs.rollout([0])


@provokes("WORLD_ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.advance([0], (search.shown.mask == 0).argmax(axis=1))


@provokes("WORLD_ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    search.advance([0], [len(search.spec.actions)])


@provokes("WORLD_OVER")
def _(client: boardwire.Client) -> None:
    search = begun(client)[1].search(1)
    step = search.shown
    for _ in range(search.spec.max_plies + 1):
        step = search.advance([0], step.mask.argmax(axis=1))


@provokes("SEQUENCE_STALE")
def _(client: boardwire.Client) -> None:
    batch, step = opened(client)
    actions = step.mask.argmax(axis=1).astype(np.uint8).tobytes()
    request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=actions, sequence=99)
    call(client, "BatchService/StepBatch", request, batch.token)


@provokes("SNAPSHOT_INVALID")
def _(client: boardwire.Client) -> None:
    opened(client)[0].load(b"remembered")


MATCHES = "/boardwire.v1.MatchService"


def raw(client: boardwire.Client, path: str, *messages: bytes, **kwargs: Any) -> None:
    """A call of any method with any bytes."""
    method: Any = over_grpcio(client).stream_stream(path)
    try:
        list(method(iter(messages), timeout=60, **kwargs))
    except grpc.RpcError as status:
        raise refused(status) from None


@provokes("TOKEN_TOO_LONG")
def _(client: boardwire.Client) -> None:
    client.seat(begun(client)[0].id, "guessed" * 1000).observe(wait=False)


@provokes("SERVICE_UNKNOWN")
def _(client: boardwire.Client) -> None:
    raw(client, "/chess.v1.Chess/Move", b"")


@provokes("METHOD_UNKNOWN")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Undo", b"")


@provokes("HEALTH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    raw(client, "/grpc.health.v1.Health/Check", b"\x0a\x05chess")


@provokes("DESCRIPTOR_UNKNOWN")
def _(client: boardwire.Client) -> None:
    # Field 4: the file that contains a symbol.
    raw(client, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", b"\x22\x05chess")


@provokes("MESSAGE_UNDECODABLE")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act", b"\xff" * 9)


@provokes("MESSAGE_MISSING")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act")


@provokes("MESSAGE_TOO_LARGE")
def _(client: boardwire.Client) -> None:
    client.create_match("faraway", players=["random"] * 10_000)


@provokes("COMPRESSION_UNSUPPORTED")
def _(client: boardwire.Client) -> None:
    raw(client, f"{MATCHES}/Act", b"\x0a\x04" + b"word" * 100, compression=grpc.Compression.Gzip)


@provokes("TIMED_OUT")
def _(client: boardwire.Client) -> None:
    _, seat, seen = begun(client, "agent")
    seat.act(legal(seen), wait=False)
    seat.observe(timeout=0.05)


@provokes("BYTES_FULL")
def _(client: boardwire.Client) -> None:
    # Three quarters are for one caller: three connections of 64 KiB and nine calls of 16. Once one of these
    # is refused, those that wait fill the rest.
    with boardwire.connect(server_args=["--max-bytes", str(448 << 10)]) as small:
        match, seat, seen = begun(small, "agent")
        seat.act(legal(seen), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = observing(small)
        waiting = [observe.future(request, metadata=bearer(seat.token)) for _ in range(16)]
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end and not any(waits.done() for waits in waiting):
                time.sleep(0.01)
            match.info()
        finally:
            for waits in waiting:
                waits.cancel()


@provokes("RATE_EXCEEDED")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-rate", "1"]) as small:
        for _ in range(10):
            call(small, "MatchService/ListMatches", pb.ListMatchesRequest())


def test_every_error_is_provoked_but_broken_invariants() -> None:
    assert set(ROWS) - set(PROVOKED) == {"INTERNAL", "BOT_FAILED"}


@pytest.mark.parametrize("reason", PROVOKED)
def test_an_error_has_the_code_reason_and_metadata_of_its_row(client: boardwire.Client, reason: str) -> None:
    with pytest.raises(boardwire.BoardwireError) as caught:
        PROVOKED[reason](client)
    row, failure = ROWS[reason], caught.value
    assert (failure.code, failure.reason) == (row["code"], row["reason"])
    assert set(failure.metadata) == set(filter(None, row["metadata"].split(",")))
    assert failure.message
    if reason not in ("TOKEN_WRONG", "TOKEN_MISSING"):
        for value in failure.metadata.values():
            assert value in failure.message


@pytest.mark.parametrize(
    "reason",
    [
        "BATCH_UNKNOWN",
        "BATCH_OWNER_ONLY",
        "BATCH_ACTION_ILLEGAL",
        "BATCH_ACTION_OUT_OF_RANGE",
        "ENVIRONMENT_OVER",
    ],
)
def test_a_stream_of_steps_refuses_as_single_calls_do(
    client: boardwire.Client, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(boardwire.BoardwireError) as streamed:
        PROVOKED[reason](client)

    def step(batch: boardwire.Batch, actions: Any) -> boardwire.BatchStep:
        request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=np.uint8(actions).tobytes())
        answer = call(client, "BatchService/StepBatch", request, batch.token)
        rows: boardwire.BatchStep = stream_of(batch)._shape.step(answer["step"])
        return rows

    monkeypatch.setattr(boardwire.Batch, "step", step)
    with pytest.raises(boardwire.BoardwireError) as single:
        PROVOKED[reason](client)
    assert type(streamed.value) is type(single.value)
    assert streamed.value.code == single.value.code
    assert set(streamed.value.metadata) == set(single.value.metadata)


@pytest.mark.parametrize(
    "reason",
    ["TOKEN_WRONG", "SEAT_ONLY", "NOT_YOUR_TURN", "ACTION_ILLEGAL", "ACTION_OUT_OF_RANGE"],
)
def test_a_stream_refuses_in_the_same_words(
    client: boardwire.Client, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(boardwire.BoardwireError) as streamed:
        PROVOKED[reason](client)

    join = boardwire.Match.join
    monkeypatch.setattr(boardwire.Match, "join", lambda *args: by_single_calls(join(*args)))
    seat = boardwire.Client.seat
    monkeypatch.setattr(boardwire.Client, "seat", lambda *args: by_single_calls(seat(*args)))
    with pytest.raises(boardwire.BoardwireError) as single:
        PROVOKED[reason](client)
    assert type(streamed.value) is type(single.value)
    assert streamed.value.code == single.value.code
    assert set(streamed.value.metadata) == set(single.value.metadata)
