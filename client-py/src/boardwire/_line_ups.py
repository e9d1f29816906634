"""Line-ups: who plays at the seats of a batch's environments."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

#: The player at a seat that a client plays.
AGENT = "agent"


def check_bot(name: str) -> None:
    """Refuses what stands in line-ups and matches for a client.

    Raises:
        ValueError: It is that word.
    """
    if name == AGENT:
        raise ValueError(f"{name!r} is no bot: opponents are bots, such as 'greedy', or policies")


def against(opponents: Mapping[int, str], seats: int) -> list[str]:
    """The line-up of an agent against bots at some seats.

    Raises:
        ValueError: A bot is given a seat that is not there.
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
    """How many seats line-ups have.

    Raises:
        ValueError: They differ in it, or from `seats`; or there are opponents beside them.
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
