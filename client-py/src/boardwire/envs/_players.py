"""Who sits at the seats beside the agent: bots in the server, policies in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._line_ups import check_bot
from .._rollouts import Policy

#: Who plays at every other seat, or at each of them in order: a bot's name, such as `greedy`, `mc:160` or
#: `policy:NAME`, or a function that gives actions for `Decisions`.
Opponents = str | Policy | Sequence[str | Policy]


class Players(NamedTuple):
    """Who plays at the other seats, by seat.

    Attributes:
        bots: The names of those who play in the server.
        policies: Those who play in this process.
    """

    bots: dict[int, str]
    policies: dict[int, Policy]


def players(seats: int, agent_seat: int, opponents: Opponents) -> Players:
    """Seats the opponents beside the agent.

    Raises:
        ValueError: The agent's seat is not there, the opponents are too few or too many, or one is named as
            no bot is.
        TypeError: An opponent is neither a name nor callable.
    """
    if not 0 <= agent_seat < seats:
        raise ValueError(f"agent_seat={agent_seat} is not a seat: there are {seats}")
    others: list[Any]
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        others = list(opponents)
    else:
        others = [opponents] * (seats - 1)
    if len(others) != seats - 1:
        raise ValueError(f"{len(others)} opponents for the {seats - 1} other seats")
    found = Players({}, {})
    for seat, player in zip((s for s in range(seats) if s != agent_seat), others, strict=True):
        if isinstance(player, str):
            check_bot(player)
            found.bots[seat] = player
        elif callable(player):
            found.policies[seat] = player
        else:
            raise TypeError(f"the opponent at seat {seat} is neither a bot's name nor callable: {player!r}")
    return found
