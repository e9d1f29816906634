"""A Boardwire agent. It joins a match with the code of an invitation and plays until the match is closed.

    python agent.py ADDRESS CODE [--transcript]

ADDRESS is host:port or unix:/path. To write your own agent, replace `choose`. `boardwire agent-check` sets
BOARDWIRE_CHECK_THINK to the seconds that the agent waits before each action.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import boardwire
from boardwire import Observation, Seat, errors

_T = TypeVar("_T")
#: Seconds to wait before each retry. After the last one the agent gives up.
RETRY_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0)
#: After this many seconds without an error, the delays start from the first again.
RETRY_RESET = 60.0
#: Temporary errors.
TEMPORARY = (errors.ConnectionLost, errors.ServerFull)
#: Seconds to wait before each action.
THINK = float(os.environ.get("BOARDWIRE_CHECK_THINK", "0"))


def choose(obs: Observation) -> int:
    """Chooses one of the legal actions.

    A trained policy also reads `obs.view`. Do not use `obs.ply`: simultaneous actions arrive in any order, so
    it differs between plays of the same game.
    """
    legal = obs.mask.nonzero()[0]
    return int(legal[obs.decision % len(legal)])


def retry(call: Callable[[], _T]) -> _T:
    """Repeats a call until it succeeds. Joins, actions and resets are idempotent."""
    delays, last_error = iter(RETRY_DELAYS), time.monotonic()
    while True:
        try:
            return call()
        except errors.CallTimeout:
            continue  # The other players have no time limit.
        except errors.BoardwireError as error:
            # An error without a reason comes from a proxy or the network.
            if error.reason and not isinstance(error, TEMPORARY):
                raise
            if time.monotonic() - last_error > RETRY_RESET:
                delays = iter(RETRY_DELAYS)
            delay, last_error = next(delays, None), time.monotonic()
            if delay is None:
                raise
            time.sleep(delay)


def play(seat: Seat, log: Callable[[str], None]) -> None:
    """Plays until the match is closed, which raises `Gone`. The client reopens a broken stream."""
    if retry(seat.info).fair is not None:
        retry(seat.reveal)
    while True:
        # Returns when the seat has a pending decision or the episode is over.
        obs = retry(partial(seat.observe, wait=True))
        try:
            while not obs.over:
                episode, decision, action = obs.episode, obs.decision, choose(obs)
                time.sleep(THINK)
                obs = retry(partial(seat.act, action, wait=True))
                log(f"{episode} {decision} {action} {seat.spec.actions[action].label}")
            scores, ranks = (" ".join(map(str, numbers)) for numbers in (obs.scores, obs.ranks))
            log(f"{obs.episode} over scores {scores} ranks {ranks}")
            retry(partial(seat.reset, wait=True))
        except (errors.StaleRequest, errors.EpisodeOver, errors.NotYourTurn):
            # The host reset or ended the episode, or time ran out. Observe again.
            continue


def main() -> None:
    """Joins the match and plays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("code", help="the code of an invitation")
    parser.add_argument("--transcript", action="store_true", help="print each own decision")
    arguments = parser.parse_args()
    try:
        with (
            boardwire.connect(
                arguments.address,
                tls=boardwire.TLS(ca=ca) if (ca := os.environ.get("BOARDWIRE_CA")) else False,
                token=os.environ.get("BOARDWIRE_ACCOUNT_TOKEN"),
            ) as client,
            retry(partial(client.join, arguments.code)) as seat,
        ):
            play(seat, print if arguments.transcript else lambda line: None)
    except errors.Gone:
        pass
    except errors.BoardwireError as error:
        sys.exit(f"agent: {error} {error.reason}")


if __name__ == "__main__":
    main()
