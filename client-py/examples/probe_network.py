"""Tells what a network has learned, by kind of decision: how much better it chooses than blindly.

The network plays its own matches. At some of its decisions many worlds are drawn that its seat can believe
in; in each of them every legal action is tried and played on to the end by the game's own estimate. Half of
the worlds say which action is best, the others what it is worth: so luck does not make the best look better
than it is.

    python train_ppo.py faraway --minutes 5
    python probe_network.py faraway                      # half a minute
    python probe_network.py faraway --by phase round

Where a network gains little of what is to be gained, it may not see what matters there, or meet such
decisions too rarely. Where it gains nearly all, more training on these playouts leads nowhere.

To try: `--by round`; a network before and after self-play; another `--hidden` in its training.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

import boardwire
from boardwire.torch import Network, sample


def load(client: boardwire.Client, file: Path) -> Network:
    """The network of a checkpoint that `train_ppo.py` has written."""
    state = torch.load(file, weights_only=True)
    made = state["made_for"]
    spec = client.game(made["game"], seats=made["seats"])
    if spec.digest != made["spec"]:
        raise SystemExit(f"{file} is of another build of {made['game']}: train it again")
    network = Network(spec, **{name: made[name] for name in ("width", "hidden", "layers")})
    network.load_state_dict(state["network"])
    return network


class Probe:
    """Decisions with what playouts say of their actions; values are NaN where an action is not legal."""

    def __init__(self, network: Network) -> None:
        """Begins with none."""
        self.network = network
        self.view: list[NDArray[np.uint8]] = []
        self.worth: list[NDArray[np.float32]] = []
        self.liked: list[NDArray[np.float32]] = []

    def add(self, batch: boardwire.Batch, shown: boardwire.BatchStep, playouts: int, bar: Any) -> None:
        """Judges the decisions of all environments, those with one legal action aside."""
        halves = np.zeros((2, *shown.mask.shape), np.float32)
        places = batch.environments + int(shown.mask.sum())
        for half in list(halves) * playouts:
            with batch.search(places=places, reward="margin", skip_forced=True) as search:
                half += search.values() / playouts
            bar.update(1)
        with torch.no_grad():
            logits = self.network(torch.tensor(shown.view))[0].numpy()
        is_choice = shown.mask.sum(1) > 1
        self.view.append(shown.view[is_choice])
        self.worth.append(halves[:, is_choice])
        self.liked.append(np.where(shown.mask > 0, logits, np.nan)[is_choice])

    def table(self, by: list[str]) -> str:
        """A line for each kind of decision, and one for all."""
        view, liked = np.concatenate(self.view), np.concatenate(self.liked)
        spec = self.network.spec
        # What an action is worth more than the legal actions are on average.
        choosing, judging = (
            each - np.nanmean(each, 1, keepdims=True) for each in np.concatenate(self.worth, 1)
        )
        liked -= np.nanmean(liked, 1, keepdims=True)
        rows = np.arange(len(view))
        gained = judging[rows, np.nanargmax(liked, 1)]
        best = judging[rows, np.nanargmax(choosing, 1)]
        values = np.stack([spec.fields[name].decode(view) for name in by], 1)
        lines = [f"{'':24}{'decisions':>10}{'actions':>9}{'known':>8}{'gained':>8}{'to gain':>9}"]
        for kind in [*np.unique(values, axis=0), None]:
            chosen = np.full(len(view), True) if kind is None else (values == kind).all(1)
            of, to, right = choosing[chosen], judging[chosen], liked[chosen]
            # Luck of the two halves is apart, so their product has none of it on average.
            spread = np.nansum(of * to)
            size = np.nansum(right**2)
            told = np.nansum((of + to) / 2 * right) ** 2 / size if size else 0.0
            # Of actions that are worth the same, or too few to tell, nothing can be known.
            known = f"{told / spread:.0%}" if spread > 0 else "-"
            name = "all" if kind is None else named(spec, by, kind)
            lines.append(
                f"{name:24}{chosen.sum():10,}{(~np.isnan(of)).sum(1).mean():9.1f}"
                f"{known:>8}{gained[chosen].mean():8.2f}{best[chosen].mean():9.2f}"
            )
        return "\n".join(lines)


def named(spec: boardwire.GameSpec, by: list[str], kind: Any) -> str:
    """A kind of decision in words."""
    words = [spec.fields[name].names for name in by]
    parts = zip(by, words, kind, strict=True)
    return " ".join(word[value] if word else f"{name} {value}" for name, word, value in parts)


def main() -> None:
    """Probes and reports."""
    parser = argparse.ArgumentParser(description="Tells what a network has learned.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--checkpoint", type=Path, help="runs/GAME/checkpoint.pt when left out")
    add(
        "--by",
        nargs="+",
        default=["phase"],
        help="single values of a view that tell kinds of decisions apart",
    )
    add("--environments", type=int, default=256)
    add("--probes", type=int, default=32, help="how often the decisions of all environments are judged")
    add("--every", type=int, default=3, help="steps from one to the next")
    add("--playouts", type=int, default=32, help="of each action, in each half")
    add("--address", help="a running server; a private one when left out")
    given = parser.parse_args()
    file = given.checkpoint or Path("runs") / given.game / "checkpoint.pt"
    if not file.exists():
        raise SystemExit(f"there is no {file}: train_ppo.py writes one")
    torch.manual_seed(1)
    with boardwire.connect(given.address) as client:
        network = load(client, file)
        spec = network.spec
        for name in given.by:
            if name not in spec.fields or spec.fields[name].size > 1:
                single = ", ".join(field.name for field in spec.fields.values() if field.size == 1)
                raise SystemExit(f"--by {name} is no single value of a view: {single} are")
        probe = Probe(network)
        with (
            client.open_batch(
                spec.id,
                environments=given.environments,
                seats=spec.seats,
                autoreset="same_step",
                skip_forced=True,
                seed=1,
            ) as batch,
            tqdm(total=2 * given.probes * given.playouts, unit="playout", leave=False) as bar,
        ):
            shown = batch.reset()
            try:
                for step in range(given.probes * given.every):
                    if step % given.every == 0:
                        probe.add(batch, shown, given.playouts, bar)
                    asked = boardwire.Decisions(
                        shown.view, shown.mask, shown.seat, np.arange(batch.environments)
                    )
                    shown = batch.step(sample(network, asked)[0].numpy())
            except KeyboardInterrupt:
                print("ended early")
    if probe.view:
        print(probe.table(given.by))
        print("known: of the variance between actions; gained, to gain: points over an action drawn blindly")


if __name__ == "__main__":
    main()
