"""Evaluation of a policy against opponents over duplicate deals, with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._batch import Batch
from ._client import Client
from ._line_ups import AGENT, check_bot
from ._rollouts import Decisions, Policy, whole_actions
from ._shared import shared_client
from ._types import NOBODY, Reward

# The most environments in one batch; at least one deal.
_AT_ONCE = 1024
# The number of bootstrap samples.
_SAMPLES = 4000
# The bounds of the reward of a deal. Margins and scores have none.
_BOUNDS: dict[Reward, tuple[float, float]] = {"win": (0.0, 1.0), "rank": (-1.0, 1.0)}
_UNBOUNDED = (-math.inf, math.inf)
# How many unseen deals the interval assumes, all with the worst or all with the best reward: 1.96 squared,
# rounded. If all deals were won, the lower end is then that of Wilson's score interval.
_UNSEEN = 4


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The result of an evaluation.

    Attributes:
        mean: The policy's mean reward; with reward `win`, the share of matches won. A control corrects it by
            how much better than usual the control did in these deals.
        interval: The 95% confidence interval of the mean, by the bootstrap over deals, since the matches of
            one deal are dependent. If nearly all deals have the same result, the bootstrap is too narrow.
            So the interval reaches at least to the means with four more deals, all lost or all won: 60 deals,
            all won, give 0.938 to 1. The coverage is lowest if all but a few deals were won, or lost: 90%,
            from 40 deals on. A single deal gives the whole possible range. Margins and scores have no
            bounds: their interval is the bootstrap alone, and infinite for a single deal.
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
    reward: Reward = "win",
    control: Evaluation | None = None,
    control_weight: float = 0.5,
    client: Client | None = None,
) -> Evaluation:
    """Evaluates a policy against opponents at all other seats; it plays each deal once from every seat.

    So the policy gets the luck of every seat, and the interval is narrower than with as many independent
    matches. The result is reproducible: the same arguments and the same choices give the same figures.

    A control variate narrows the interval further. The control is an evaluation over the same deals and many
    more, of a policy that the same deals help, such as an older checkpoint. Its luck is its mean in the
    shared deals minus its mean in all its deals. The luck times the weight is subtracted from the mean.
    Choose control and weight before you see the result. Choosing by the result makes the interval too narrow
    and biases the mean toward the hoped-for result. The interval widens if the control has hardly more deals,
    or if its policy profits from different deals.

    Args:
        policy: The policy to evaluate: a function that maps `Decisions` to one action per row, such as a
            network with a checkpoint. A server bot `policy:NAME` does not need this.
        game: The game's id.
        opponents: A bot's name, such as `greedy` or `mc:160`, or another policy.
        deals: The number of deals.
        seats: The number of seats; by default the fewest that the game allows.
        options: Options by name; missing ones have their defaults.
        seed: The seed of all deals.
        reward: The kind of reward.
        control: The control: an evaluation of another policy that reduces the variance.
        control_weight: The share of the control's luck to subtract. The best weight is the covariance of both
            policies' rewards by deal, divided by the variance of the control's.
        client: A client of a running server; by default, of the private server of this process.

    Raises:
        ValueError: `deals` is less than 1, the control has other deals or no more deals, `opponents` is not
            a bot's name, or a policy did not choose one integer per decision.
        NotFound: The server does not have the game.
        InvalidRequest: The game has no such table, or the bot does not exist.
        IllegalAction: A policy chose an illegal action.
    """
    if deals < 1:
        raise ValueError(f"an evaluation takes at least one deal, not {deals}")
    if isinstance(opponents, str):
        check_bot(opponents)
    served = shared_client(None) if client is None else client
    spec = served.game(game, seats=seats, options=options)
    count = spec.seats
    of = {"game": game, "seats": count, "options": dict(spec.options), "seed": seed, "reward": reward}
    if control is not None:
        _check_control(control, of, deals)
    others = opponents if isinstance(opponents, str) else AGENT
    line_ups = [[AGENT if seat == own else others for seat in range(count)] for own in range(count)]
    bounds = [*range(0, deals, max(_AT_ONCE // count, 1)), deals]
    rewards = np.empty((deals, count), np.float32)
    for first, end in pairwise(bounds):
        with served.open_batch(
            game,
            environments=(end - first) * count,
            first_environment=first * count,
            line_ups=line_ups,
            duplicate_deals=True,
            options=options,
            seed=seed,
            reward=reward,
        ) as batch:
            rewards[first:end] = _play(batch, policy, None if isinstance(opponents, str) else opponents)
    fair = {"win": 1 / count, "rank": 0.0}.get(reward)
    means = rewards.mean(axis=1, dtype=np.float64)
    if control is None:
        mean, interval = float(means.mean()), bootstrap(means, bounds_of(reward))
    else:
        known = control.rewards.mean(axis=1, dtype=np.float64)
        mean, interval = controlled(means, known, control_weight, bounds_of(reward))
    return Evaluation(mean=mean, interval=interval, rewards=rewards, fair=fair, deals=of)


def _check_control(control: Evaluation, of: Mapping[str, Any], deals: int) -> None:
    differing = [
        f"{name} {control.deals[name]!r}, not {of[name]!r}" for name in of if control.deals[name] != of[name]
    ]
    if differing:
        raise ValueError(f"the control is of other deals: {', '.join(differing)}")
    if len(control.rewards) <= deals:
        raise ValueError(
            f"the control is of {len(control.rewards)} deals: it takes more than the {deals} played"
        )


def _play(batch: Batch, policy: Policy, opponents: Policy | None) -> NDArray[np.float32]:
    """Returns the policy's rewards by deal and seat. In environment i it plays seat i modulo seats."""
    n, seats = batch.environments, batch.spec.seats
    everywhere = np.arange(n)
    own = everywhere % seats
    rewards, left = np.zeros(n, np.float32), np.ones(n, np.bool_)
    shown = batch.reset()
    while left.any():
        actions = np.zeros(n, np.int64)
        due = left & (shown.seat != NOBODY)
        sides = ((shown.seat == own, policy, "the policy"), (shown.seat != own, opponents, "the opponent"))
        for who, act, name in sides:
            at = np.flatnonzero(due & who)
            if act is not None and len(at):
                asked = Decisions(
                    shown.view[at], shown.mask[at], shown.seat[at], batch.first_environment + at
                )
                actions[at] = whole_actions(act(asked), len(at), name)
        # Environments that have finished play any legal action; their results are ignored.
        done = ~left & (shown.seat != NOBODY)
        actions[done] = shown.mask[done].argmax(axis=1)
        shown = batch.step(actions)
        ends = left & shown.over
        rewards[ends] = shown.reward[ends, own[ends]]
        left &= ~ends
    return rewards.reshape(-1, seats)


def bounds_of(reward: Reward) -> tuple[float, float]:
    """Returns the bounds of the reward of a deal; infinite for margins and scores."""
    return _BOUNDS.get(reward, _UNBOUNDED)


def bootstrap(means: NDArray[np.float64], bounds: tuple[float, float] = _UNBOUNDED) -> tuple[float, float]:
    """Returns the 95% interval of the mean by the bootstrap over deals.

    Args:
        means: `float64[deals]`, the mean of each deal.
        bounds: The bounds of each mean.
    """
    drawn = _resampled(means, np.random.default_rng(0))
    return _between(drawn, float(means.mean()), means, bounds)


def controlled(
    means: NDArray[np.float64],
    control: NDArray[np.float64],
    weight: float,
    bounds: tuple[float, float] = _UNBOUNDED,
) -> tuple[float, tuple[float, float]]:
    """Returns the mean corrected by a control, and its 95% interval by the bootstrap over deals.

    Args:
        means: `float64[deals]`, the mean of each deal.
        control: `float64[more]`, the control's mean of each deal, with the same deals first.
        weight: The share of the control's luck to subtract.
        bounds: The bounds of each mean.
    """
    both, others = control[: len(means)], control[len(means) :]
    random = np.random.default_rng(0)
    # The control's mean over all its deals is a weighted mean of the shared deals and the other deals.
    share = len(others) / len(control)
    apart = _resampled(means - weight * share * both, random)
    drawn = apart + weight * share * _resampled(others, random)
    mean = float(means.mean() - weight * (both.mean() - control.mean()))
    return mean, _between(drawn, mean, means, bounds)


def _resampled(means: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Returns the means of bootstrap samples, each of as many deals as `means` has."""
    n = len(means)
    return np.array([means[random.integers(0, n, n)].mean() for _ in range(_SAMPLES)])


def _between(
    drawn: NDArray[np.float64], mean: float, means: NDArray[np.float64], bounds: tuple[float, float]
) -> tuple[float, float]:
    """Returns the 95% interval of the samples, widened by what unseen deals could change."""
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    n, played, (worst, best) = len(means), float(means.mean()), bounds
    if n > 1 and not math.isfinite(best - worst):
        return low, high
    # A single deal says nothing about how deals differ.
    unseen = 1.0 if n == 1 else _UNSEEN / (n + _UNSEEN)
    return min(low, mean - unseen * (played - worst)), max(high, mean + unseen * (best - played))
