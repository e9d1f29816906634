"""Too long messages, headers and strings, and invalid requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from attacks import attack
from boardwire_v1 import batch_pb2, catalog_pb2, match_service_pb2, search_pb2
from calls import (
    CALL_TIMEOUT,
    OK,
    Seat,
    Stubs,
    bearer,
    check_served,
    format_counts,
    match_request,
    method,
    outcome,
    reason,
)
from target import Target, expect
from wire import Wire

LOAD = "/boardwire.v1.BatchService/LoadBatch"
STEP = "/boardwire.v1.BatchService/StepBatch"
MIB = 1 << 20
#: Requests of a stream: empty messages, empty fields, invalid bytes, and a truncated message.
BODIES = ([b""] * 20, [b"\x12\x02\x0a\x00"] * 20, [b"\xff" * 9], [b"\x0a\xff"])
FILES = (batch_pb2, catalog_pb2, match_service_pb2, search_pb2)


def methods(*, streams: bool = False) -> Iterator[tuple[str, type[Message]]]:
    """Yields the paths of all methods with their request types."""
    for file in FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            for each in service.methods:
                if each.client_streaming == streams:
                    yield f"/{service.full_name}/{each.name}", getattr(file, each.input_type.name)


def fill(message: Any, text: str) -> None:
    """Sets all strings of a message and of its inner messages."""
    for field in message.DESCRIPTOR.fields:
        is_text = field.type == FieldDescriptor.TYPE_STRING
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            is_of_texts = inner.fields_by_name["value"].type == FieldDescriptor.TYPE_STRING
            getattr(message, field.name)[text] = text if is_of_texts else 1
        elif is_text and field.is_repeated:
            getattr(message, field.name).extend([text] * 3)
        elif is_text:
            setattr(message, field.name, text)
        elif inner is not None and not field.is_repeated:
            fill(getattr(message, field.name), text)


@attack(quick=2, full=20)
def long_names(target: Target, size: int) -> str:
    """Requests with three kilobytes in each string: the errors must have reasons."""
    outcomes = Counter[str]()
    texts = ["x" * 3_000, "\u00e4" * 1_500, "\u3042" * 1_000, "%" * 3_000, "\n\0\x7f" * 1_000, "agent" * 500]
    with Stubs(target.address) as stubs:
        for turn in range(size * len(texts)):
            text = texts[turn % len(texts)]
            for path, kind in methods():
                request = kind()
                fill(request, text)
                names = [field.name for field in request.DESCRIPTOR.fields]
                for name in names:
                    part = kind()
                    fill(part, text)
                    for other in names:
                        if other != name:
                            part.ClearField(other)
                    for message in (request, part):
                        call = method(stubs.channel, path).future(
                            message.SerializeToString(), metadata=bearer("t" * 900), timeout=CALL_TIMEOUT
                        )
                        result = outcome(call)
                        outcomes[result] += 1
                        allowed = " without a reason" not in result and result != "INTERNAL"
                        expect(allowed, f"{path} with {name} ended as {result}")
    return format_counts(outcomes)


@attack(quick=1, full=8)
def long_messages(target: Target, size: int) -> str:
    """Request ids of 10 and 60 MiB, 63 MiB of empty players, steps of 65 MiB."""
    outcomes = Counter[str]()
    bodies = {
        "/boardwire.v1.MatchService/CreateMatch": [
            match_request([], request_id="a" * length).SerializeToString() for length in (10 * MIB, 60 * MIB)
        ]
        + [b"\x0a\x07faraway" + b"\x12\x00" * (63 * MIB // 2)],
        "/boardwire.v1.BatchService/OpenBatch": [b"\x0a\x07faraway" + b"\x12\x00" * (63 * MIB // 2)],
        STEP: [bytes(65 * MIB)],
    }
    with Stubs(target.address) as stubs:
        for _ in range(size):
            for path, messages in bodies.items():
                calls = [method(stubs.channel, path).future(each, timeout=CALL_TIMEOUT) for each in messages]
                outcomes.update(outcome(each) for each in calls)
    expect(set(outcomes) == {"MESSAGE_TOO_LARGE"}, f"long messages ended as {format_counts(outcomes)}")
    expect(target.peak() < 200, f"the server used {target.peak():.0f} MiB")
    return format_counts(outcomes)


@attack(quick=20, full=500)
def invalid_calls(target: Target, size: int) -> str:
    """Wrong lengths, content that is not gRPC, too long headers: no other call fails."""
    outcomes = Counter[str]()
    repeated = [("content-type", "application/grpc")] * 3
    for _ in range(size):
        wire = Wire(target)
        for prefix in (
            b"\x00\xff\xff\xff\xff",
            b"\x01\x00\x00\x00\x01a",
            b"\x07\x00\x00\x00\x00",
            b"\x00\x00",
        ):
            wire.call(STEP, data=prefix)
        for path in ("*", "/", "", "/a" * 500, "/boardwire.v1.MatchService/Undo", "/\u00e4"):
            wire.call(path, data=bytes(5))
        wire.call(STEP, token="t" * 2_000, data=bytes(5))
        wire.call(STEP, headers=[("x-long", "a" * 20_000)])
        wire.call(STEP, headers=[(f"x-{number}", "a") for number in range(600)])
        wire.call(
            STEP, headers=[("grpc-timeout", "99999999H"), ("grpc-encoding", "br"), *repeated], data=bytes(5)
        )
        for content in ("text/html", "application/grpc-web", ""):
            wire.call(STEP, data=bytes(5), content=content)
        last = wire.call("/grpc.health.v1.Health/Check", data=bytes(5))
        wire.flush()
        wire.pump(lambda wire=wire, last=last: len(wire.ended) >= last // 2 + 1, 10)  # type: ignore[misc]
        expect(wire.ended.get(last) == "0", f"the last call ended as {wire.ended.get(last)}, {wire.ended}")
        outcomes.update(wire.ended.values())
        wire.close()
    check_served(target)
    return format_counts(outcomes)


@attack(quick=12, full=60, flags=lambda size: ("--max-connection-bytes", 64 * MIB))
def unfinished_messages(target: Target, size: int) -> str:
    """Messages of 60 MiB without a token, whose last bytes never arrive."""
    before = target.resident()
    wires = [Wire(target) for _ in range(2)]
    sent = 0
    for turn in range(size):
        wire = wires[turn % 2]
        stream = wire.call(LOAD, end=False)
        sent += wire.send(stream, b"\x00" + (60 * MIB).to_bytes(4, "big"))
        while sent < (turn + 1) * 32 * MIB and stream not in wire.ended:
            sent_now = wire.send(stream, bytes(MIB))
            sent += sent_now
            if not sent_now:
                break
    grown = target.peak() - before
    for wire in wires:
        wire.close()
    check_served(target)
    expect(grown < 256, f"memory grew by {grown:.0f} MiB for {sent // MIB} MiB of unfinished messages")
    return f"{sent // MIB} MiB sent, {grown:.0f} MiB used"


@attack(quick=50, full=500)
def invalid_streams(target: Target, size: int) -> str:
    """Streams with empty requests, invalid bytes and wrong tokens."""
    outcomes = Counter[str]()
    for _ in range(size):
        # The server closes a connection after a thousand streams that failed while sending.
        with Stubs(target.address) as stubs:
            seat = Seat(stubs)
            for path, _ in methods(streams=True):
                call: Any = stubs.channel.stream_stream(path)
                for token in (seat.tokens[0], "", "t" * 32):
                    for messages in BODIES:
                        responses = call(iter(messages), metadata=bearer(token), timeout=CALL_TIMEOUT)
                        try:
                            outcomes[OK] += len(list(responses))
                        except grpc.RpcError as error:
                            outcomes[reason(error)] += 1
            seat.act()
            seat.close()
    expect(
        not any(" without a reason" in each for each in outcomes),
        f"streams ended as {format_counts(outcomes)}",
    )
    return format_counts(outcomes)
