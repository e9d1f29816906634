"""Hundreds of thousands of mutated valid requests."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from attacks import attack
from boardwire_v1 import batch_pb2 as batch_pb
from boardwire_v1 import catalog_pb2, match_service_pb2
from boardwire_v1 import search_pb2 as search_pb
from boardwire_v1.match_pb2 import MATCH_STATE_OVER, MatchConfig
from calls import (
    CALL_TIMEOUT,
    Seat,
    Stubs,
    batch_request,
    bearer,
    check_served,
    format_counts,
    match_request,
    method,
    reason,
)
from messages import methods
from target import Failed, Target, expect

SEED = 20_001
#: Concurrent calls of each process, enough to keep the server busy.
WIDTH = 128
#: The deadline of a call in seconds. Some calls wait by design.
DEADLINE = 1.0
#: Reasons that mutated requests must never get.
WRONG = ("INTERNAL", "BOT_FAILED", "UNKNOWN", "UNAVAILABLE")
#: Limits that keep mutated requests cheap.
FLAGS = ("--max-environments", 4_096, "--max-batches", 64, "--match-idle-timeout", 20)
#: Values of fields that normal clients do not send.
NUMBERS = (0, 1, 2, 3, 127, 128, 255, 256, 65_536, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1)
TEXTS = (
    "",
    "a",
    "greedy:1024",
    "greedy:99999999999",
    "agent",
    "agent",
    "faraway",
    "0" * 32,
    "\0",
    "\u00e4" * 99,
)
#: Path, message and token.
Call = tuple[str, Message, str]


def with_mutated_bytes(rng: random.Random, message: bytes) -> bytes:
    """Returns a message with some bytes flipped, changed, inserted, repeated, removed or cut off."""
    changed = bytearray(message)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice((1, 1, 2, 8, 40)))
        match rng.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(changed):
                changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                changed[at:at] = rng.randbytes(rng.choice((1, 1, 4, 100)))
            case 3:
                changed[at:at] = changed[at:end] * rng.choice((1, 2, 30))
            case 4:
                del changed[at:end]
            case 5:
                del changed[at:]
            case _:
                # A plausible field: a number, or bytes with a possibly wrong length.
                key, value = rng.randrange(1, 16) << 3, rng.choice((0, 1, 2, 127, 255, 1 << 31, 1 << 63))
                changed[at:at] = varint(key | rng.choice((0, 2))) + varint(value)
    return bytes(changed)


def with_odd_field(rng: random.Random, message: Message) -> bytes:
    """Returns a message with one field set to a value that normal clients do not send."""
    changed = type(message).FromString(message.SerializeToString())
    field: Any = rng.choice(changed.DESCRIPTOR.fields)
    is_many, kind = field.is_repeated, field.cpp_type
    if field.message_type is not None:
        changed.ClearField(field.name)
        return changed.SerializeToString() + varint(field.number << 3 | 2) + b"\x02\x08\x01"
    value: object = rng.choice(NUMBERS) % 2**31
    if field.type == FieldDescriptor.TYPE_STRING:
        value = rng.choice(TEXTS)
    elif field.type == FieldDescriptor.TYPE_BYTES:
        value = rng.randbytes(rng.choice((0, 1, 4, 5, 1_000)))
    elif kind in (FieldDescriptor.CPPTYPE_UINT64, FieldDescriptor.CPPTYPE_UINT32):
        value = rng.choice(NUMBERS) % (2**32 if kind == FieldDescriptor.CPPTYPE_UINT32 else 2**64)
    elif kind == FieldDescriptor.CPPTYPE_BOOL:
        value = rng.random() < 0.5
    if is_many:
        getattr(changed, field.name).extend([value] * rng.choice((1, 2, 40)))
    else:
        setattr(changed, field.name, value)
    return changed.SerializeToString()


def varint(value: int) -> bytes:
    """Encodes a number as protobuf does."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def valid(stubs: Stubs) -> list[Call]:
    """Returns valid or nearly valid requests, at least one per method: path, message, token."""
    seat = Seat(stubs, ["agent", "agent"])
    request = batch_request(["agent", "random"], 4)
    opened = stubs.batches.OpenBatch(request)
    batch, owner, match, token = opened.batch.id, opened.token, seat.match_id, seat.tokens[0]
    snapshot = stubs.batches.SaveBatch(
        batch_pb.SaveBatchRequest(batch_id=batch), metadata=bearer(owner)
    ).snapshot
    pb, uuid = match_service_pb2, "67e55044-10b1-426f-9247-bb680e5fe0c8"
    determinize = search_pb.CreateSearchRequest(match_id=match, worlds=2, places=4, seed=7)
    search = stubs.searches.CreateSearch(determinize, metadata=bearer(token)).search.id
    # A new invitation revokes the token of the seat, so it is for a separate match.
    invited = stubs.matches.CreateMatch(match_request(["agent", "random"]))
    secret = bytes(32)
    fair = stubs.matches.CreateMatch(match_request(["agent", "random"], config=MatchConfig(fair_deals=True)))
    join = pb.JoinMatchRequest(
        code=fair.invitations[0].code, request_id=uuid, commitment=hashlib.sha256(secret).digest()
    )
    fair_token = stubs.matches.JoinMatch(join).token
    calls = {
        "Match": [
            (match_request(["agent", "random"], seed=7, request_id=uuid), ""),
            (match_request(["agent", "greedy"], config=MatchConfig(game="rauha", labels={"run": "7"})), ""),
            (pb.GetMatchRequest(match_id=match), token),
            (pb.ListMatchesRequest(page_size=2), ""),
            (pb.ListMatchesRequest(game="faraway", states=[MATCH_STATE_OVER], labels={"run": "7"}), ""),
            (pb.JoinMatchRequest(code=seat.created.invitations[1].code, request_id=uuid), ""),
            (join, ""),
            (pb.InviteRequest(match_id=invited.match.id), invited.host_token),
            (pb.OpenDealRequest(match_id=fair.match.id, secret=secret), fair_token),
            (pb.ObserveRequest(match_id=match), token),
            (pb.ActRequest(match_id=match, action=3, wait=False), token),
            (pb.ResetMatchRequest(match_id=match, seed=3, episode=0), seat.created.host_token),
            (pb.ResetRequest(match_id=match, episode=0), token),
            (pb.ResignRequest(match_id=match, episode=1, seat=1), seat.created.host_token),
            (pb.GetReplayRequest(match_id=match, episode=0), token),
            (pb.WatchRequest(match_id=match, after=0, depict=True), seat.created.spectator_token),
            (pb.CloseMatchRequest(match_id="0" * 32), seat.created.host_token),
        ],
        "Batch": [
            (request, ""),
            (batch_pb.ResetBatchRequest(batch_id=batch, mask=b"\x05", seeds=[1, 2]), owner),
            (batch_pb.StepBatchRequest(batch_id=batch, actions=bytes(4)), owner),
            (batch_pb.StepBatchRequest(batch_id=batch, actions=bytes(2), first=1, sequence=1), owner),
            (batch_pb.SaveBatchRequest(batch_id=batch, mask=b"\x03"), owner),
            (batch_pb.LoadBatchRequest(batch_id=batch, snapshot=snapshot), owner),
            (batch_pb.DescribeEnvironmentRequest(batch_id=batch, environment=3, seat=1), owner),
            (batch_pb.CloseBatchRequest(batch_id="0" * 32), owner),
        ],
        "Search": [
            (determinize, token),
            (search_pb.CreateSearchRequest(batch_id=batch, mask=b"\x05", places=4), owner),
            (search_pb.AdvanceRequest(search_id=search, worlds=bytes(4), actions=bytes(1)), token),
            (search_pb.RedeterminizeRequest(search_id=search, worlds=bytes(4), seed=1), token),
            (search_pb.RolloutRequest(search_id=search, worlds=bytes(4), playouts=2, seed=1), token),
            (search_pb.CloseSearchRequest(search_id="0" * 32), token),
        ],
        "Catalog": [
            (catalog_pb2.GetServerRequest(), ""),
            (catalog_pb2.ListGamesRequest(page_size=1), ""),
            (catalog_pb2.GetGameRequest(game="faraway", seats=2), ""),
        ],
    }
    return [
        (
            f"/boardwire.v1.{service}Service/{type(message).__name__.removesuffix('Request')}",
            message,
            token,
        )
        for service, messages in calls.items()
        for message, token in messages
    ]


def send(address: str, count: int, seed: int) -> Counter[str]:
    """Makes mutated calls over one connection and counts their outcomes."""
    rng, outcomes, free = random.Random(seed), Counter[str](), threading.Semaphore(WIDTH)
    with Stubs(address) as stubs:
        calls = valid(stubs)
        # Mutated calls fill the server, so all senders prepare their valid requests first.
        print("ready", flush=True)
        sys.stdin.readline()
        methods_by_path = {path: method(stubs.channel, path) for path, _, _ in calls}

        def done(future: Any) -> None:
            outcomes["OK" if future.code() is grpc.StatusCode.OK else reason(future)] += 1
            free.release()

        for _ in range(count):
            path, request, token = rng.choice(calls)
            # A message without fields can only be mutated as bytes.
            in_bytes = rng.random() < 0.5 or not request.DESCRIPTOR.fields
            message = (
                with_mutated_bytes(rng, request.SerializeToString())
                if in_bytes
                else with_odd_field(rng, request)
            )
            if rng.random() < 0.05:
                token = token[: rng.randrange(33)]
            if not free.acquire(timeout=CALL_TIMEOUT):
                raise Failed("mutated calls had no response")
            metadata = bearer(token) if token else None
            call = methods_by_path[path].future(message, metadata=metadata, timeout=DEADLINE)
            call.add_done_callback(done)
        for _ in range(WIDTH):
            free.acquire(timeout=CALL_TIMEOUT)
    return outcomes


@attack(quick=6_000, full=300_000, flags=lambda size: FLAGS, slack=128)
def mutated_requests(target: Target, size: int) -> str:
    """Mutated requests to each method from several processes: each gets a response, errors with reasons."""
    with Stubs(target.address) as stubs:
        missing = {path for path, _ in methods()} - {path for path, _, _ in valid(stubs)}
    expect(not missing, f"no requests are mutated for {', '.join(sorted(missing))}")
    workers = min(4, (os.cpu_count() or 1) + 1)
    processes = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__)), target.address, str(size // workers), str(SEED + worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for worker in range(workers)
    ]
    for process in processes:
        assert process.stdout is not None
        expect(process.stdout.readline() == "ready\n", "a sender of mutated requests did not start")
    for process in processes:
        assert process.stdin is not None
        print(file=process.stdin, flush=True)
    outcomes = Counter[str]()
    for process in processes:
        output, _ = process.communicate()
        expect(process.returncode == 0, "a sender of mutated requests failed")
        outcomes.update(json.loads(output))
    check_served(target)
    wrong = {
        each: count for each, count in outcomes.items() if each.startswith(WRONG) or " without a" in each
    }
    expect(all(each.startswith("DEADLINE_EXCEEDED") for each in wrong), f"mutated requests ended as {wrong}")
    expect(sum(outcomes.values()) >= size - workers, "requests had no response")
    return f"seed {SEED}: {format_counts(outcomes)}"


if __name__ == "__main__":
    print(json.dumps(send(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
