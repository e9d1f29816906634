"""An agent that keeps the protocol, but for one thing: what the conformance kit has to find.

Usage: flawed_agent.py FLAW ADDRESS CODE
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import boardwire
from boardwire import Observation, _client, errors

_T = TypeVar("_T")


def main() -> int:
    """Plays until the match is closed, with the flaw."""
    flaw, address, code = sys.argv[1:]
    try:
        with boardwire.connect(address) as client:
            play(flaw, client, code)
    except errors.Gone:
        pass
    except errors.NotFound as refused:
        if flaw != "silent":
            print(f"agent: {refused}", file=sys.stderr)
        return 0 if flaw == "content" else 1
    except errors.BoardwireError as refused:
        print(f"agent: {refused}", file=sys.stderr)
        return 1
    if flaw == "endless":
        time.sleep(60)
    return 3 if flaw == "fails at the end" else 0


def play(flaw: str, client: boardwire.Client, code: str) -> None:
    """Joins and plays episode after episode."""

    def insist(call: Callable[[], _T]) -> _T:
        while True:
            try:
                return call()
            except errors.ConnectionLost:
                if flaw == "gives up":
                    raise

    if flaw == "talkative":
        # No flaw: more than a pipe holds, so somebody has to listen.
        print("is playing\n" * 20_000, file=sys.stderr, flush=True)
    if flaw == "joins twice":
        # The client repeats a join by itself, under the same id; without that each has an id of its own.
        vars(_client)["ATTEMPTS"] = 1
        _client._UNANSWERED = ()
    seat = insist(lambda: client.join(code))
    patience = 1.0 if flaw == "impatient" else None
    seen = insist(lambda: seat.observe(timeout=patience))
    while True:
        if seen.over and flaw == "one episode":
            return
        go_on = seat.reset if seen.over else partial(seat.act, choose(flaw, seen), timeout=patience)
        try:
            seen = insist(go_on)
        except errors.StaleRequest:
            if flaw == "stubborn":
                raise
            seen = insist(lambda: seat.observe())


def choose(flaw: str, seen: Observation) -> int:
    """The policy: the legal actions in turn."""
    legal = seen.mask.nonzero()[0]
    return int(legal[0 if flaw == "lowest" else seen.decision % len(legal)])


if __name__ == "__main__":
    sys.exit(main())
