"""Line-ups: the players at the seats of a batch's environments."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

#: The name, in a line-up, of a player that the client controls.
AGENT = "agent"


def check_bot(name: str) -> None:
    """Refuses `AGENT` as the name of a bot.

    Raises:
        ValueError: The name is `AGENT`.
    """
    if name == AGENT:
        raise ValueError(f"{name!r} is no bot: opponents are bots, such as 'greedy', or policies")


def against(opponents: Mapping[int, str], seats: int) -> list[str]:
    """Returns the line-up with the given bots at their seats and agents at all others.

    Raises:
        ValueError: A bot's seat does not exist.
    """
    players = [AGENT] * seats
    for seat, bot in opponents.items():
        if not 0 <= seat < seats:
            raise ValueError(f"opponents has seat {seat}: there are {seats}")
        players[seat] = bot
    return players


def seats_of(
    line_ups: Sequence[Sequence[str]], seats: int | None, opponents: Mapping[int, str] | None
) -> int:
    """Returns the number of seats of the line-ups.

    Raises:
        ValueError: The line-ups differ in their number of seats, it is not `seats`, a line-up is a string, or
            `opponents` is given too.
    """
    if opponents is not None:
        raise ValueError("opponents and line_ups exclude each other: both say who plays where")
    if any(isinstance(players, str) for players in line_ups):
        raise ValueError("line_ups are lists of players, one a line-up, such as [['agent', 'greedy']]")
    counts = sorted({len(players) for players in line_ups})
    if len(counts) != 1:
        found = " or ".join(map(str, counts)) or "no"
        raise ValueError(f"line_ups have {found} seats: all have the same number")
    if seats is not None and operator.index(seats) != counts[0]:
        raise ValueError(f"line_ups have {counts[0]} seats, not seats={seats}")
    return counts[0]
