"""An agent that follows the protocol with one flaw, which `boardwire agent-check` must find.

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
    except errors.NotFound as error:
        if flaw != "silent":
            print(f"agent: {error}", file=sys.stderr)
        return 0 if flaw == "content" else 1
    except errors.BoardwireError as error:
        print(f"agent: {error}", file=sys.stderr)
        return 1
    if flaw == "endless":
        time.sleep(60)
    return 3 if flaw == "fails at the end" else 0


def play(flaw: str, client: boardwire.Client, code: str) -> None:
    """Joins and plays episode after episode."""

    def retry(call: Callable[[], _T]) -> _T:
        while True:
            try:
                return call()
            except errors.ConnectionLost:
                if flaw == "gives up":
                    raise

    if flaw == "talkative":
        # Not a flaw. The output is larger than the buffer of a pipe, so the checker must read it.
        print("is playing\n" * 20_000, file=sys.stderr, flush=True)
    if flaw == "joins twice":
        # The client repeats a join with the same request id. Without its retries, each join has a new id.
        vars(_client)["ATTEMPTS"] = 1
        _client._UNANSWERED = ()
    seat = retry(lambda: client.join(code))
    wait_timeout = 1.0 if flaw == "impatient" else None
    obs = retry(lambda: seat.observe(timeout=wait_timeout))
    while True:
        if obs.over and flaw == "one episode":
            return
        next_call = seat.reset if obs.over else partial(seat.act, choose(flaw, obs), timeout=wait_timeout)
        try:
            obs = retry(next_call)
        except errors.StaleRequest:
            if flaw == "stubborn":
                raise
            obs = retry(seat.observe)


def choose(flaw: str, obs: Observation) -> int:
    """Returns one legal action after another, or always the lowest."""
    legal = obs.mask.nonzero()[0]
    return int(legal[0 if flaw == "lowest" else obs.decision % len(legal)])


if __name__ == "__main__":
    sys.exit(main())
