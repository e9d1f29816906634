"""A field of policies and bots: how each policy fares against each of the others, over the same deals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ._client import Client
from ._evaluation import Evaluation, bootstrap, bounds_of, evaluate
from ._rollouts import Policy
from ._shared import shared_client
from ._types import Reward


@dataclass(frozen=True, slots=True, eq=False)
class Versus:
    """How the policies of a field fared.

    Attributes:
        evaluations: The evaluation of a policy against another player at all other seats, by the names of
            the two. All are of the same deals.
    """

    evaluations: Mapping[tuple[str, str], Evaluation]

    def difference(self, first: str, second: str, *, against: str) -> tuple[float, tuple[float, float]]:
        """By how much a policy does better than another one against the same player.

        The deals are the same, so their luck is left out: the interval is narrower than those of the two.

        Returns:
            The mean difference, and between which it lies in 95 of 100 such fields, by the bootstrap over
            deals. Its ends are at least where the mean would be with four deals more, all lost by the one
            and won by the other: policies that have never differed are not said to be equal. Otherwise it is
            as `Evaluation.interval`, with a single deal, too, and with margins and scores.

        Raises:
            KeyError: One of them has not met that player.
        """
        better, worse = (self.evaluations[name, against] for name in (first, second))
        by_deal = (better.rewards - worse.rewards).mean(axis=1, dtype=np.float64)
        least, most = bounds_of(better.deals["reward"])
        return float(by_deal.mean()), bootstrap(by_deal, (least - most, most - least))

    def __str__(self) -> str:
        """A table: a row a policy, a column for each it has met."""
        rows = list(dict.fromkeys(row for row, _ in self.evaluations))
        columns = list(dict.fromkeys(column for _, column in self.evaluations))
        wide = max(map(len, rows))
        lines = [" ".join([" " * wide, *(f"{column:>22}" for column in columns)])]
        for row in rows:
            cells = [self.evaluations.get((row, column)) for column in columns]
            lines.append(" ".join([f"{row:<{wide}}", *map(_cell, cells)]))
        return "\n".join(lines)


def _cell(found: Evaluation | None) -> str:
    if found is None:
        return f"{'-':>22}"
    low, high = found.interval
    return f"{f'{found.mean:.3f} ({low:.3f}, {high:.3f})':>22}"


def versus(
    policies: Mapping[str, Policy],
    game: str,
    *,
    bots: Sequence[str] = (),
    deals: int = 200,
    seats: int | None = None,
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    reward: Reward = "win",
    client: Client | None = None,
) -> Versus:
    """Lets every policy meet every other one, and every bot: each deal once from every seat.

    Args:
        policies: The policies by name.
        game: The game's id.
        bots: Bots that they meet as well, such as `greedy`.
        deals: How many deals.
        seats: How many seats; the fewest the game is played by when left out.
        options: Options by name; those left out have their defaults.
        seed: The seed from which all deals follow.
        reward: What counts.
        client: A client of a running server; of the private server of this process when left out.

    Raises:
        ValueError: There is not one deal, or a policy has the name of a bot.
    """
    if both := set(policies) & set(bots):
        raise ValueError(f"{sorted(both)[0]!r} is a policy and a bot")
    others: dict[str, Policy | str] = {**policies, **{bot: bot for bot in bots}}
    found = dict[tuple[str, str], Evaluation]()
    served = shared_client(None) if client is None else client
    for name, policy in policies.items():
        for other, player in others.items():
            if other != name:
                found[name, other] = evaluate(
                    policy,
                    game,
                    opponents=player,
                    deals=deals,
                    seats=seats,
                    options=options,
                    seed=seed,
                    reward=reward,
                    client=served,
                )
    return Versus(found)
