"""Plays every game the server lists, at several seat counts, between agents in Python over gRPC.

A `random` agent picks any legal action, a `first` agent always the first one; the last seat is a `greedy` bot
in the server. Who sits where rotates from match to match. Prints mean scores and shares of wins for each
kind of agent, and the decisions that the agents in Python made in a second.

To try: `--address` of a server that others use as well; an agent of your own in `agents`.
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
    """What one kind of agent has achieved in one game."""

    scores: list[int] = field(default_factory=list)
    wins: float = 0.0


def agents(seed: int) -> dict[str, Agent]:
    """The agents in Python, by name."""
    random = np.random.default_rng(seed)
    return {
        "random": lambda seen: int(random.choice(seen.mask.nonzero()[0])),
        "first": lambda seen: int(seen.mask.nonzero()[0][0]),
    }


def play(seat: boardwire.Seat, agent: Agent) -> tuple[boardwire.Observation, int]:
    """Plays one seat to the end; gives what it saw last and how many decisions it made."""
    decisions = 0
    with seat:
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(agent(seen))
            decisions += 1
    return seen, decisions


def play_match(
    client: boardwire.Client, game: str, players: Sequence[str], seed: int
) -> tuple[boardwire.Observation, int]:
    """Plays one match with an agent or bot at each seat; gives its end and the decisions made in Python."""
    here = agents(seed)
    seated = ["agent" if name in here else name for name in players]
    with client.create_match(game, players=seated, seed=seed) as match:
        taken = {index: match.join(index) for index, name in enumerate(players) if name in here}
        # Seats wait for each other, so each plays in a thread of its own.
        with ThreadPoolExecutor(len(taken)) as pool:
            ended = list(pool.map(lambda index: play(taken[index], here[players[index]]), taken))
        return ended[0][0], sum(decisions for _, decisions in ended)


def main() -> None:
    """Plays and reports."""
    parser = argparse.ArgumentParser(description="Plays every game between agents in Python over gRPC.")
    parser.add_argument("--matches", type=int, default=40, help="matches of each game and seat count")
    parser.add_argument("--address", help="a running server; a private one when left out")
    arguments = parser.parse_args()
    with boardwire.connect(arguments.address) as client:
        for game in client.games():
            counts = sorted({game.min_seats, (game.min_seats + game.max_seats) // 2, game.max_seats})
            report(client, game, counts, arguments.matches)


def report(client: boardwire.Client, game: boardwire.GameSpec, counts: Sequence[int], matches: int) -> None:
    """Plays one game at some seat counts, and prints what came of it."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    decisions, began = 0, time.perf_counter()
    for number in tqdm(range(matches * len(counts)), desc=game.name, unit="match"):
        seats = counts[number % len(counts)]
        names = [*(["random", "first"] * seats)[: seats - 1], "greedy"]
        turn = number // len(counts) % seats
        players = names[turn:] + names[:turn]
        end, made = play_match(client, game.id, players, number)
        decisions += made
        for name, score, rank in zip(players, end.scores, end.ranks, strict=True):
            tallies[name].scores.append(score)
            tallies[name].wins += (rank == 1) / end.ranks.count(1)
    seconds = time.perf_counter() - began
    print(f"{game.name}, {matches} matches each at {', '.join(map(str, counts))} seats")
    for name, tally in sorted(tallies.items()):
        mean, share = np.mean(tally.scores), tally.wins / len(tally.scores)
        print(f"  {name:8} mean score {mean:7.1f}   wins {share:6.1%} of its seats")
    print(f"  {decisions} decisions in Python, {decisions / seconds:,.0f} a second\n")


if __name__ == "__main__":
    main()
