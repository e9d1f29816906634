"""Evaluation of policies against opponents over duplicate deals, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._client import Client
from ._rollouts import Decisions, Policy, whole_actions
from ._shared import shared_client
from ._types import AGENT, Reward, check_bot

# The maximum number of environments in one batch; at least one deal.
_AT_ONCE = 1024
# The number of bootstrap samples.
_SAMPLES = 4000
# The bounds of the reward of a deal.
BOUNDS: dict[Reward, tuple[float, float]] = {
    "rank": (-1.0, 1.0),
    "win": (0.0, 1.0),
    "margin": (-math.inf, math.inf),
    "score": (-math.inf, math.inf),
}
# How many unseen deals the interval assumes, all with the worst or all with the best reward: 1.96 squared,
# rounded. If all deals were won, the lower end is then that of Wilson's score interval.
_UNSEEN_DEALS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        mean: The policy's mean reward: with `rank` from -1 to 1, with `win` the share of matches won. If a
            control is used, its weighted luck is subtracted, as `evaluate` says.
        interval: The 95% confidence interval of the mean, by the bootstrap over deals, since the matches of
            one deal are dependent. It reaches at least to the means with four more deals, all with the worst
            or all with the best reward, since the bootstrap is too narrow if nearly all deals have the same
            result: 60 deals, all won, give 0.938 to 1 with `win`. The coverage is lowest if all but a few
            deals were won, or lost: 90%, from 40 deals on. A single deal gives the whole possible range.
            Margins and scores have no bounds, so their interval assumes no more deals. It comes only from the
            bootstrap, and for a single deal it is infinite.
        rewards: `float32[deals, seats]`, the policy's reward in the match of each deal at each seat.
        fair: The mean reward of a policy that is exactly as good as its opponents; None for margins and
            scores.
        deals: The deals that were played: game, seats, options, seed and reward.
    """

    mean: float
    interval: tuple[float, float]
    rewards: NDArray[np.float32]
    fair: float | None
    deals: Mapping[str, Any]

    def __str__(self) -> str:
        """Returns the mean, its interval and the number of matches as text."""
        low, high = self.interval
        return f"{self.mean:.3f} ({low:.3f} to {high:.3f}), {self.rewards.size} matches"


def evaluate(
    policy: Policy,
    game: str,
    *,
    opponents: str | Policy = "greedy",
    deals: int = 200,
    seats: int | None = None,
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    reward: Reward = "rank",
    control: Evaluation | None = None,
    control_weight: float = 0.5,
    client: Client | None = None,
) -> Evaluation:
    """Evaluates a policy against opponents at all other seats; it plays each deal once from every seat.

    So the policy gets the luck of every seat, and the interval is narrower than with as many independent
    matches. The same arguments and the same choices give the same figures.

    A control variate narrows the interval further: an evaluation of a similar policy, such as an older
    checkpoint, over the same deals and many more. Its luck is its mean in the shared deals minus its mean in
    all its deals. The luck times the weight is subtracted from the mean. Choose control and weight before you
    see the result: choosing by it biases the mean and makes the interval too narrow. The interval widens if
    the control has hardly more deals, or profits from different deals.

    Args:
        policy: The policy to evaluate: a function that maps `Decisions` to one action per row, such as a
            network with a checkpoint. A server bot `policy:NAME` does not need this.
        game: The game's id.
        opponents: A bot's name, such as `greedy`, `mc:160` or `strong`, or another policy.
        deals: The number of deals.
        seats: The number of seats; by default the fewest that the game allows.
        options: Options by name; missing ones have their defaults.
        seed: The seed of all deals.
        reward: The kind of reward.
        control: The result of `evaluate` for another policy, with the same deals first and more deals.
        control_weight: How much of the luck of `control` (a control variate) to subtract; 1 subtracts all.
            The best weight is the covariance of both policies' rewards by deal, divided by the variance of
            the control's rewards.
        client: A client of a running server; by default, of the private server of this process.

    Raises:
        ValueError: `deals` is less than 1, the control has other deals or no more deals, `opponents` is not
            a bot's name, or a policy did not choose one integer per decision.
        NotFound: The server does not have the game.
        InvalidRequest: The game has no such table, or the bot does not exist.
        IllegalAction: A policy chose an illegal action.
    """
    if deals < 1:
        raise ValueError(f"`deals` must be at least 1; got {deals}")
    other, opponent = (opponents, None) if isinstance(opponents, str) else (AGENT, opponents)
    if opponent is None:
        check_bot(other)
    client = client or shared_client(None)
    spec = client.game(game, seats=seats, options=options)
    count = spec.seats
    settings = {"game": game, "seats": count, "options": dict(spec.options), "seed": seed, "reward": reward}
    if control is not None:
        differing = [
            f"{name} {control.deals[name]!r}, not {value!r}"
            for name, value in settings.items()
            if control.deals[name] != value
        ]
        if differing:
            raise ValueError(f"the control has other deals: {', '.join(differing)}")
        if (more := len(control.rewards)) <= deals:
            raise ValueError(f"the control must have more than {deals} deals; it has {more}")
    rewards = np.empty((deals, count), np.float32)
    for first, end in pairwise([*range(0, deals, max(_AT_ONCE // count, 1)), deals]):
        with client.open_batch(
            game,
            environments=(end - first) * count,
            first_environment=first * count,
            line_ups=[[AGENT if seat == own else other for seat in range(count)] for own in range(count)],
            duplicate_deals=True,
            options=options,
            seed=seed,
            reward=reward,
        ) as batch:
            rewards[first:end] = _play(batch, policy, opponent)
    control_means = None if control is None else control.rewards.mean(axis=1, dtype=np.float64)
    means = rewards.mean(axis=1, dtype=np.float64)
    mean, interval = estimate(means, BOUNDS[reward], control_means, control_weight)
    fair = {"win": 1 / count, "rank": 0.0}.get(reward)
    return Evaluation(mean=mean, interval=interval, rewards=rewards, fair=fair, deals=settings)


def _play(batch: Batch, policy: Policy, opponent: Policy | None) -> NDArray[np.float32]:
    """Returns the policy's rewards by deal and seat. In environment i it plays seat i modulo seats."""
    n, seats = batch.environments, batch.spec.seats
    own = np.arange(n) % seats
    rewards, left = np.zeros(n, np.float32), np.ones(n, np.bool_)
    step = batch.reset()
    while left.any():
        actions = np.zeros(n, np.int64)
        is_own = step.seat == own
        for due, act, name in ((is_own, policy, "the policy"), (~is_own, opponent, "the opponent")):
            at = np.flatnonzero(left & due)
            if act is not None and len(at):
                where = batch.first_environment + at
                decisions = Decisions(step.view[at], step.mask[at], step.seat[at], where)
                actions[at] = whole_actions(act(decisions), len(at), name)
        step = batch.step(actions, where=left)
        ends = left & step.over
        rewards[ends] = step.reward[ends, own[ends]]
        left &= ~ends
    return rewards.reshape(-1, seats)


def estimate(
    means: NDArray[np.float64],
    bounds: tuple[float, float],
    control: NDArray[np.float64] | None = None,
    weight: float = 0.0,
) -> tuple[float, tuple[float, float]]:
    """Returns the mean, corrected by a control variate, and its 95% interval by the bootstrap over deals.

    Args:
        means: `float64[deals]`, the mean of each deal.
        bounds: The bounds of each mean.
        control: `float64[more]`, the control's mean of each deal, with the same deals first.
        weight: The share of the control's luck to subtract.
    """
    n, random = len(means), np.random.default_rng(0)
    played = mean = float(means.mean())
    if control is None:
        drawn = _resampled(means, random)
    else:
        both, others = control[:n], control[n:]
        # The control's mean over all its deals is a weighted mean of the shared deals and the other deals.
        share = weight * len(others) / len(control)
        drawn = _resampled(means - share * both, random) + share * _resampled(others, random)
        mean = float(means.mean() - weight * (both.mean() - control.mean()))
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    worst, best = bounds
    if n > 1 and math.isinf(best - worst):
        return mean, (low, high)
    # A single deal says nothing about how deals differ.
    unseen = 1.0 if n == 1 else _UNSEEN_DEALS / (n + _UNSEEN_DEALS)
    return mean, (min(low, mean - unseen * (played - worst)), max(high, mean + unseen * (best - played)))


def _resampled(means: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Returns the means of bootstrap samples, each of as many deals as `means` has."""
    n = len(means)
    return np.array([means[random.integers(0, n, n)].mean() for _ in range(_SAMPLES)])


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
            The mean difference and its 95% interval. The four more deals of `Evaluation.interval` all have
            the worst reward of one policy and the best of the other. So policies that never differed do not
            count as equal. For a single deal, margins and scores, the rules of `Evaluation.interval` apply.

        Raises:
            KeyError: A policy has not played against this opponent.
        """
        better, worse = (self.evaluations[name, against] for name in (first, second))
        minimum, maximum = BOUNDS[better.deals["reward"]]
        means = (better.rewards - worse.rewards).mean(axis=1, dtype=np.float64)
        return estimate(means, (minimum - maximum, maximum - minimum))

    def __str__(self) -> str:
        """Returns a text table with a row for each policy and a column for each opponent."""
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*self.evaluations, strict=True))
        wide = max(map(len, rows))

        def cell(row: str, column: str) -> str:
            found = self.evaluations.get((row, column))
            return "-" if found is None else "{:.3f} ({:.3f}, {:.3f})".format(found.mean, *found.interval)

        table = [("", columns), *((row, [cell(row, column) for column in columns]) for row in rows)]
        lines = (" ".join([f"{row:<{wide}}", *(f"{each:>22}" for each in cells)]) for row, cells in table)
        return "\n".join(lines)


def versus(
    policies: Mapping[str, Policy],
    game: str,
    *,
    bots: Sequence[str] = (),
    deals: int = 200,
    seats: int | None = None,
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    reward: Reward = "rank",
    client: Client | None = None,
) -> Versus:
    """Evaluates every policy against every other policy and every bot; each deal once from every seat.

    `policies` has the policies by name. They also play against `bots`, such as `greedy`. The other arguments
    and errors are those of `evaluate`.

    Raises:
        ValueError: A policy has the name of a bot.
    """
    if both := set(policies) & set(bots):
        raise ValueError(f"{sorted(both)[0]!r} is the name of a policy and of a bot: rename the policy")
    others: dict[str, Policy | str] = {**policies, **{bot: bot for bot in bots}}
    settings: Any = {"deals": deals, "seats": seats, "options": options, "seed": seed, "reward": reward}
    evaluations = {
        (name, other): evaluate(policy, game, opponents=player, client=client, **settings)
        for name, policy in policies.items()
        for other, player in others.items()
        if other != name
    }
    return Versus(evaluations)
