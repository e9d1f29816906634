"""Behaviour cloning: records a bot, reads the recording, and trains a network to imitate it.

It shows all steps of a recording. A bot plays all seats, and `boardwire.record` writes every decision to
Parquet. The script can also convert the recording to one Minari dataset per seat. From either format, a small
network learns which legal action the bot chose. Then it plays against the bot and against random.

    python clone_bot.py faraway --bot greedy --episodes 4000
    python clone_bot.py faraway --bot greedy --episodes 8000            # adds to the first 4,000
    python clone_bot.py faraway --source minari

The folder `runs/clone/GAME-BOT` contains the Parquet files, and Minari's datasets in `minari`. Ctrl-C ends
the recording or the learning early; the script then continues with the next stage.

To try: a stronger bot, `--bot mc:40`; `steps.rows(...)` of only the winners; `boardwire.torch.Network`,
which takes `steps.observation` unchanged, and plays in the server after an export.
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

#: The share of the episodes that tests the network and does not train it.
HELD_OUT = 0.1


class Choices(NamedTuple):
    """Decisions to imitate: `float32[n, features]`, `bool[n, actions]`, `int64[n]` and their episodes."""

    features: NDArray[np.float32]
    mask: NDArray[np.bool_]
    action: NDArray[np.int64]
    episode: NDArray[np.int64]

    def rows(self, chosen: NDArray[Any]) -> Choices:
        """Returns the chosen rows."""
        return Choices(*(column[chosen] for column in self))


def read_parquet(recording: boardwire.Recording, spec: boardwire.GameSpec) -> Choices:
    """Reads the Parquet files, which contain all seats."""
    steps = recording.read().decisions
    return Choices(spec.features(steps.observation), steps.mask, steps.action.astype(np.int64), steps.episode)


def read_minari(names: list[str]) -> Choices:
    """Reads Minari's datasets, one per seat. The last observation of an episode has no action."""
    import minari  # needs Python 3.11

    parts = []
    for name in names:
        for episode in minari.load_dataset(name):
            observation, count = episode.observations, len(episode.actions)
            features, mask = observation["observation"][:-1], observation["action_mask"][:-1] > 0
            parts.append((features, mask, episode.actions, np.full(count, episode.id)))
    return Choices(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def record(args: argparse.Namespace, folder: Path, client: boardwire.Client) -> boardwire.Recording:
    """Records the bot at all seats until the folder has `--episodes` episodes."""
    seats = args.seats or client.game(args.game).seats
    line_ups = [[args.bot] * seats]
    with tqdm(total=args.episodes, unit="episode", desc="recording") as bar:
        try:
            return boardwire.record(
                folder,
                args.game,
                line_ups,
                episodes=args.episodes,
                environments=args.environments,
                progress=bar.update,
                client=client,
            )
        except KeyboardInterrupt:
            if not any(folder.glob("*.parquet")):
                raise SystemExit("ended before the first episode") from None
            recording = boardwire.Recording(folder)
    print(f"ended early: {recording.episodes} episodes are kept")
    return recording


def to_minari(recording: boardwire.Recording, client: boardwire.Client) -> list[str]:
    """Writes one dataset per seat, unless these exist with as many episodes; returns their names."""
    import minari

    facts = recording.facts
    bot = facts.line_ups[0][0].replace(":", "-")
    name = f"{facts.game}/clone-{bot}-{facts.seats}-{recording.episodes}"
    names = [f"{name}-seat{seat}-v0" for seat in range(facts.seats)]
    if not set(names) <= set(minari.list_local_datasets()):
        with tqdm(total=recording.episodes * facts.seats, unit="episode", desc="to Minari") as bar:
            recording.to_minari(name, observation="features", progress=bar.update, client=client)
    return names


def logits(network: Any, features: NDArray[np.float32], mask: NDArray[np.bool_]) -> Any:
    """Returns the logits of decisions; illegal actions get a large negative number."""
    return network(torch.from_numpy(features)).masked_fill(torch.from_numpy(~mask), -1e9)


def learn(network: Any, choices: Choices, epochs: int) -> None:
    """Trains a network to predict the actions; Ctrl-C ends the training early."""
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    random, size = np.random.default_rng(0), 512
    bar = tqdm(total=epochs * len(choices.action), unit="decision", desc="learning")
    with bar, contextlib.suppress(KeyboardInterrupt):
        for _ in range(epochs):
            order = random.permutation(len(choices.action))
            for first in range(0, len(order), size):
                batch = choices.rows(order[first : first + size])
                loss = torch.nn.functional.cross_entropy(
                    logits(network, batch.features, batch.mask), torch.from_numpy(batch.action)
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bar.update(len(batch.action))


def main() -> None:
    """Records, reads, learns and plays."""
    parser = argparse.ArgumentParser(description="Clones a bot from its decisions.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--bot", default="greedy", help="the bot to clone, such as greedy or mc:40")
    parser.add_argument("--seats", type=int, help="number of seats; default: the minimum of the game")
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument(
        "--environments", type=int, default=250, help="parallel episodes; also episodes per file"
    )
    parser.add_argument("--source", choices=["parquet", "minari"], default="parquet")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--deals", type=int, default=200, help="deals, each played from every seat")
    parser.add_argument("--address", help="address of a running server; default: a private server")
    args = parser.parse_args()
    folder = Path("runs/clone") / f"{args.game}-{args.bot.replace(':', '-')}"
    os.environ.setdefault("MINARI_DATASETS_PATH", str((folder / "minari").resolve()))
    with boardwire.connect(args.address) as client:
        recording = record(args, folder, client)
        spec = recording.spec(client)
        if args.source == "minari":
            choices = read_minari(to_minari(recording, client))
        else:
            choices = read_parquet(recording, spec)
        print(f"{len(choices.action):,} decisions of {args.bot} read from {args.source}")
        features, actions = choices.features.shape[1], choices.mask.shape[1]
        network = torch.nn.Sequential(
            torch.nn.Linear(features, 256), torch.nn.ReLU(), torch.nn.Linear(256, actions)
        )
        held_out = choices.episode >= recording.episodes * (1 - HELD_OUT)
        learn(network, choices.rows(~held_out), args.epochs)

        def most_likely(features: NDArray[np.float32], mask: NDArray[np.bool_]) -> Any:
            with torch.no_grad():
                return logits(network, features, mask).argmax(1).numpy()

        test = choices.rows(held_out & (choices.mask.sum(axis=1) > 1))
        same = most_likely(test.features, test.mask) == test.action
        print(f"the clone agrees with {args.bot} in {same.mean():.1%} of {len(same):,} held-out decisions")
        for opponent in dict.fromkeys([args.bot, "random"]):
            result = boardwire.evaluate(
                lambda decisions: most_likely(spec.features(decisions.view), decisions.mask),
                args.game,
                opponents=opponent,
                deals=args.deals,
                seats=spec.seats,
                reward="win",
                client=client,
            )
            print(f"the clone wins against {opponent}: {result}")


if __name__ == "__main__":
    main()
