"""Learns Faraway by self-play on a batch: a linear policy, all seats of many environments, no deep learning.

Every decision is made likelier as far as its seat earned more than expected (an actor and a critic). Prints
how the policy fares against a random bot, before and after, and how many decisions were made in a second.

To try: more updates, `opponents="greedy"`, a network of your own in the place of the weights.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire

Floats = NDArray[np.float32]

#: Steps between two updates: a few episodes.
STEPS = 100
#: How fast the critic learns.
VALUE_RATE = 0.01


def policy(weights: Floats, features: Floats, mask: NDArray[np.int8]) -> Floats:
    """The probability of each action: `float32[n, actions]`; none is spent on illegal ones."""
    logits = np.where(mask > 0, features @ weights, -np.inf)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-1e9))
    chances: Floats = odds / np.maximum(odds.sum(axis=1, keepdims=True), 1e-9)
    return chances


def sample(chances: Floats, random: np.random.Generator) -> NDArray[np.uint8]:
    """An action for each row. A row without legal actions, whose episode is over, gets any: it is ignored."""
    ends = chances.cumsum(axis=1, dtype=np.float64)
    return np.asarray((ends > random.random((len(ends), 1)) * ends[:, -1:]).argmax(axis=1), dtype=np.uint8)


def learn(
    client: boardwire.Client,
    environments: int,
    updates: int,
    rate: float,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> Floats:
    """Plays all seats of a batch against each other; gives the weights of the policy.

    `progress` is called with the number of decisions that an update has learned from.
    """
    random = np.random.default_rng(seed)
    with client.open_batch("faraway", environments=environments, seed=seed, skip_forced=True) as batch:
        spec = batch.spec
        weights = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        judgement = np.zeros(len(spec.layout.names), np.float32)

        def act(asked: boardwire.Decisions) -> tuple[NDArray[np.uint8], Floats, Floats]:
            features = spec.features(asked.view)
            chances = policy(weights, features, asked.mask)
            actions = sample(chances, random)
            return actions, np.log(chances[np.arange(len(actions)), actions]), features @ judgement

        rollouts = boardwire.Rollouts(batch, STEPS, lam=0.99)
        for _ in tqdm(range(updates), unit="update"):
            played = rollouts.collect(act)
            features, decisions = spec.features(played.view), len(played.action)
            surprise = -policy(weights, features, played.mask)
            surprise[np.arange(decisions), played.action] += 1
            weights += rate * features.T @ (surprise * played.advantage[:, None]) / decisions
            judgement += VALUE_RATE * features.T @ (played.returns - features @ judgement) / decisions
            if progress is not None:
                progress(decisions)
    return weights


def main() -> None:
    """Learns and reports."""
    parser = argparse.ArgumentParser(description="Learns Faraway by self-play on a batch.")
    parser.add_argument("--environments", type=int, default=128)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--rate", type=float, default=40.0)
    parser.add_argument("--address", help="a running server; a private one when left out")
    arguments = parser.parse_args()
    with boardwire.connect(arguments.address) as client:
        spec = client.game("faraway")
        untaught = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        made: list[int] = []
        began = time.perf_counter()
        weights = learn(
            client, arguments.environments, arguments.updates, arguments.rate, seed=7, progress=made.append
        )
        took = time.perf_counter() - began
        for told, known in (("before learning", untaught), ("after", weights)):
            random = np.random.default_rng(1)

            def play(
                asked: boardwire.Decisions, known: Floats = known, random: Any = random
            ) -> NDArray[np.uint8]:
                return sample(policy(known, spec.features(asked.view), asked.mask), random)

            found = boardwire.evaluate(
                play, "faraway", opponents="random", deals=256, reward="win", client=client
            )
            print(f"against random: {found.mean:.1%} of matches won {told}")
        print(f"{sum(made) / took:,.0f} decisions a second while learning")


if __name__ == "__main__":
    main()
