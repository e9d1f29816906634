"""Bots that think for long, and many of them."""

from __future__ import annotations

from attacks import attack
from boardwire.v1 import match_service_pb2 as pb
from calls import OK, Stubs, bearer, counted, flood
from target import Target, expect, until


@attack(quick=20, full=200)
def thinking_bots(target: Target, size: int) -> str:
    """Matches of five costly bots each, in which nobody waits; closing them ends the work."""
    usual = target.load(1)
    made: list[pb.CreateMatchResponse] = []
    with Stubs(target.address) as stubs:
        asked = pb.CreateMatchRequest(game="faraway", players=["greedy:1024"] * 5)
        created = flood(
            stubs.matches.CreateMatch.future, [asked] * size, answer=lambda _, answer: made.append(answer)
        )
        expect(created == {OK: size}, f"matches were created as {counted(created)}")
        busy = target.load(2)
        expect(busy > usual + 0.3, "no bot thinks")
        for match in made:
            close = pb.CloseMatchRequest(match_id=match.match.id)
            stubs.matches.CloseMatch(close, metadata=bearer(match.host_token))
        took = until(lambda: target.load(0.25) < usual + 0.3, 15, "bots of closed matches think on")
    return f"{busy:.2f} processors, ended within {took:.1f} s"
