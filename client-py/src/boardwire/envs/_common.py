"""Code that the Gymnasium environments share: copies, opponents, and the connection to a server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import Address, Policy, shared_client
from .._types import check_bot
from ._session import Session
from ._spaces import MaskPlace, ObservationEncoder, ObservationKind

#: One opponent for every other seat, or one for each of the other seats in order. An opponent is a bot's
#: name, such as `greedy`, `mc:160`, `strong` or `policy:NAME`, or a function that returns actions for
#: `Decisions`.
Opponents = str | Policy | Sequence[str | Policy]


class Reconstructed:
    """An environment that is copied or unpickled by calling its constructor again, without a reset."""

    _construct: Callable[[], Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Stores the arguments of the constructor."""
        env = super().__new__(cls)
        env._construct = functools.partial(cls, *args, **kwargs)
        return env

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a call of the constructor with the stored arguments."""
        return self._construct, ()


class SeatEnv(Reconstructed):
    """An environment in which one agent plays one seat of each match.

    Attributes:
        client: The client of the environment's server.
        game_spec: The spec of the table.
    """

    def _connect(
        self,
        game: str,
        *,
        seats: int | None,
        opponents: Opponents,
        agent_seat: int,
        options: Mapping[str, str] | None,
        observation: ObservationKind,
        mask: MaskPlace,
        address: str | Address | None,
        final_views: bool = False,
        **settings: Any,
    ) -> None:
        """Loads the spec, and configures the session and the encoder of observations."""
        self.client = shared_client(address)
        spec = self.game_spec = self.client.game(game, seats=seats, options=options)
        bots, policies = _players(spec.seats, agent_seat, opponents)
        self._encoder = ObservationEncoder(spec, observation, mask)
        self._agent_seat = agent_seat
        self._session = Session(
            self.client.open_batch,
            spec,
            seat=agent_seat,
            policies=policies,
            opponents=bots,
            # Without policies, the last row of an episode has the agent's view.
            columns=["scores", "final_views"] if policies or final_views else ["scores"],
            **settings,
        )


def _players(seats: int, agent_seat: int, opponents: Opponents) -> tuple[dict[int, str], dict[int, Policy]]:
    """Assigns the opponents to the seats that the agent does not take.

    Returns:
        The bots, which play in the server, and the policies, which play in this process; both by seat.

    Raises:
        ValueError: `agent_seat` does not exist, the number of opponents is wrong, or an opponent is named
            `agent`.
        TypeError: An opponent is neither a name nor callable.
    """
    if not 0 <= agent_seat < seats:
        raise ValueError(f"`agent_seat` must be from 0 to {seats - 1}; got {agent_seat}")
    others: list[Any]
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        others = list(opponents)
    else:
        others = [opponents] * (seats - 1)
    if len(others) != seats - 1:
        raise ValueError(
            f"`opponents` must be one player, or one for each of {seats - 1} other seats; got {len(others)}"
        )
    bots: dict[int, str] = {}
    policies: dict[int, Policy] = {}
    for seat, player in zip((s for s in range(seats) if s != agent_seat), others, strict=True):
        if isinstance(player, str):
            check_bot(player)
            bots[seat] = player
        elif callable(player):
            policies[seat] = player
        else:
            raise TypeError(
                f"the opponent at seat {seat} must be the name of a bot or a policy; got {player!r}"
            )
    return bots, policies
