"""Learns the strategy of a small game of two seats from batches, and measures it with OpenSpiel.

The recipe is outcome-sampling MCCFR: all episodes of a batch are played by the present strategy with some
exploration, then regret matching updates it. The result is the average strategy. It needs no tree, only
views, masks and scores. OpenSpiel computes the exploitability from the tree of `boardwire export-efg`.

Run with: `BOARDWIRE_BINARY=target/release/kuhn python solve_game.py kuhn`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire

#: The share of random actions while learning.
EXPLORATION = 0.3
Floats = NDArray[np.float64]


class Strategy:
    """The regrets and the average strategy of each view that a seat had at a decision."""

    def __init__(self, actions: int) -> None:
        """Knows no view yet."""
        self.rows: dict[bytes, int] = {}
        self._mask = np.zeros((0, actions), bool)
        self.regret = np.zeros((0, actions))
        self.total = np.zeros((0, actions))

    def find(self, view: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Returns the row of each view; new views get new rows."""
        _, first, which = np.unique(view, axis=0, return_index=True, return_inverse=True)
        known = np.array([self.rows.setdefault(view[at].tobytes(), len(self.rows)) for at in first])
        missing = np.zeros((len(self.rows) - len(self.regret), mask.shape[1]))
        self.regret, self.total = np.append(self.regret, missing, 0), np.append(self.total, missing, 0)
        self._mask = np.append(self._mask, missing > 0, 0)
        self._mask[known] = mask[first]
        return known[which.reshape(-1)]

    def present(self) -> Floats:
        """Returns the strategy of regret matching, `float64[rows, actions]`."""
        return self._normalized(np.maximum(self.regret, 0))

    def average(self) -> dict[bytes, Floats]:
        """Returns the average strategy: the probability of each action, by view."""
        return dict(zip(self.rows, self._normalized(self.total), strict=True))

    def _normalized(self, weights: Floats) -> Floats:
        sums = weights.sum(1, keepdims=True)
        uniform = self._mask / self._mask.sum(1, keepdims=True)
        return np.where(sums > 0, weights / np.where(sums > 0, sums, 1), uniform)


def learn(
    client: boardwire.Client, spec: boardwire.GameSpec, *, updates: int, episodes: int, seed: int
) -> dict[bytes, Floats]:
    """Returns the average strategy after `updates` batches of `episodes` episodes."""
    random = np.random.default_rng(seed)
    with client.open_batch(
        spec.id, environments=episodes, options=spec.options, seed=seed, columns=["scores"]
    ) as batch:
        play, strategy = boardwire.SelfPlay(batch), Strategy(len(batch.spec.actions))
        for update in tqdm(range(1, updates + 1), unit="update"):
            _update(play, strategy, update, random)
    return strategy.average()


def _update(play: boardwire.SelfPlay, strategy: Strategy, update: int, random: np.random.Generator) -> None:
    """Plays an episode in each environment, and updates regrets and the average."""
    turn, decisions = play.reset(), []
    count = len(turn.seat)
    payoff, is_over = np.zeros(count), np.zeros(count, bool)
    # The probability, by the strategy, that each seat acts as it did; and by which the episode was sampled.
    reach, sampled = np.ones((count, 2)), np.ones(count)
    while (at := np.flatnonzero(~is_over)).size:
        seat, mask = turn.seat[at].astype(int), turn.mask[at]
        row = strategy.find(turn.view[at], mask)
        policy = strategy.present()[row]
        mixed = (1 - EXPLORATION) * policy + EXPLORATION * mask / mask.sum(1, keepdims=True)
        action = (mixed.cumsum(1) > random.random((len(at), 1)) * mixed.sum(1, keepdims=True)).argmax(1)
        decisions.append((at, seat, row, policy, action, reach[at, seat], reach[at, 1 - seat], sampled[at]))
        reach[at, seat] *= policy[np.arange(len(at)), action]
        sampled[at] *= mixed[np.arange(len(at)), action]
        # The batch continues with other episodes where one is over. They do not count.
        actions = turn.mask.argmax(1)
        actions[at] = action
        turn = play.step(actions.astype(np.uint8))
        assert turn.step.scores is not None, "the batch has this column"
        new = ~is_over[turn.step.ended]
        payoff[turn.step.ended[new]] = turn.step.scores[new] @ [1, -1]
        is_over |= turn.over
    # By the strategy, the probability of the rest of each episode.
    rest = np.ones(count)
    for at, seat, row, policy, action, own, other, sampled_before in reversed(decisions):
        gain = np.where(seat == 0, payoff[at], -payoff[at]) * other / sampled[at] / count
        chosen = np.arange(len(at)), action
        with_action = rest[at]
        rest[at] *= policy[chosen]
        regret = np.repeat(-(gain * rest[at])[:, None], policy.shape[1], 1)
        regret[chosen] += gain * with_action
        np.add.at(strategy.regret, row, regret)
        np.add.at(strategy.total, row, (update * own / sampled_before / count)[:, None] * policy)
    # Regret matching+.
    np.maximum(strategy.regret, 0, out=strategy.regret)


def exploitability(strategy: dict[bytes, Floats], spec: boardwire.GameSpec) -> tuple[float, float]:
    """Returns the exploitability of a strategy, and the value of the game for seat 0, by OpenSpiel."""
    import pyspiel
    from open_spiel.python.algorithms import exploitability, sequence_form_lp
    from open_spiel.python.policy import TabularPolicy

    options = [f"--option={name}={value}" for name, value in spec.options.items()]
    command = [os.environ.get("BOARDWIRE_BINARY", "boardwire"), "export-efg", spec.id, *options]
    efg = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    tree = pyspiel.load_efg_game(efg.stdout)
    table = TabularPolicy(tree)
    names = {action.label: index for index, action in enumerate(spec.actions)}
    for state in table.states:
        # The name of an information set ends with the view.
        view = bytes.fromhex(state.information_state_string().rsplit("-", 1)[1])
        policy = table.policy_for_key(state.information_state_string())
        for action in state.legal_actions():
            label = state.action_to_string(action)
            policy[action] = (
                strategy[view][names[label]] if view in strategy else 1 / len(state.legal_actions())
            )
    value, *_ = sequence_form_lp.solve_zero_sum_game(tree)
    return exploitability.exploitability(tree, table), value


def main() -> None:
    """Learns, and prints exploitability and value."""
    parser = argparse.ArgumentParser(description="Learns the strategy of a small game of two seats.")
    parser.add_argument("game")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=4096, help="episodes of an update")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with boardwire.connect() as client:
        spec = client.game(args.game, seats=2, options=dict(each.split("=", 1) for each in args.option))
        start = time.perf_counter()
        learned = learn(client, spec, updates=args.updates, episodes=args.episodes, seed=args.seed)
        seconds = time.perf_counter() - start
        loss, value = exploitability(learned, spec)
    print(f"exploitability {loss:.4f} after {seconds:.0f} s; the value for seat 0 is {value:.4f}")


if __name__ == "__main__":
    main()
