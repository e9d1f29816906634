"""Callers that read slowly or not at all: the size of unread responses is limited."""

from __future__ import annotations

from attacks import attack
from boardwire_v1 import batch_pb2 as batch_pb
from boardwire_v1 import catalog_pb2
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1.match_pb2 import MatchConfig
from calls import OK, Stubs, batch_request, bearer, check_served, flood, format_counts, match_request, method
from target import Target, expect, wait_until
from wire import Wire, framed, open_calls

RESET = "/boardwire.v1.BatchService/ResetBatch"
SAVE = "/boardwire.v1.BatchService/SaveBatch"
LIST_MATCHES = "/boardwire.v1.MatchService/ListMatches"
#: The value of `--max-connection-bytes` here, in MiB.
LIMIT = 32
ROWS = 4_096


def flags(size: int) -> tuple[object, ...]:
    """The flags of a server with a small limit per connection and streams for all calls."""
    return "--max-connection-streams", size, "--max-connection-bytes", LIMIT << 20


def unread(target: Target, count: int, method: str, token: str, message: bytes) -> float:
    """Makes calls without reading responses; returns the growth of memory in MiB."""
    before = target.resident()
    wires = open_calls(target, count, lambda wire: wire.call(method, token, framed(message)), unread=True)
    wait_until(lambda: target.load() < 0.25, 60, "the server did not finish unread calls")
    grown = target.peak() - before
    for wire in wires:
        wire.close()
    bound = 1.5 * LIMIT * len(wires) + 32
    expect(grown <= bound, f"memory grew by {grown:.0f} MiB for unread responses, more than {bound:.0f}")
    return grown


def batch(stubs: Stubs) -> tuple[str, str]:
    """Opens a batch and returns its id and token."""
    response = stubs.batches.OpenBatch(batch_request(["agent", "random"], ROWS))
    return response.batch.id, response.token


@attack(quick=200, full=1_200, flags=flags)
def unread_resets(target: Target, size: int) -> str:
    """Unread responses of hundreds of kilobytes."""
    with Stubs(target.address) as stubs:
        batch_id, token = batch(stubs)
        request = batch_pb.ResetBatchRequest(batch_id=batch_id)
        grown = unread(target, size, RESET, token, request.SerializeToString())
        stubs.batches.ResetBatch(request, metadata=bearer(token), timeout=30)
    return f"{grown:.0f} MiB used, limit {LIMIT}"


@attack(quick=100, full=1_200, flags=flags)
def unread_snapshots(target: Target, size: int) -> str:
    """Unread snapshots."""
    with Stubs(target.address) as stubs:
        batch_id, token = batch(stubs)
        request = batch_pb.SaveBatchRequest(batch_id=batch_id)
        grown = unread(target, size, SAVE, token, request.SerializeToString())
        stubs.batches.SaveBatch(request, metadata=bearer(token), timeout=30)
    return f"{grown:.0f} MiB used, limit {LIMIT}"


@attack(quick=500, full=4_000, flags=flags)
def unread_lists(target: Target, size: int) -> str:
    """Unread long lists of matches with the largest labels."""
    labels = {f"{number:063}": "x" * 128 for number in range(16)}
    request = match_request(["agent", "random"], config=MatchConfig(labels=labels))
    with Stubs(target.address) as stubs:
        flood(stubs.matches.CreateMatch.future, [request] * 1_000)
        page = pb.ListMatchesRequest(page_size=1_000).SerializeToString()
        grown = unread(target, size, LIST_MATCHES, "", page)
    check_served(target)
    return f"{grown:.0f} MiB used, limit {LIMIT}"


@attack(quick=20, full=200, flags=lambda size: ("--max-connection-bytes", 4 << 20))
def slow_readers(target: Target, size: int) -> str:
    """Readers with windows of a kilobyte: each gets its response and delays no other caller."""
    path = "/boardwire.v1.CatalogService/GetGame"
    data = framed(catalog_pb2.GetGameRequest(game="faraway").SerializeToString())
    wires = [Wire(target, window=1 << 10) for _ in range(size)]
    streams = [wire.call(path, data=data) for wire in wires]
    rounds = 0
    while not all(stream in wire.ended for wire, stream in zip(wires, streams, strict=True)):
        rounds += 1
        for wire in wires:
            wire.flush()
            wire.receive(0)
        expect(rounds < 100_000 and not any(wire.closed for wire in wires), "a slow reader got no response")
    for wire in wires:
        expect(set(wire.ended.values()) == {"0"}, f"a slow reader got an error: {wire.ended}")
        wire.close()
    return f"responses complete after {rounds} rounds"


@attack(quick=100, full=1_000)
def unread_health(target: Target, size: int) -> str:
    """Unread health checks do not block other health checks."""
    check = "/grpc.health.v1.Health/Check"
    wires = open_calls(target, size, lambda wire: wire.call(check, data=framed(b"")), unread=True)
    with Stubs(target.address) as stubs:
        health = flood(method(stubs.channel, check).future, [b""] * 100, width=1)
    for wire in wires:
        wire.close()
    expect(health == {OK: 100}, f"other health checks ended as {format_counts(health)}")
    return f"{size} unread"


@attack(quick=1_000, full=1_024, flags=lambda size: ("--max-bytes", 4 << 20))
def unread_calls(target: Target, size: int) -> str:
    """Unread calls of one caller beyond the limit of memory: other callers are served."""
    path = "/boardwire.v1.CatalogService/ListGames"
    wires = open_calls(target, size, lambda wire: wire.call(path, data=framed(b"")), unread=True)
    with Stubs(target.unix) as stubs:
        lists = flood(method(stubs.channel, path).future, [b""] * 100, width=1)
    for wire in wires:
        wire.close()
    expect(lists == {OK: 100}, f"another caller's calls ended as {format_counts(lists)}")
    return f"{size} unread"
