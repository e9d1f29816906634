"""Clones a bot by what it did: records it, reads the recording back, and imitates it (behaviour cloning).

Shows recordings from end to end. A bot plays at all seats, and every decision is written to Parquet
(`boardwire.record`). The same becomes a Minari dataset of each seat. Either is read back, a small network
learns which action was chosen among the legal ones, and then plays against the bot and against random.

    python clone_bot.py faraway --bot greedy --episodes 4000
    python clone_bot.py faraway --bot greedy --episodes 8000            # goes on after the first 4,000
    python clone_bot.py faraway --source minari

The folder `runs/clone/GAME-BOT` has the Parquet files and Minari's datasets, in `minari`. Ctrl-C while the
bot plays goes on with what was recorded, and while the network learns with what it has learnt.

To try: a stronger bot, `--bot mc:40`; `steps.rows(...)` of the winners alone; `boardwire.torch.Network`,
which takes `steps.observation` as it is, and plays in the server once it is exported.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire

#: The share of the episodes that is not learned from.
HELD_OUT = 0.1


class Choices(NamedTuple):
    """Decisions to imitate: `float32[n, features]`, `int8[n, actions]`, `int64[n]` and their episodes."""

    features: NDArray[np.float32]
    mask: NDArray[np.int8]
    action: NDArray[np.int64]
    episode: NDArray[np.int64]

    def rows(self, chosen: NDArray[Any]) -> Choices:
        """Some of them."""
        return Choices(*(column[chosen] for column in self))


def of_parquet(recording: boardwire.Recording, spec: boardwire.GameSpec) -> Choices:
    """Reads the Parquet files: all seats at once."""
    steps = recording.read().decisions
    return Choices(spec.features(steps.observation), steps.mask, steps.action.astype(np.int64), steps.episode)


def of_minari(names: list[str]) -> Choices:
    """Reads Minari's datasets, one of each seat. An episode ends with an observation and no action."""
    import minari  # needs Python 3.11

    parts = []
    for name in names:
        for episode in minari.load_dataset(name):
            seen, count = episode.observations, len(episode.actions)
            features, mask = seen["observation"][:-1], seen["action_mask"][:-1]
            parts.append((features, mask, episode.actions, np.full(count, episode.id)))
    return Choices(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def record(given: argparse.Namespace, folder: Path, client: boardwire.Client) -> boardwire.Recording:
    """Lets the bot play at all seats until the folder has so many episodes."""
    seats = given.seats or client.game(given.game).seats
    line_ups = [[given.bot] * seats]
    with tqdm(total=given.episodes, unit="episode", desc="recording") as bar:
        try:
            return boardwire.record(
                folder,
                given.game,
                line_ups,
                episodes=given.episodes,
                environments=given.environments,
                progress=bar.update,
                client=client,
            )
        except KeyboardInterrupt:
            if not any(folder.glob("*.parquet")):
                raise SystemExit("ended before any episode was") from None
            recording = boardwire.Recording(folder)
    print(f"ended early: {recording.episodes} episodes are kept")
    return recording


def to_minari(recording: boardwire.Recording, client: boardwire.Client) -> list[str]:
    """Makes a dataset of each seat, unless there is one of as many episodes; gives their names."""
    import minari

    facts = recording.facts
    bot = facts.line_ups[0][0].replace(":", "-")
    name = f"{facts.game}/clone-{bot}-{facts.seats}-{recording.episodes}"
    names = [f"{name}-seat{seat}-v0" for seat in range(facts.seats)]
    if not set(names) <= set(minari.list_local_datasets()):
        with tqdm(total=recording.episodes * facts.seats, unit="episode", desc="to Minari") as bar:
            recording.to_minari(name, observation="features", progress=bar.update, client=client)
    return names


def logits(network: Any, features: NDArray[np.float32], mask: NDArray[np.int8]) -> Any:
    """What the network makes of decisions: nothing illegal has a chance."""
    return network(torch.from_numpy(features)).masked_fill(torch.from_numpy(mask == 0), -1e9)


def learn(network: Any, choices: Choices, epochs: int) -> None:
    """Teaches a network to choose what was chosen; Ctrl-C ends it early."""
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    random, size = np.random.default_rng(0), 512
    bar = tqdm(total=epochs * len(choices.action), unit="decision", desc="learning")
    with bar, contextlib.suppress(KeyboardInterrupt):
        for _ in range(epochs):
            order = random.permutation(len(choices.action))
            for first in range(0, len(order), size):
                some = choices.rows(order[first : first + size])
                wrong = torch.nn.functional.cross_entropy(
                    logits(network, some.features, some.mask), torch.from_numpy(some.action)
                )
                optimizer.zero_grad()
                wrong.backward()
                optimizer.step()
                bar.update(len(some.action))


def main() -> None:
    """Records, reads back, learns and plays."""
    parser = argparse.ArgumentParser(description="Clones a bot by what it did.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--bot", default="greedy", help="whom to clone, such as greedy or mc:40")
    parser.add_argument("--seats", type=int, help="the fewest the game is played by when left out")
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument(
        "--environments", type=int, default=250, help="episodes played at once, and in a file"
    )
    parser.add_argument("--source", choices=["parquet", "minari"], default="parquet")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--deals", type=int, default=200, help="each is played from every seat")
    parser.add_argument("--address", help="a running server; a private one when left out")
    given = parser.parse_args()
    folder = Path("runs/clone") / f"{given.game}-{given.bot.replace(':', '-')}"
    os.environ.setdefault("MINARI_DATASETS_PATH", str((folder / "minari").resolve()))
    with boardwire.connect(given.address) as client:
        recording = record(given, folder, client)
        spec = recording.spec(client)
        if given.source == "minari":
            choices = of_minari(to_minari(recording, client))
        else:
            choices = of_parquet(recording, spec)
        print(f"{len(choices.action):,} decisions of {given.bot} read back from {given.source}")
        features, actions = choices.features.shape[1], choices.mask.shape[1]
        network = torch.nn.Sequential(
            torch.nn.Linear(features, 256), torch.nn.ReLU(), torch.nn.Linear(256, actions)
        )
        held_out = choices.episode >= recording.episodes * (1 - HELD_OUT)
        learn(network, choices.rows(~held_out), given.epochs)

        def likeliest(features: NDArray[np.float32], mask: NDArray[np.int8]) -> Any:
            with torch.no_grad():
                return logits(network, features, mask).argmax(1).numpy()

        asked = choices.rows(held_out & (choices.mask.sum(axis=1) > 1))
        right = likeliest(asked.features, asked.mask) == asked.action
        print(f"{right.mean():.1%} of {len(right):,} decisions held out are chosen as {given.bot} did")
        for opponent in dict.fromkeys([given.bot, "random"]):
            fared = boardwire.evaluate(
                lambda asked: likeliest(spec.features(asked.view), asked.mask),
                given.game,
                opponents=opponent,
                deals=given.deals,
                seats=spec.seats,
                reward="win",
                client=client,
            )
            print(f"the clone wins against {opponent}: {fared}")


if __name__ == "__main__":
    main()
