"""Adds search to a policy, and measures it against the same policy without: Faraway for two, numpy and tqdm.

First a linear policy learns by self-play (see self_play.py). Then it plays against itself; each deal is
played twice, with the seats exchanged. One side searches. It samples determinizations of what its seat knows.
It tries the most likely actions in each, and the policy plays these copies to the end. Then it plays the
action with the best mean result. Put your own network in place of `policy`, or evaluate unfinished copies.

To try: more determinizations (`--worlds`), more candidates, another game.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from self_play import Floats, learn, policy, sample
from tqdm import tqdm

import boardwire


def look_ahead(
    batch: boardwire.Batch,
    weights: Floats,
    root: boardwire.BatchStep,
    searching: NDArray[np.bool_],
    worlds: int,
    candidates: int,
    random: np.random.Generator,
) -> NDArray[np.intp]:
    """Returns the action with the best mean result for each searching environment, `int[n]`."""
    spec, seats = batch.spec, root.seat[searching]
    probabilities = policy(weights, spec.features(root.view[searching]), root.mask[searching])
    tried = np.argsort(-probabilities, axis=1, kind="stable")[:, :candidates]
    # Illegal actions have probability 0. The most likely action replaces them.
    tried = np.where(np.take_along_axis(probabilities, tried, axis=1) > 0, tried, tried[:, :1])
    samples = len(seats) * worlds
    places = samples * (1 + candidates)
    with batch.search(worlds, where=searching, places=places, skip_forced=True, reward="win") as search:
        # Tries each candidate in its own copy of every determinization.
        copies = np.arange(samples, places)
        actions = tried.repeat(worlds, axis=0).T.ravel()
        step = search.advance(np.tile(np.arange(samples), candidates), actions, into=copies)
        rewards = np.zeros((len(copies), spec.seats), np.float32)
        unfinished = np.arange(len(copies))
        while True:
            rewards[unfinished[step.over]] = step.reward[step.over]
            running = ~step.over
            unfinished = unfinished[running]
            if not len(unfinished):
                break
            probabilities = policy(weights, spec.features(step.view[running]), step.mask[running])
            step = search.advance(copies[unfinished], sample(probabilities, random))
    own = np.tile(seats.repeat(worlds), candidates)
    values = rewards[np.arange(len(copies)), own].reshape(candidates, len(seats), worlds).mean(axis=2)
    best: NDArray[np.intp] = tried[np.arange(len(seats)), values.argmax(axis=0)]
    return best


def play(
    client: boardwire.Client, weights: Floats, deals: int, worlds: int, candidates: int, seed: int
) -> float:
    """Returns the share of matches that the searching side wins. It has seat 0, then seat 1 of each deal."""
    random, n = np.random.default_rng(seed), 2 * deals
    both = ["agent", "agent"]
    with client.open_batch(
        "faraway",
        environments=n,
        line_ups=[both, both],
        duplicate_deals=True,
        seed=seed,
        reward="win",
        skip_forced=True,
    ) as batch:
        searching = np.arange(n) % 2
        step, wins, ended = batch.reset(), 0.0, np.zeros(n, np.bool_)
        with tqdm(total=n, unit="match") as bar:
            while not ended.all():
                probabilities = policy(weights, batch.spec.features(step.view), step.mask)
                actions = sample(probabilities, random)
                to_search = (step.seat == searching) & ~ended
                if to_search.any():
                    searched = look_ahead(batch, weights, step, to_search, worlds, candidates, random)
                    actions[to_search] = searched
                step = batch.step(actions)
                over = step.over & ~ended
                wins += float(step.reward[over, searching[over]].sum())
                ended |= over
                bar.update(int(over.sum()))
    return wins / n


def main() -> None:
    """Trains a policy, measures it with search, and prints the result."""
    parser = argparse.ArgumentParser(description="Measures a policy with search against itself without.")
    parser.add_argument("--deals", type=int, default=50, help="deals, each played from both seats")
    parser.add_argument("--worlds", type=int, default=8, help="determinizations per decision")
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--updates", type=int, default=20, help="training updates of the policy")
    parser.add_argument("--address", help="address of a running server; default: a private server")
    args = parser.parse_args()
    with boardwire.connect(args.address) as client:
        weights = learn(client, 128, args.updates, 40.0, seed=7)
        share = play(client, weights, args.deals, args.worlds, args.candidates, seed=1)
        print(
            f"{share:.1%} of {2 * args.deals} matches won by the policy with search, against itself without"
        )


if __name__ == "__main__":
    main()
