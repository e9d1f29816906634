"""Steps a second in OpenSpiel: our games beside games of its own, written in Python and in C++.

    python bench/spiel_steps.py [SECONDS]

`states` plays random matches by `State` alone. `rl_environment` does so by that, which shows every seat's
tensor at each step. `child` makes the same position's successors again and again, each a state of its own.
`worlds` draws a state anew from what its seat knows, and plays one action there.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pyspiel
from open_spiel.python import games as _games  # noqa: F401 - it registers them
from open_spiel.python import rl_environment

import boardwire.open_spiel

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
PEERS = ["python_kuhn_poker", "python_liars_poker", "hanabi", "hearts"]


def match(game: Any) -> int:
    """Plays a match; gives how many decisions were made."""
    state, made = game.new_initial_state(), 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(random.choices(outcomes, chances)[0])
        else:
            state.apply_action(random.choice(state.legal_actions()))
            made += 1
    return made


def episode(environment: rl_environment.Environment) -> int:
    """The same by an environment."""
    step, made = environment.reset(), 0
    while not step.last():
        seen = step.observations
        step = environment.step([random.choice(seen["legal_actions"][seen["current_player"]])])
        made += 1
    return made


def child(state: Any) -> int:
    """Makes a successor."""
    state.child(random.choice(state.legal_actions()))
    return 1


def world(state: Any) -> int:
    """Draws a world and plays an action there."""
    drawn = state.resample_from_infostate(state.current_player(), None)
    drawn.apply_action(drawn.legal_actions()[0])
    return 1


def rate(of: Callable[[Any], int], what: Any) -> float:
    """How many are made in a second."""
    made, began = 0, time.perf_counter()
    while time.perf_counter() < began + SECONDS:
        made += of(what)
    return made / (time.perf_counter() - began)


def main() -> None:
    """Measures and prints a table."""
    ours = boardwire.open_spiel.register()
    print("| game | states | rl_environment | child | worlds |\n| --- | ---: | ---: | ---: | ---: |")
    for name in [*ours, *PEERS]:
        game = pyspiel.load_game(name)
        rates = [rate(match, game), rate(episode, rl_environment.Environment(game))]
        if name in ours:
            state = game.new_initial_state()
            for _ in range(6):
                state.apply_action(state.legal_actions()[0])
            rates += [rate(child, state), rate(world, state)]
        cells = [f"{each:,.0f}" for each in rates] + ["-"] * (4 - len(rates))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
