"""Learns Faraway by self-play on a batch: a linear policy, all seats of many environments, numpy alone.

Each seat's reward at the end is credited to all of its decisions (REINFORCE). Prints how the policy fares
against a random bot, before and after, and how many decisions were made in a second.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire

Floats = NDArray[np.float32]

#: Steps between two updates: a few episodes.
STEPS = 100


def policy(weights: Floats, features: Floats, mask: NDArray[np.int8]) -> Floats:
    """The probability of each action: `float32[n, actions]`; none is spent on illegal ones."""
    logits = np.where(mask > 0, features @ weights, -np.inf)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-1e9))
    chances: Floats = odds / np.maximum(odds.sum(axis=1, keepdims=True), 1e-9)
    return chances


def sample(chances: Floats, random: np.random.Generator) -> NDArray[np.uint8]:
    """An action for each row. A row without legal actions, whose episode is over, gets any: it is ignored."""
    drawn = random.random((len(chances), 1), dtype=np.float32) * chances.sum(axis=1, keepdims=True)
    return np.asarray((chances.cumsum(axis=1) > drawn).argmax(axis=1), dtype=np.uint8)


def learn(client: boardwire.Client, environments: int, updates: int, rate: float, seed: int) -> Floats:
    """Plays all seats of a batch against each other; gives the weights of the policy."""
    random = np.random.default_rng(seed)
    with client.open_batch("faraway", environments=environments, seed=seed, skip_forced=True) as batch:
        spec, reader = batch.spec, boardwire.SelfPlay(batch)
        weights = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        turn = reader.reset()
        for _ in tqdm(range(updates), unit="update"):
            played: list[tuple[boardwire.Turn, NDArray[np.uint8]]] = []
            for _ in range(STEPS):
                actions = sample(policy(weights, spec.features(turn.view), turn.mask), random)
                played.append((turn, actions))
                turn = reader.step(actions)
            weights += rate * gradient(spec, weights, played, turn)
    return weights


def gradient(
    spec: boardwire.GameSpec,
    weights: Floats,
    played: list[tuple[boardwire.Turn, NDArray[np.uint8]]],
    last: boardwire.Turn,
) -> Floats:
    """The mean gradient of the decisions in episodes that ended, each weighed with its seat's reward."""
    total: Floats = np.zeros_like(weights)
    decisions, following = 0, last
    result, known = np.zeros_like(last.reward), np.zeros_like(last.over)
    for turn, actions in reversed(played):
        result = np.where(following.over[:, None], following.reward, result)
        known = (known | following.over) & ~turn.over
        rows, following = np.flatnonzero(known), turn
        features = spec.features(turn.view[rows])
        surprise = -policy(weights, features, turn.mask[rows])
        surprise[np.arange(len(rows)), actions[rows]] += 1
        total += features.T @ (surprise * result[rows, turn.seat[rows], None])
        decisions += len(rows)
    total /= max(decisions, 1)
    return total


def wins(client: boardwire.Client, weights: Floats, seed: int) -> float:
    """How much of 512 matches against a random bot the policy wins."""
    random = np.random.default_rng(seed)
    with client.open_batch(
        "faraway", environments=512, opponents={1: "random"}, seed=seed, reward="win"
    ) as batch:
        step, total, ended = batch.reset(), 0.0, np.zeros(512, np.bool_)
        while not ended.all():
            chances = policy(weights, batch.spec.features(step.view), step.mask)
            step = batch.step(sample(chances, random))
            total += float(step.reward[~ended, 0].sum())
            ended |= step.over
    return total / 512


def main() -> None:
    """Learns and reports."""
    parser = argparse.ArgumentParser(description="Learns Faraway by self-play on a batch.")
    parser.add_argument("--environments", type=int, default=128)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--address", help="a running server; a private one when left out")
    arguments = parser.parse_args()
    with boardwire.connect(arguments.address) as client:
        spec = client.game("faraway")
        untaught = np.zeros((len(spec.layout.names), len(spec.actions)), np.float32)
        began = time.perf_counter()
        weights = learn(client, arguments.environments, arguments.updates, arguments.rate, seed=7)
        decisions = arguments.environments * STEPS * arguments.updates / (time.perf_counter() - began)
        print(f"against random: {wins(client, untaught, 1):.1%} of matches won before learning")
        print(f"against random: {wins(client, weights, 1):.1%} of matches won after")
        print(f"{decisions:,.0f} decisions a second while learning")


if __name__ == "__main__":
    main()
