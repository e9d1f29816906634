"""Code, reason and metadata names of each error that a client can provoke."""

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
from refusals import (
    PROVOKED,
    bearer,
    call,
    error_of,
    first_legal,
    grpc_channel,
    observe_method,
    provokes,
    started_match,
)

TABLE = Path(__file__).parents[1] / "errors.tsv"
ERRORS = {row["reason"]: row for row in csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t")}


def opened_batch(client: boardwire.Client, **kwargs: Any) -> tuple[boardwire.Batch, boardwire.BatchStep]:
    """Opens a batch and returns it with its first step."""
    batch = client.open_batch("faraway", environments=3, opponents={1: "random"}, seed=1, **kwargs)
    return batch, batch.reset()


@provokes("BATCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    batch, step = opened_batch(client)
    batch.close()
    batch.step(step.mask.argmax(axis=1))


@provokes("BATCH_OWNER_ONLY")
def _(client: boardwire.Client) -> None:
    batch, _ = opened_batch(client)
    other, step = opened_batch(client)
    other.id = other._transport.about["id"] = batch.id
    other.step(step.mask.argmax(axis=1))


@provokes("BATCHES_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-batches", "1"]) as small, opened_batch(small)[0]:
        opened_batch(small)


@provokes("ENVIRONMENTS_FULL")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-environments", "5"]) as small, opened_batch(small)[0]:
        opened_batch(small)


@provokes("BATCH_ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    batch, step = opened_batch(client)
    batch.step((~step.mask).argmax(axis=1))


@provokes("BATCH_ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    batch, _ = opened_batch(client)
    batch.step([len(batch.spec.actions)] * 3)


@provokes("ENVIRONMENT_OVER")
def _(client: boardwire.Client) -> None:
    batch, step = opened_batch(client, autoreset="disabled")
    while not step.over.any():
        step = batch.step(step.mask.argmax(axis=1))
    batch.step(step.mask.argmax(axis=1))


@provokes("SEARCH_UNKNOWN")
def _(client: boardwire.Client) -> None:
    search = started_match(client)[1].search(1)
    search.close()
    search.rollout([0])


@provokes("SEARCH_OWNER_ONLY")
def _(client: boardwire.Client) -> None:
    search, other = (started_match(client)[1].search(1) for _ in range(2))
    other.id = search.id
    other.rollout([0])


@provokes("WORLD_ACTION_ILLEGAL")
def _(client: boardwire.Client) -> None:
    search = started_match(client)[1].search(1)
    search.advance([0], (~search.shown.mask).argmax(axis=1))


@provokes("WORLD_ACTION_OUT_OF_RANGE")
def _(client: boardwire.Client) -> None:
    search = started_match(client)[1].search(1)
    search.advance([0], [len(search.spec.actions)])


@provokes("WORLD_OVER")
def _(client: boardwire.Client) -> None:
    search = started_match(client)[1].search(1)
    step = search.shown
    for _ in range(search.spec.max_plies + 1):
        step = search.advance([0], step.mask.argmax(axis=1))


@provokes("SEQUENCE_STALE")
def _(client: boardwire.Client) -> None:
    batch, step = opened_batch(client)
    actions = step.mask.argmax(axis=1).astype(np.uint8).tobytes()
    request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=actions, sequence=99)
    call(client, "BatchService/StepBatch", request, batch.token)


@provokes("SNAPSHOT_INVALID")
def _(client: boardwire.Client) -> None:
    opened_batch(client)[0].load(b"invalid")


MATCHES = "/boardwire.v1.MatchService"


def raw(client: boardwire.Client, path: str, *messages: bytes, **kwargs: Any) -> None:
    """Calls any method with any bytes."""
    method: Any = grpc_channel(client).stream_stream(path)
    try:
        list(method(iter(messages), timeout=60, **kwargs))
    except grpc.RpcError as status:
        raise error_of(status) from None


@provokes("TOKEN_TOO_LONG")
def _(client: boardwire.Client) -> None:
    client.seat(started_match(client)[0].id, "guessed" * 1000).observe(wait=False)


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
    _, seat, obs = started_match(client, "agent")
    seat.act(first_legal(obs), wait=False)
    seat.observe(timeout=0.05)


@provokes("BYTES_FULL")
def _(client: boardwire.Client) -> None:
    # One caller may use three quarters: three connections of 64 KiB and nine calls of 16 KiB. When one of
    # these is rejected, the waiting calls fill the rest.
    with boardwire.connect(server_args=["--max-bytes", str(448 << 10)]) as small:
        match, seat, obs = started_match(small, "agent")
        seat.act(first_legal(obs), wait=False)
        request = pb.ObserveRequest(match_id=match.id, wait=True)
        observe = observe_method(small)
        waiting = [observe.future(request, metadata=bearer(seat.token)) for _ in range(16)]
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not any(future.done() for future in waiting):
                time.sleep(0.01)
            match.info()
        finally:
            for future in waiting:
                future.cancel()


@provokes("RATE_EXCEEDED")
def _(client: boardwire.Client) -> None:
    with boardwire.connect(server_args=["--max-rate", "1"]) as small:
        for _ in range(10):
            call(small, "MatchService/ListMatches", pb.ListMatchesRequest())


def test_each_error_except_broken_invariants_is_provoked() -> None:
    assert set(ERRORS) - set(PROVOKED) == {"INTERNAL", "BOT_FAILED"}


@pytest.mark.parametrize("reason", PROVOKED)
def test_an_error_has_the_code_reason_and_metadata_of_its_row(client: boardwire.Client, reason: str) -> None:
    with pytest.raises(boardwire.BoardwireError) as caught:
        PROVOKED[reason](client)
    row, error = ERRORS[reason], caught.value
    assert (error.code, error.reason) == (row["code"], row["reason"])
    assert set(error.metadata) == set(filter(None, row["metadata"].split(",")))
    assert error.message
    if reason not in ("TOKEN_WRONG", "TOKEN_MISSING"):
        for value in error.metadata.values():
            assert value in error.message


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
def test_a_batch_stream_and_single_calls_give_equal_errors(
    client: boardwire.Client, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(boardwire.BoardwireError) as streamed:
        PROVOKED[reason](client)

    def step(batch: boardwire.Batch, actions: Any) -> boardwire.BatchStep:
        request = batch_pb.StepBatchRequest(batch_id=batch.id, actions=np.uint8(actions).tobytes())
        response = call(client, "BatchService/StepBatch", request, batch.token)
        rows: boardwire.BatchStep = stream_of(batch)._shape.step(response["step"])
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
def test_a_play_stream_and_single_calls_give_equal_errors(
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
