"""Expensive bots, and thousands of playouts."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from attacks import attack
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1.search_pb2 import CreateSearchRequest, RolloutRequest
from calls import OK, Seat, Stubs, bearer, flood, format_counts, match_request
from target import Target, expect, wait_until

#: The most playouts of one call.
MOST_PLAYOUTS = 1 << 16
#: The memory for one call in MiB: far less than a copy of the determinization for each playout.
CALL_MIB = 12
#: The longest decision of a bot while bots of another caller play, in seconds. Alone it takes 0.02.
SLOWEST_DECISION = 2.0


@attack(quick=20, full=200)
def expensive_bots(target: Target, size: int) -> str:
    """Matches of five expensive bots each, without agents. Closing them ends the work."""
    usual = target.load(1)
    matches: list[pb.CreateMatchResponse] = []
    with Stubs(target.address) as stubs:
        request = match_request(["mc:10000"] * 5)
        created = flood(
            stubs.matches.CreateMatch.future,
            [request] * size,
            on_response=lambda _, response: matches.append(response),
        )
        expect(created == {OK: size}, f"matches were created as {format_counts(created)}")
        wait_until(lambda: target.load(0.25) > usual + 0.3, 30, "no bot plays")
        for match in matches:
            close = pb.CloseMatchRequest(match_id=match.match.id)
            stubs.matches.CloseMatch(close, metadata=bearer(match.host_token))
        took = wait_until(lambda: target.load(0.25) < usual + 0.3, 30, "bots of closed matches still play")
    return f"{usual:.2f} processors before, work ended within {took:.1f} s"


def start_rollout(stubs: Stubs) -> Any:
    """Starts the largest number of playouts of one call, all of the same determinization."""
    seat = Seat(stubs)
    token = bearer(seat.tokens[0])
    search = stubs.searches.CreateSearch(CreateSearchRequest(match_id=seat.match_id), metadata=token)
    rollout = RolloutRequest(search_id=search.search.id, worlds=bytes(4 * MOST_PLAYOUTS))
    return stubs.searches.Rollout.future(rollout, metadata=token)


@attack(quick=24, full=200, connects=True)
def abandoned_rollouts(target: Target, size: int) -> str:
    """Callers start rollouts of one determinization thousands of times, then cancel or disconnect."""
    usual, before = target.load(1), target.resident()
    with contextlib.ExitStack() as connections:
        calls = [start_rollout(connections.enter_context(Stubs(target.address))) for _ in range(size)]
        wait_until(lambda: target.load(0.25) > usual + 0.3, 30, "no playout runs")
        running = sum(not call.done() for call in calls)
        expect(running > size / 2, f"only {running} of {size} rollouts run")
        grown = target.peak() - before
        expect(grown < CALL_MIB * size, f"{size} rollouts took {grown:.0f} MiB")
        for call in calls[::2]:
            call.cancel()
    took = wait_until(lambda: target.load(0.25) < usual + 0.3, 30, "abandoned playouts still run")
    return f"{usual:.2f} processors before, {grown / size:.1f} MiB a call, ended within {took:.1f} s"


@attack(quick=100, full=1_000)
def expensive_bots_of_another_caller(target: Target, size: int) -> str:
    """One caller creates matches of expensive bots. A bot of another caller must stay fast."""
    matches: list[pb.CreateMatchResponse] = []
    with Stubs(target.address) as stubs, Stubs(target.unix) as others:
        request = match_request(["mc:10000"] * 5)
        created = flood(
            stubs.matches.CreateMatch.future,
            [request] * size,
            on_response=lambda _, response: matches.append(response),
        )
        expect(created == {OK: size}, f"matches were created as {format_counts(created)}")
        seat, slowest = Seat(others, ["agent", "mc:160"]), 0.0
        for _ in range(4):
            start = time.monotonic()
            seat.act()
            wait_until(lambda: 0 in seat.observe().pending, 60, "a bot of another caller did not decide")
            slowest = max(slowest, time.monotonic() - start)
        expect(slowest < SLOWEST_DECISION, f"a bot of another caller took {slowest:.1f} s for a decision")
        for match in matches:
            close = pb.CloseMatchRequest(match_id=match.match.id)
            stubs.matches.CloseMatch(close, metadata=bearer(match.host_token))
    return f"a bot of another caller decided within {slowest * 1000:.0f} ms"
