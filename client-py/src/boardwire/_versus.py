"""Round-robin evaluation: each policy plays each other policy and bot over the same deals."""

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
    """The result of a round-robin evaluation.

    Attributes:
        evaluations: The evaluations by `(policy, opponent)` name; the opponent plays all other seats. All use
            the same deals.
    """

    evaluations: Mapping[tuple[str, str], Evaluation]

    def difference(self, first: str, second: str, *, against: str) -> tuple[float, tuple[float, float]]:
        """Returns how much more the first policy earns than the second, against the same opponent.

        Both play the same deals, so the luck of the deals cancels out: the interval of the difference is
        narrower than those of the two policies.

        Returns:
            The mean difference and its 95% interval, by the bootstrap over deals. The interval reaches at
            least to the means with four more deals, all lost by one policy and won by the other. So policies
            that never differed do not count as equal. For a single deal, margins and scores, the rules of
            `Evaluation.interval` apply.

        Raises:
            KeyError: A policy has not played against this opponent.
        """
        better, worse = (self.evaluations[name, against] for name in (first, second))
        by_deal = (better.rewards - worse.rewards).mean(axis=1, dtype=np.float64)
        least, most = bounds_of(better.deals["reward"])
        return float(by_deal.mean()), bootstrap(by_deal, (least - most, most - least))

    def __str__(self) -> str:
        """Returns a text table with a row for each policy and a column for each opponent."""
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
    """Evaluates every policy against every other policy and every bot; each deal once from every seat.

    Args:
        policies: The policies by name.
        game: The game's id.
        bots: Names of bots that the policies play against as well, such as `greedy`.
        deals: The number of deals.
        seats: The number of seats; by default the fewest that the game allows.
        options: Options by name; missing ones have their defaults.
        seed: The seed of all deals.
        reward: The kind of reward.
        client: A client of a running server; by default, of the private server of this process.

    Raises:
        ValueError: `deals` is less than 1, or a policy has the name of a bot.
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
