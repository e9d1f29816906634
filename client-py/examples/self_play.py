"""Learns Faraway by self-play on a batch: a linear policy plays all seats of many environments.

An update makes each action more likely if its seat earned more than expected, else less likely (actor and
critic). Prints how often the policy wins against a random bot before and after, and the decisions per second.

To try: more updates; `opponents="greedy"`; your own network in place of the weights.
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

#: Steps between two updates; an environment plays a few episodes in them.
STEPS = 100
#: The learning rate of the critic.
VALUE_RATE = 0.01


def policy(weights: Floats, features: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Returns the probability of each action, `float32[n, actions]`; 0 for illegal actions."""
    logits = np.where(mask, features @ weights, -np.inf)
    exps = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-1e9))
    probabilities: Floats = exps / np.maximum(exps.sum(axis=1, keepdims=True), 1e-9)
    return probabilities


def sample(probabilities: Floats, random: np.random.Generator) -> NDArray[np.uint8]:
    """Samples an action for each row. A row whose episode is over gets any action; the server ignores it."""
    sums = probabilities.cumsum(axis=1, dtype=np.float64)
    return np.asarray((sums > random.random((len(sums), 1)) * sums[:, -1:]).argmax(axis=1), dtype=np.uint8)


def learn(
    client: boardwire.Client,
    environments: int,
    updates: int,
    rate: float,
    seed: int,
    progress: Callable[[int], object] | None = None,
) -> Floats:
    """Plays all seats of a batch against each other; returns the weights of the policy.

    Each update calls `progress` with its number of decisions.
    """
    random = np.random.default_rng(seed)
    with client.open_batch("faraway", environments=environments, seed=seed, skip_forced=True) as batch:
        spec = batch.spec
        weights = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        critic = np.zeros(len(spec.layout.names), np.float32)

        def act(decisions: boardwire.Decisions) -> tuple[NDArray[np.uint8], Floats, Floats]:
            features = spec.features(decisions.view)
            probabilities = policy(weights, features, decisions.mask)
            actions = sample(probabilities, random)
            return actions, np.log(probabilities[np.arange(len(actions)), actions]), features @ critic

        rollouts = boardwire.Rollouts(batch, STEPS, lam=0.99)
        for _ in tqdm(range(updates), unit="update"):
            rollout = rollouts.collect(act)
            features, count = spec.features(rollout.view), len(rollout.action)
            gradient = -policy(weights, features, rollout.mask)
            gradient[np.arange(count), rollout.action] += 1
            weights += rate * features.T @ (gradient * rollout.advantage[:, None]) / count
            critic += VALUE_RATE * features.T @ (rollout.returns - features @ critic) / count
            if progress is not None:
                progress(count)
    return weights


def main() -> None:
    """Learns and prints the results."""
    parser = argparse.ArgumentParser(description="Learns Faraway by self-play on a batch.")
    parser.add_argument("--environments", type=int, default=128)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--rate", type=float, default=40.0)
    parser.add_argument("--address", help="address of a running server; default: a private server")
    args = parser.parse_args()
    with boardwire.connect(args.address) as client:
        spec = client.game("faraway")
        zeros = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        counts: list[int] = []
        start = time.perf_counter()
        weights = learn(client, args.environments, args.updates, args.rate, seed=7, progress=counts.append)
        seconds = time.perf_counter() - start
        for label, used in (("before learning", zeros), ("after learning", weights)):
            random = np.random.default_rng(1)

            def play(
                decisions: boardwire.Decisions, used: Floats = used, random: Any = random
            ) -> NDArray[np.uint8]:
                return sample(policy(used, spec.features(decisions.view), decisions.mask), random)

            result = boardwire.evaluate(
                play, "faraway", opponents="random", deals=256, reward="win", client=client
            )
            print(f"against random: {result.mean:.1%} of matches won {label}")
        print(f"{sum(counts) / seconds:,.0f} decisions a second while learning")


if __name__ == "__main__":
    main()
