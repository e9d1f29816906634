"""Lets a policy look ahead, and beats the same policy that does not: Faraway for two, numpy and tqdm alone.

A linear policy is learnt by self-play first (see self_play.py). Then it plays against itself, each deal both
ways round. One side searches: worlds are drawn that its seat can believe in, the actions that the policy
likes best are tried in all of them, and it plays every copy to its end; what ends best is played. Put a
network of your own in the place of `policy`, or judge worlds by a value before they end.

To try: more worlds, more candidates, another game.
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
    shown: boardwire.BatchStep,
    asked: NDArray[np.bool_],
    worlds: int,
    candidates: int,
    random: np.random.Generator,
) -> NDArray[np.intp]:
    """What ends best on average, for each of the environments asked: `int[n]`."""
    spec, seats = batch.spec, shown.seat[asked]
    chances = policy(weights, spec.features(shown.view[asked]), shown.mask[asked])
    liked = np.argsort(-chances, axis=1, kind="stable")[:, :candidates]
    # What is not legal has no chance: the best takes its place.
    liked = np.where(np.take_along_axis(chances, liked, axis=1) > 0, liked, liked[:, :1])
    drawn = len(seats) * worlds
    places = drawn * (1 + candidates)
    with batch.search(worlds, where=asked, places=places, skip_forced=True, reward="win") as search:
        # Candidate by candidate, each in a copy of every world.
        copies = np.arange(drawn, places)
        actions = liked.repeat(worlds, axis=0).T.ravel()
        step = search.advance(np.tile(np.arange(drawn), candidates), actions, into=copies)
        rewards = np.zeros((len(copies), spec.seats), np.float32)
        left = np.arange(len(copies))
        while True:
            rewards[left[step.over]] = step.reward[step.over]
            going = ~step.over
            left = left[going]
            if not len(left):
                break
            chances = policy(weights, spec.features(step.view[going]), step.mask[going])
            step = search.advance(copies[left], sample(chances, random))
    own = np.tile(seats.repeat(worlds), candidates)
    worth = rewards[np.arange(len(copies)), own].reshape(candidates, len(seats), worlds).mean(axis=2)
    best: NDArray[np.intp] = liked[np.arange(len(seats)), worth.argmax(axis=0)]
    return best


def play(
    client: boardwire.Client, weights: Floats, deals: int, worlds: int, candidates: int, seed: int
) -> float:
    """The share of the matches that the side wins which looks ahead: seat 0 of a deal first, then seat 1."""
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
        shown, won, ended = batch.reset(), 0.0, np.zeros(n, np.bool_)
        with tqdm(total=n, unit="match") as bar:
            while not ended.all():
                chances = policy(weights, batch.spec.features(shown.view), shown.mask)
                actions = sample(chances, random)
                asked = (shown.seat == searching) & ~ended
                if asked.any():
                    chosen = look_ahead(batch, weights, shown, asked, worlds, candidates, random)
                    actions[asked] = chosen
                shown = batch.step(actions)
                over = shown.over & ~ended
                won += float(shown.reward[over, searching[over]].sum())
                ended |= over
                bar.update(int(over.sum()))
    return won / n


def main() -> None:
    """Learns a policy, lets it look ahead, and reports."""
    parser = argparse.ArgumentParser(description="Lets a policy look ahead.")
    parser.add_argument("--deals", type=int, default=50, help="each is played both ways round")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--updates", type=int, default=20, help="of the policy, before it plays")
    parser.add_argument("--address", help="a running server; a private one when left out")
    arguments = parser.parse_args()
    with boardwire.connect(arguments.address) as client:
        weights = learn(client, 128, arguments.updates, 40.0, seed=7)
        share = play(client, weights, arguments.deals, arguments.worlds, arguments.candidates, seed=1)
        print(
            f"{share:.1%} of {2 * arguments.deals} matches won by the policy that looks ahead, against itself"
        )


if __name__ == "__main__":
    main()
