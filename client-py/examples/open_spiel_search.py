"""Lets an algorithm of OpenSpiel play a game of Boardwire: information-set Monte Carlo tree search.

Shows the games as OpenSpiel knows them: they are registered, loaded by name, and played by its bots. At every
simulation `ISMCTSBot` asks for a state resampled from what its seat knows, and judges the state that it ends
in by a playout in the server. The others play at random. Prints how often the search wins.

    python open_spiel_search.py faraway --matches 20 --simulations 100

Ctrl-C ends early and tells of the matches played.

To try: more simulations; `--players 3`; an evaluator of your own, such as a network's value of
`state.observation_tensor()`; an agent of OpenSpiel that learns, over `rl_environment.Environment(game)`.
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
    """Plays a match; gives what every seat has earned, from 1 for the first place to -1 for the last."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(state.chance_outcomes()[0][0])
        else:
            state.apply_action(int(bots[state.current_player()].step(state)))
    returns: list[float] = state.returns()
    return returns


def main() -> None:
    """Plays and reports."""
    parser = argparse.ArgumentParser(description="Lets a search of OpenSpiel play.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--matches", type=int, default=20)
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--simulations", type=int, default=100, help="of each decision")
    parser.add_argument("--seed", type=int, default=1, help="the same makes the same matches")
    given = parser.parse_args()
    boardwire.open_spiel.register()
    game = pyspiel.load_game(f"boardwire_{given.game}", {"players": given.players, "rng_seed": given.seed})
    random = np.random.RandomState(given.seed)
    evaluator = boardwire.open_spiel.RolloutEvaluator()
    search = ISMCTSBot(game, evaluator, uct_c=1.0, max_simulations=given.simulations, random_state=random)
    won: list[bool] = []
    with contextlib.suppress(KeyboardInterrupt):
        for match in tqdm(range(given.matches), unit="match"):
            own = match % given.players
            bots = [UniformRandomBot(seat, random) for seat in range(given.players)]
            bots[own] = search
            returns = play(game, bots)
            won.append(returns[own] == max(returns))
    print(f"{np.mean(won or [False]):.0%} of {len(won)} matches won or shared by the search, against random")


if __name__ == "__main__":
    main()
