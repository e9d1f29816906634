"""Gumbel search (Danihelka et al. 2022) against the same player without search, with numpy and tqdm.

The search samples determinizations of what its seat knows. It tries actions in copies of them: first those
that Gumbel-top-k draws from the prior, then by halves those with the best results (sequential halving).
Without a network, the prior is the game's estimate, and playouts value the copies. With
`--network policy.onnx`, the network is the prior and values the copies after `--plies` decisions. To search
with your own PyTorch network, export it first: `boardwire.torch.export`, or docs/policies.md.

To try: more determinizations (`--worlds`), more actions (`--considered`), more plies, another game.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire

#: How far the results count against the prior: `maxvisit_init` and `value_scale` of DeepMind's mctx.
VISITS, SCALE = 50, 0.1


def prior(step: boardwire.BatchStep) -> NDArray[np.float64]:
    """Returns the logits of the prior, `float64[n, actions]`; minus infinity for illegal actions."""
    with np.errstate(all="ignore"):
        if step.advice_shares is not None:
            return np.log(step.advice_shares, dtype=np.float64)
        assert step.estimates is not None, "the batch was opened with estimates"
        # Each game has its own unit of estimates, so the logits are their standard scores.
        estimates = np.where(step.mask, step.estimates, np.nan).astype(np.float64)
        count = step.mask.sum(1, keepdims=True)
        centred = estimates - np.nansum(estimates, 1, keepdims=True) / count
        spread = np.sqrt(np.nansum(centred**2, 1, keepdims=True) / count)
        return np.where(step.mask, centred / np.maximum(spread, 1e-9), -np.inf)


def gumbel_search(
    batch: boardwire.Batch,
    root: boardwire.BatchStep,
    searching: NDArray[np.bool_],
    args: argparse.Namespace,
    random: np.random.Generator,
) -> NDArray[np.intp]:
    """Returns the action of each searching environment, `int[n]`."""
    scores, seat = prior(root)[searching], root.seat[searching]
    scores = scores + random.gumbel(size=scores.shape)
    n, samples = len(scores), len(scores) * args.worlds
    row = np.arange(n)[:, None]
    # Gumbel-top-k: a sample without replacement. Illegal actions come last.
    candidates = np.argsort(-scores, axis=1, kind="stable")[:, : args.considered]
    total, visits = np.zeros_like(scores), np.zeros_like(scores)
    places = samples * (1 + candidates.shape[1])
    with batch.search(args.worlds, where=searching, places=places, reward="margin") as search:
        worlds = np.arange(samples).reshape(n, 1, args.worlds)
        while (k := candidates.shape[1]) > 1:
            # Where too few actions are legal, the best candidate is tried again, without effect.
            tried = np.where(
                np.take_along_axis(scores, candidates, 1) > -np.inf, candidates, candidates[:, :1]
            )
            # All candidates of an environment meet the same determinizations and the same luck.
            shape, copies = (n, k, args.worlds), np.arange(samples, samples * (1 + k))
            actions = np.broadcast_to(tried[:, :, None], shape)
            search.advance(np.broadcast_to(worlds, shape).ravel(), actions.ravel(), into=copies)
            playouts = max(args.considered // k, 1)
            rewards = search.rollout(
                copies,
                playouts=playouts,
                policy="policy:net" if args.network else "estimate",
                plies=args.plies if args.network else None,
                seed=int(random.integers(2**63)),
            )
            own = rewards[np.arange(len(copies)), seat.repeat(k * args.worlds)].reshape(shape)
            total[row, candidates] += playouts * own.sum(2)
            visits[row, candidates] += playouts * args.worlds
            # Sequential halving keeps the best half by Gumbel noise, prior and results.
            results = total[row, candidates] / visits[row, candidates]
            results -= results.min(1, keepdims=True)
            results /= np.maximum(results.max(1, keepdims=True), 1e-9)
            weight = (VISITS + visits.max(1, keepdims=True)) * SCALE
            order = np.argsort(-(scores[row, candidates] + weight * results), axis=1, kind="stable")
            candidates = np.take_along_axis(candidates, order[:, : (k + 1) // 2], 1)
    return candidates[:, 0]


def play(client: boardwire.Client, args: argparse.Namespace) -> float:
    """Returns the share of matches that the search wins. It has seat 0, then seat 1 of each deal."""
    bot = "policy:net:argmax" if args.network else "greedy"
    columns: dict[str, Any] = {"columns": {"estimates"}}
    if args.network:
        columns = {"columns": {"advice_shares"}, "advice": "policy:net"}
    random, n = np.random.default_rng(args.seed), 2 * args.deals
    with client.open_batch(
        args.game,
        environments=n,
        line_ups=[["agent", bot], [bot, "agent"]],
        duplicate_deals=True,
        seed=args.seed,
        reward="win",
        skip_forced=True,
        **columns,
    ) as batch:
        step, wins, ended = batch.reset(), 0.0, np.zeros(n, np.bool_)
        with tqdm(total=n, unit="match") as bar:
            while not ended.all():
                actions = step.mask.argmax(1)
                searching = (step.seat != boardwire.NOBODY) & ~ended
                if searching.any():
                    actions[searching] = gumbel_search(batch, step, searching, args, random)
                step = batch.step(actions)
                over = np.flatnonzero(step.over & ~ended)
                wins += float(step.reward[over, over % 2].sum())
                ended[over] = True
                bar.update(len(over))
    return float(wins / n)


def main() -> None:
    """Plays the matches and prints the result."""
    parser = argparse.ArgumentParser(description="Measures Gumbel search against the same player without it.")
    parser.add_argument("--game", default="faraway", help="played by two")
    parser.add_argument("--deals", type=int, default=50, help="deals, each played from both seats")
    parser.add_argument("--worlds", type=int, default=8, help="determinizations per decision")
    parser.add_argument("--considered", type=int, default=8, help="actions that the search tries at first")
    parser.add_argument("--network", help="an ONNX file with values: docs/policies.md; default: estimates")
    parser.add_argument("--plies", type=int, default=2, help="decisions before the network values a copy")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    policies = ["--policy", f"net={args.network}"] if args.network else []
    with boardwire.connect(server_args=policies) as client:
        share = play(client, args)
    print(f"{share:.1%} of {2 * args.deals} matches won by the search, against the same player without")


if __name__ == "__main__":
    main()
