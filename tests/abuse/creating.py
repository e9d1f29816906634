"""Too many matches, too many waiting calls, and repeated requests."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc

from attacks import attack
from boardwire_v1 import match_pb2 as pb_match
from boardwire_v1 import match_service_pb2 as pb
from calls import (
    CALL_TIMEOUT,
    OK,
    Seat,
    Stubs,
    batch_request,
    bearer,
    check_served,
    flood,
    format_counts,
    match_request,
    outcome,
    reason,
)
from target import Target, expect, wait_until
from wire import framed, open_calls


def close(stubs: Stubs, created: pb.CreateMatchResponse) -> grpc.Future[pb.CloseMatchResponse]:
    """Starts a call that closes a match."""
    request = pb.CloseMatchRequest(match_id=created.match.id)
    return stubs.matches.CloseMatch.future(request, metadata=bearer(created.host_token))


@attack(quick=2_000, full=20_000, flags=lambda size: ("--max-matches-per-caller", size))
def matches(target: Target, size: int) -> str:
    """Creates more matches than allowed per caller, then closes all."""
    made: list[pb.CreateMatchResponse] = []
    request = match_request(["agent", "random"])
    with Stubs(target.address) as stubs:
        created = flood(
            stubs.matches.CreateMatch.future,
            [request] * (size + 100),
            on_response=lambda _, response: made.append(response),
        )
        expect(created == {OK: size, "CALLER_FULL": 100}, f"matches were created as {format_counts(created)}")
        closed = flood(lambda match: close(stubs, match), made)
        expect(closed == {OK: size}, f"matches were closed as {format_counts(closed)}")
        check_served(target)
    return format_counts(created)


@attack(
    quick=500,
    full=20_000,
    flags=lambda size: ("--match-idle-timeout", 10, "--max-matches", size + 1),
    slack=80,
)
def abandoned_matches(target: Target, size: int) -> str:
    """Abandoned matches end after the idle timeout."""
    request = match_request(["agent", "agent"])
    with Stubs(target.address) as stubs:
        created = flood(stubs.matches.CreateMatch.future, [request] * size)
        expect(set(created) <= {OK, "MATCHES_FULL"} and created[OK], f"created as {format_counts(created)}")

        def all_closed() -> bool:
            token = ""
            while True:
                page_request = pb.ListMatchesRequest(page_size=1_000, page_token=token)
                page = stubs.matches.ListMatches(page_request)
                still_open = sum(match.state != pb_match.MATCH_STATE_CLOSED for match in page.matches)
                token = page.next_page_token
                # The match of the normal client stays open.
                if still_open > 1:
                    return False
                if not token:
                    return True

        took = wait_until(all_closed, 60, "abandoned matches did not end")
    check_served(target)
    return f"{format_counts(created)}, gone after {took:.0f} s"


@attack(quick=1_000, full=5_000)
def waiting_calls(target: Target, size: int) -> str:
    """Waiting calls of one seat: the server accepts sixteen."""
    with Stubs(target.address) as stubs:
        seat = Seat(stubs, ["agent", "agent"])
        seat.act(0)
        request = pb.ObserveRequest(match_id=seat.match_id, wait=True)
        futures = [
            stubs.matches.Observe.future(request, metadata=bearer(seat.tokens[0])) for _ in range(size)
        ]
        wait_until(
            lambda: sum(each.done() for each in futures) >= size - 16,
            CALL_TIMEOUT,
            "the server did not reject calls",
        )
        seat.alternate()
        outcomes = Counter(outcome(each) for each in futures)
        expect(outcomes == {OK: 16, "SEAT_BUSY": size - 16}, f"the calls ended as {format_counts(outcomes)}")
        seat.close()
    return format_counts(outcomes)


@attack(
    quick=1_000,
    full=5_000,
    flags=lambda size: ("--max-waiting-calls", size, "--max-connection-streams", size + 10),
)
def permitted_waiting_calls(target: Target, size: int) -> str:
    """Waiting calls of one seat with a higher limit: one decision completes all."""
    with Stubs(target.address) as stubs, Stubs(target.address) as other:
        seat = Seat(other, ["agent", "agent"])
        seat.act(0)
        request = pb.ObserveRequest(match_id=seat.match_id, wait=True)
        metadata = bearer(seat.tokens[0])
        futures = [stubs.matches.Observe.future(request, metadata=metadata) for _ in range(size + 1)]
        # The server rejects one call immediately. Then all other calls wait.
        wait_until(
            lambda: any(each.done() for each in futures), CALL_TIMEOUT, "the server did not reject a call"
        )
        seat.alternate()
        outcomes = Counter(outcome(each) for each in futures)
        expect(outcomes == {OK: size, "SEAT_BUSY": 1}, f"the calls ended as {format_counts(outcomes)}")
        seat.close()
    return format_counts(outcomes)


@attack(quick=20, full=300)
def repeated_requests(target: Target, size: int) -> str:
    """Eight parallel calls with one request id create one match or one batch."""
    stubs = [Stubs(target.address) for _ in range(8)]

    def match(each: Stubs, name: str, bot: str = "random") -> str:
        request = match_request(["agent", bot], request_id=name)
        try:
            return str(each.matches.CreateMatch(request, timeout=CALL_TIMEOUT).host_token)
        except grpc.RpcError as error:
            return reason(error)

    def batch(each: Stubs, name: str) -> str:
        request = batch_request(["agent", "random"], 8, request_id=name)
        return str(each.batches.OpenBatch(request, timeout=CALL_TIMEOUT).token)

    with ThreadPoolExecutor(len(stubs)) as threads:
        for _ in range(size):
            for make in (match, batch):
                tokens = set(threads.map(make, stubs, [str(uuid.uuid4())] * 8))
                expect(len(tokens) == 1 and len(min(tokens)) == 32, f"one request made {tokens}")
            names, bots = [str(uuid.uuid4())] * 8, ["random", "greedy"] * 4
            made = Counter(threads.map(match, stubs, names, bots))
            expect(len(made) == 2 and made["REQUEST_ID_REUSED"] == 4, f"two requests with one id made {made}")
    for each in stubs:
        each.close()
    return f"{3 * size} requests made eight times each"


@attack(quick=1_000, full=12_288, slack=128)
def list_floods(target: Target, size: int) -> str:
    """Many concurrent lists with a filter that none of ten thousand matches passes."""
    path = "/boardwire.v1.MatchService/ListMatches"
    matches = min(10_000, 2 * size)
    with Stubs(target.address) as stubs:
        request = match_request(["agent", "random"])
        created = flood(stubs.matches.CreateMatch.future, [request] * matches)
        expect(created == {OK: matches}, f"matches were created as {format_counts(created)}")
        started = time.monotonic()
        # No match has this label.
        page = framed(pb.ListMatchesRequest(page_size=1, labels={"a": "b"}).SerializeToString())
        wires = open_calls(target, size, lambda wire: wire.call(path, data=page))
        ends = Counter[str]()
        for wire in wires:
            wire.pump(lambda wire=wire: len(wire.ended) >= min(1_024, size), 120)  # type: ignore[misc]
        for wire in wires:
            ends.update(wire.ended.values())
            wire.close()
        took = time.monotonic() - started
    return f"{matches:,} matches, {format_counts(ends)} in {took:.1f} s"
