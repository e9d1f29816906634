"""Bots that think for long, and playouts by the thousand."""

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
#: What a call may take of memory, in MiB: far less than as many copies of a world.
CALL_MIB = 12
#: What a bot's decision may take beside another caller's bots, in seconds; alone it takes 0.02.
SLOW = 2.0


@attack(quick=20, full=200)
def thinking_bots(target: Target, size: int) -> str:
    """Matches of five costly bots each, in which nobody waits; closing them ends the work."""
    usual = target.load(1)
    made: list[pb.CreateMatchResponse] = []
    with Stubs(target.address) as stubs:
        request = match_request(["mc:10000"] * 5)
        created = flood(
            stubs.matches.CreateMatch.future,
            [request] * size,
            on_response=lambda _, response: made.append(response),
        )
        expect(created == {OK: size}, f"matches were created as {format_counts(created)}")
        wait_until(lambda: target.load(0.25) > usual + 0.3, 30, "no bot thinks")
        for match in made:
            close = pb.CloseMatchRequest(match_id=match.match.id)
            stubs.matches.CloseMatch(close, metadata=bearer(match.host_token))
        took = wait_until(lambda: target.load(0.25) < usual + 0.3, 30, "bots of closed matches think on")
    return f"{usual:.2f} processors otherwise, ended within {took:.1f} s"


def begin_rollout(stubs: Stubs) -> Any:
    """Begins as many playouts as one call may ask for, each of the same world of a search of its own."""
    seat = Seat(stubs)
    token = bearer(seat.tokens[0])
    drawn = stubs.searches.CreateSearch(CreateSearchRequest(match_id=seat.match_id), metadata=token)
    rollout = RolloutRequest(search_id=drawn.search.id, worlds=bytes(4 * MOST_PLAYOUTS))
    return stubs.searches.Rollout.future(rollout, metadata=token)


@attack(quick=24, full=200, connects=True)
def abandoned_rollouts(target: Target, size: int) -> str:
    """Callers that begin rollouts, one world named thousands of times, and hang up or give up the call."""
    usual, before = target.load(1), target.resident()
    with contextlib.ExitStack() as connections:
        calls = [begin_rollout(connections.enter_context(Stubs(target.address))) for _ in range(size)]
        wait_until(lambda: target.load(0.25) > usual + 0.3, 30, "nothing is played")
        under_way = sum(not call.done() for call in calls)
        expect(under_way > size / 2, f"only {under_way} of {size} rollouts are under way")
        grown = target.peak() - before
        expect(grown < CALL_MIB * size, f"{size} rollouts took {grown:.0f} MiB")
        for call in calls[::2]:
            call.cancel()
    took = wait_until(lambda: target.load(0.25) < usual + 0.3, 30, "playouts that nobody waits for go on")
    return f"{usual:.2f} processors otherwise, {grown / size:.1f} MiB a call, ended within {took:.1f} s"


@attack(quick=100, full=1_000)
def thinking_crowd(target: Target, size: int) -> str:
    """Matches of costly bots by one caller, and a bot of another caller that decides beside them."""
    made: list[pb.CreateMatchResponse] = []
    with Stubs(target.address) as stubs, Stubs(target.unix) as others:
        request = match_request(["mc:10000"] * 5)
        created = flood(
            stubs.matches.CreateMatch.future,
            [request] * size,
            on_response=lambda _, response: made.append(response),
        )
        expect(created == {OK: size}, f"matches were created as {format_counts(created)}")
        seat, slowest = Seat(others, ["agent", "mc:160"]), 0.0
        for _ in range(4):
            start = time.monotonic()
            seat.act()
            wait_until(lambda: 0 in seat.observe().pending, 60, "a bot of another caller did not decide")
            slowest = max(slowest, time.monotonic() - start)
        # Alone it decides within some 20 ms.
        expect(slowest < SLOW, f"a bot of another caller took {slowest:.1f} s for a decision")
        for match in made:
            close = pb.CloseMatchRequest(match_id=match.match.id)
            stubs.matches.CloseMatch(close, metadata=bearer(match.host_token))
    return f"a bot of another caller decided within {slowest * 1000:.0f} ms"
