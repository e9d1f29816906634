"""Evaluation: how a policy fares against others over duplicate deals, with an interval."""

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

# Environments that are stepped at once.
_AT_ONCE = 1024
# Samples that intervals are made of.
_SAMPLES = 4000
# Between which the reward of a deal lies. Margins and scores have no bounds.
_BOUNDS: dict[Reward, tuple[float, float]] = {"win": (0.0, 1.0), "rank": (-1.0, 1.0)}
_UNBOUNDED = (-math.inf, math.inf)
# How many deals more may have gone as none of those played: 1.96 squared. Where all deals were won, the lower
# end is that of Wilson's score interval then.
_UNSEEN = 4


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """How a policy fared.

    Attributes:
        mean: Its mean reward; the share of matches won, where the reward is the win. With a control it is
            corrected by how much kinder than usual the deals were to that.
        interval: Between which the mean lies as a rule, in 95 of 100 evaluations: by the bootstrap over
            deals, since the matches of one deal depend on each other. Where nearly all deals went alike it
            knows too little of the others, so the ends are at least where the mean would be with four deals
            more, all lost or all won: of 60 deals that were all won 0.938 to 1. At worst, a few deals from
            all won or all lost, that is 90 of 100, from 40 deals on. A single deal leaves all that is
            possible. Margins and scores have no bounds: there the bootstrap stands alone, and a single deal
            leaves anything.
        rewards: `float32[deals, seats]`, its reward in each match: of each deal at each seat.
        fair: What every policy would get that is no better or worse than the others; not known for scores.
        deals: What deals they are of: game, seats, options, seed and reward.
    """

    mean: float
    interval: tuple[float, float]
    rewards: NDArray[np.float32]
    fair: float | None
    deals: Mapping[str, Any]

    def __str__(self) -> str:
        """The mean with its interval."""
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
    """Plays a policy against opponents at all other seats: each deal once from every seat.

    All seats get the same luck of the deal so, which makes the interval narrower than by as many single
    matches. The same arguments and policies that choose alike give the same figures.

    A control narrows it further: an evaluation over the same deals and many more, of a policy that is helped
    by the same deals, such as an older checkpoint. By as much as that one did better in the deals of both
    than in all of its own, times the weight, the mean is lowered. Control and weight are to be chosen before
    the result is seen: who chooses among several by the result gets an interval that is too narrow, and a
    mean that leans to what was hoped for. A control over hardly more deals, or of a policy that is helped by
    other deals, makes the interval wider; the interval says so.

    Args:
        policy: What is evaluated: a function of `Decisions` that gives the action of each row. It may be a
            network with a checkpoint behind it; `policy:NAME` plays in the server and needs none of this.
        game: The game's id.
        opponents: A bot's name, such as `greedy` or `mc:160`, or another policy.
        deals: How many deals.
        seats: How many seats; the fewest the game is played by when left out.
        options: Options by name; those left out have their defaults.
        seed: The seed from which all deals follow.
        reward: What counts.
        control: An evaluation of another policy by which chance is taken out.
        control_weight: How much of the control's luck is taken out; best is the covariance of the two by
            deals over the variance of the control's.
        client: A client of a running server; of the private server of this process when left out.

    Raises:
        ValueError: There is not one deal, the control is of other deals or no more, the opponents are named
            as no bot is, or a policy has not chosen a whole number for each decision.
        NotFound: The game is not served.
        InvalidRequest: It has no such table, or there is no such bot.
        IllegalAction: A policy has chosen an action that is not legal.
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
    """The rewards of the policy, which has seat i modulo seats of environment i, by deal and seat."""
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
        # Those that have played go on with anything: nobody looks.
        done = ~left & (shown.seat != NOBODY)
        actions[done] = shown.mask[done].argmax(axis=1)
        shown = batch.step(actions)
        ends = left & shown.over
        rewards[ends] = shown.reward[ends, own[ends]]
        left &= ~ends
    return rewards.reshape(-1, seats)


def bounds_of(reward: Reward) -> tuple[float, float]:
    """Between which the reward of a deal lies."""
    return _BOUNDS.get(reward, _UNBOUNDED)


def bootstrap(means: NDArray[np.float64], bounds: tuple[float, float] = _UNBOUNDED) -> tuple[float, float]:
    """Between which the mean lies in 95 of 100 samples of as many deals.

    Args:
        means: `float64[deals]`, the mean of each deal.
        bounds: Between which each of them lies.
    """
    drawn = _resampled(means, np.random.default_rng(0))
    return _between(drawn, float(means.mean()), means, bounds)


def controlled(
    means: NDArray[np.float64],
    control: NDArray[np.float64],
    weight: float,
    bounds: tuple[float, float] = _UNBOUNDED,
) -> tuple[float, tuple[float, float]]:
    """The mean corrected by a control, and between which it lies in 95 of 100 samples of as many deals.

    Args:
        means: `float64[deals]`, the mean of each deal.
        control: `float64[more]`, that of the control, of the same deals first.
        weight: How much of the control's luck is taken out.
        bounds: Between which each mean lies.
    """
    both, others = control[: len(means)], control[len(means) :]
    random = np.random.default_rng(0)
    # What the control says of all its deals is a mean of these deals and of the others.
    share = len(others) / len(control)
    apart = _resampled(means - weight * share * both, random)
    drawn = apart + weight * share * _resampled(others, random)
    mean = float(means.mean() - weight * (both.mean() - control.mean()))
    return mean, _between(drawn, mean, means, bounds)


def _resampled(means: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """The means of samples of as many deals."""
    n = len(means)
    return np.array([means[random.integers(0, n, n)].mean() for _ in range(_SAMPLES)])


def _between(
    drawn: NDArray[np.float64], mean: float, means: NDArray[np.float64], bounds: tuple[float, float]
) -> tuple[float, float]:
    """Between which most of what was drawn lies, and what deals that nobody has seen leave possible."""
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    n, played, (worst, best) = len(means), float(means.mean()), bounds
    if n > 1 and not math.isfinite(best - worst):
        return low, high
    # A single deal tells nothing of how others differ from it.
    unseen = 1.0 if n == 1 else _UNSEEN / (n + _UNSEEN)
    return min(low, mean - unseen * (played - worst)), max(high, mean + unseen * (best - played))
