"""A Boardwire agent: joins a match with the code of an invitation and plays until the host closes it.

    python agent.py ADDRESS CODE [--transcript]

ADDRESS is host:port or unix:/path. To write an agent of your own, replace `choose`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import boardwire
from boardwire import Observation, Seat, errors

_T = TypeVar("_T")
#: Seconds to wait after the first failure, the second, and so on; then it gives up.
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0)
#: After so many seconds without a failure the pauses start again.
LONG = 60.0
#: What passes by itself.
PASSING = (errors.ConnectionLost, errors.ServerFull)


def choose(seen: Observation) -> int:
    """Chooses one of the legal actions.

    A trained policy looks at `seen.view` as well. None looks at `seen.ply`: simultaneous choices come in any
    order, so the same game shows other plies.
    """
    legal = seen.mask.nonzero()[0]
    return int(legal[seen.decision % len(legal)])


def insist(call: Callable[[], _T]) -> _T:
    """Calls until there is an answer: joins, decisions and resets may be repeated, nothing is done twice."""
    pauses, last = iter(PAUSES), time.monotonic()
    while True:
        try:
            return call()
        except errors.CallTimeout:
            continue  # Others may think for as long as they like.
        except errors.BoardwireError as failure:
            # What has no reason does not come from Boardwire.
            if failure.reason and not isinstance(failure, PASSING):
                raise
            if time.monotonic() - last > LONG:
                pauses = iter(PAUSES)  # Failures longer ago are not in a row with this one.
            pause, last = next(pauses, None), time.monotonic()
            if pause is None:
                raise
            time.sleep(pause)


def play(seat: Seat, log: Callable[[str], None]) -> None:
    """Plays until the match is closed, which is an exception; a stream that broke is opened again."""
    while True:
        # It comes when the seat owes a decision or the episode is over.
        seen = insist(partial(seat.observe, wait=True))
        try:
            while not seen.over:
                episode, decision, action = seen.episode, seen.decision, choose(seen)
                seen = insist(partial(seat.act, action, wait=True))
                log(f"{episode} {decision} {action} {seat.spec.actions[action].label}")
            scores, ranks = (" ".join(map(str, numbers)) for numbers in (seen.scores, seen.ranks))
            log(f"{seen.episode} over scores {scores} ranks {ranks}")
            insist(partial(seat.reset, wait=True))
        except (errors.StaleRequest, errors.EpisodeOver, errors.NotYourTurn):
            # The host has begun another episode, or ended this one, or time has run out: look again.
            continue


def main() -> None:
    """Joins and plays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("code", help="the code of an invitation")
    parser.add_argument("--transcript", action="store_true", help="print each own decision")
    arguments = parser.parse_args()
    try:
        with boardwire.connect(arguments.address) as client:
            joined = insist(partial(client.join, arguments.code))
            with joined as seat:
                play(seat, print if arguments.transcript else lambda line: None)
    except errors.Gone:
        pass
    except errors.BoardwireError as refused:
        sys.exit(f"agent: {refused} {refused.reason}")


if __name__ == "__main__":
    main()
