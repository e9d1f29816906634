"""Decisions a second that are recorded and read back, beside what the server plays when nobody records.

    python bench/recording.py [EPISODES]

`played` steps batches of 256 by the advice of greedy, as recording does, and keeps nothing. Minari has
both seats, with features. Sizes are of a step: a decision, or what a seat saw at the end.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boardwire

EPISODES = int(sys.argv[1]) if len(sys.argv) > 1 else 1024


def timed(what: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds that it took."""
    began = time.perf_counter()
    given = what()
    return given, time.perf_counter() - began


def played(client: boardwire.Client, game: str, decisions: int) -> None:
    """Makes so many decisions by advice."""
    with client.open_batch(game, environments=256, seed=0, advice="greedy", autoreset="same_step") as batch:
        shown = batch.reset()
        for _ in range(decisions // 256):
            assert shown.advice is not None
            shown = batch.step(shown.advice)


def main() -> None:
    """Measures and prints a table."""
    print("| game | played | recorded | read | bytes a step | to Minari | Minari read | bytes a step |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder, boardwire.connect() as client:
        os.environ["MINARI_DATASETS_PATH"] = str(Path(folder, "minari"))
        for game in client.games():
            target = Path(folder, game.id)
            recording, recorded = timed(
                lambda game=game, target=target: boardwire.record(
                    target, game.id, [["greedy", "greedy"]], episodes=EPISODES, client=client
                )
            )
            steps, read = timed(recording.read)
            decisions = len(steps.decisions)
            _, alone = timed(lambda game=game, made=decisions: played(client, game.id, made))
            size = sum(file.stat().st_size for file in recording.files) / len(steps)
            datasets, written = timed(
                lambda recording=recording, game=game: recording.to_minari(
                    f"bench/{game.id}", observation="features", client=client
                )
            )
            _, back = timed(lambda datasets=datasets: [len(run) for each in datasets for run in each])
            held = sum(file.stat().st_size for file in Path(folder, "minari").rglob(f"{game.id}*/**/*.hdf5"))
            rates = [f"{decisions / seconds:,.0f}" for seconds in (alone, recorded, read, written, back)]
            row = [*rates[:3], f"{size:.0f}", *rates[3:], f"{held / len(steps):.0f}"]
            print(f"| {game.name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
