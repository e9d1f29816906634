"""Plays every game of the server at several seat counts. The agents are Python code and play over gRPC.

The agent `random` takes any legal action, `first` always the first one. The last seat is a `greedy` bot in
the server. Seats rotate from match to match. Prints the mean score and the share of wins of each kind of
agent, and the decisions per second of the agents in Python.

To try: `--address` of a shared server; your own agent in `agents`.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

import boardwire

Agent = Callable[[boardwire.Observation], int]


@dataclass
class Tally:
    """The results of one kind of agent in one game."""

    scores: list[int] = field(default_factory=list)
    wins: float = 0.0


def agents(seed: int) -> dict[str, Agent]:
    """Returns the agents in Python by name."""
    random = np.random.default_rng(seed)
    return {
        "random": lambda obs: int(random.choice(obs.mask.nonzero()[0])),
        "first": lambda obs: int(obs.mask.nonzero()[0][0]),
    }


def play(seat: boardwire.Seat, agent: Agent) -> tuple[boardwire.Observation, int]:
    """Plays one seat to the end; returns the last observation and the number of decisions."""
    decisions = 0
    with seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(agent(obs))
            decisions += 1
    return obs, decisions


def play_match(
    client: boardwire.Client, game: str, players: Sequence[str], seed: int
) -> tuple[boardwire.Observation, int]:
    """Plays one match; returns its last observation and the number of decisions made in Python."""
    local_agents = agents(seed)
    seating = ["agent" if name in local_agents else name for name in players]
    with client.create_match(game, players=seating, seed=seed) as match:
        joined = {index: match.join(index) for index, name in enumerate(players) if name in local_agents}
        # Each seat plays in its own thread, since the seats wait for each other.
        with ThreadPoolExecutor(len(joined)) as pool:
            results = list(pool.map(lambda index: play(joined[index], local_agents[players[index]]), joined))
        return results[0][0], sum(decisions for _, decisions in results)


def main() -> None:
    """Plays all games and prints the results."""
    parser = argparse.ArgumentParser(description="Plays every game between agents in Python over gRPC.")
    parser.add_argument("--matches", type=int, default=40, help="matches per game and seat count")
    parser.add_argument("--address", help="address of a running server; default: a private server")
    args = parser.parse_args()
    with boardwire.connect(args.address) as client:
        for game in client.games():
            counts = sorted({game.min_seats, (game.min_seats + game.max_seats) // 2, game.max_seats})
            report(client, game, counts, args.matches)


def report(client: boardwire.Client, game: boardwire.GameSpec, counts: Sequence[int], matches: int) -> None:
    """Plays one game at several seat counts, and prints the results."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    decisions, start = 0, time.perf_counter()
    for number in tqdm(range(matches * len(counts)), desc=game.name, unit="match"):
        seats = counts[number % len(counts)]
        names = [*(["random", "first"] * seats)[: seats - 1], "greedy"]
        rotation = number // len(counts) % seats
        players = names[rotation:] + names[:rotation]
        end, count = play_match(client, game.id, players, number)
        decisions += count
        for name, score, rank in zip(players, end.scores, end.ranks, strict=True):
            tallies[name].scores.append(score)
            tallies[name].wins += (rank == 1) / end.ranks.count(1)
    seconds = time.perf_counter() - start
    print(f"{game.name}, {matches} matches each at {', '.join(map(str, counts))} seats")
    for name, tally in sorted(tallies.items()):
        mean, share = np.mean(tally.scores), tally.wins / len(tally.scores)
        print(f"  {name:8} mean score {mean:7.1f}   wins {share:6.1%} of its seats")
    print(f"  {decisions} decisions in Python, {decisions / seconds:,.0f} a second\n")


if __name__ == "__main__":
    main()
