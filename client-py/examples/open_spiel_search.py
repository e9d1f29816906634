"""An algorithm of OpenSpiel plays a game of Boardwire: information-set Monte Carlo tree search.

It registers the games in OpenSpiel and loads one by name. In each simulation, `ISMCTSBot` resamples the
state from what its seat knows, and evaluates the reached state by a playout in the server. The other seats
play random actions. Prints how often the search wins.

    python open_spiel_search.py faraway --matches 20 --simulations 100

Ctrl-C ends the run early and prints the results so far.

To try: more simulations; `--players 3`; your own evaluator, such as a network's value of
`state.observation_tensor()`; a learning agent of OpenSpiel, over `rl_environment.Environment(game)`.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms.ismcts import ISMCTSBot
from open_spiel.python.bots.uniform_random import UniformRandomBot
from tqdm import tqdm

import boardwire.open_spiel


def play(game: Any, bots: list[Any]) -> list[float]:
    """Plays a match; returns the return of each seat, from 1 for the first place to -1 for the last."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(state.chance_outcomes()[0][0])
        else:
            state.apply_action(int(bots[state.current_player()].step(state)))
    returns: list[float] = state.returns()
    return returns


def main() -> None:
    """Plays matches and prints the result."""
    parser = argparse.ArgumentParser(description="A search of OpenSpiel plays against random.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--simulations", type=int, default=100, help="simulations per decision")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds give equal matches")
    args = parser.parse_args()
    boardwire.open_spiel.register()
    game = pyspiel.load_game(f"boardwire_{args.game}", {"players": args.players, "rng_seed": args.seed})
    random = np.random.RandomState(args.seed)
    evaluator = boardwire.open_spiel.RolloutEvaluator()
    search = ISMCTSBot(game, evaluator, uct_c=1.0, max_simulations=args.simulations, random_state=random)
    won: list[bool] = []
    with contextlib.suppress(KeyboardInterrupt):
        for match in tqdm(range(args.matches), unit="match"):
            own_seat = match % args.players
            bots = [UniformRandomBot(seat, random) for seat in range(args.players)]
            bots[own_seat] = search
            returns = play(game, bots)
            won.append(returns[own_seat] == max(returns))
    print(f"{np.mean(won or [False]):.0%} of {len(won)} matches won or shared by the search, against random")


if __name__ == "__main__":
    main()
