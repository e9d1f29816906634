"""Shows what a network has learned, by kind of decision: how many points its choices gain over random ones.

The network plays its own matches. At some decisions the server samples many determinizations, tries every
legal action in each, and plays each to the end with the game's estimate. Half of the playouts choose the best
action, the other half evaluate it. So luck does not inflate the value of the best action.

    python train_ppo.py faraway --minutes 5
    python probe_network.py faraway                      # half a minute
    python probe_network.py faraway --by phase round

If the network gains much less than possible, the view or the encoder may lack information, or such decisions
may be rare in training. If it gains nearly everything, more training on these playouts does not help.

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
    """Loads the network from a checkpoint of `train_ppo.py`."""
    state = torch.load(file, weights_only=True)
    fits = state["made_for"]
    spec = client.game(fits["game"], seats=fits["seats"])
    if spec.digest != fits["spec"]:
        raise SystemExit(f"{file} fits another version of {fits['game']}: train a new network")
    network = Network(spec, **{name: fits[name] for name in ("width", "hidden", "layers", "scale")})
    network.load_state_dict(state["network"])
    return network


class Probe:
    """Decisions with the margins of their actions in playouts; values of illegal actions are NaN."""

    def __init__(self, network: Network) -> None:
        """Starts without decisions."""
        self.network = network
        self.view: list[NDArray[np.uint8]] = []
        self.margins: list[NDArray[np.float32]] = []
        self.logits: list[NDArray[np.float32]] = []

    def add(self, batch: boardwire.Batch, step: boardwire.BatchStep, playouts: int, bar: Any) -> None:
        """Evaluates the decisions of all environments that have more than one legal action."""
        halves = np.zeros((2, *step.mask.shape), np.float32)
        places = batch.environments + int(step.mask.sum())
        for half in list(halves) * playouts:
            with batch.search(places=places, reward="margin", skip_forced=True) as search:
                half += search.values() / playouts
            bar.update(1)
        with torch.no_grad():
            logits = self.network(torch.tensor(step.view))[0].numpy()
        is_choice = step.mask.sum(1) > 1
        self.view.append(step.view[is_choice])
        self.margins.append(halves[:, is_choice])
        self.logits.append(np.where(step.mask, logits, np.nan)[is_choice])

    def table(self, by: list[str]) -> str:
        """Returns a line for each kind of decision, and one for all."""
        view, logits = np.concatenate(self.view), np.concatenate(self.logits)
        spec = self.network.spec
        # The advantage of an action: its margin minus the mean of the legal actions.
        choosing, evaluating = (
            each - np.nanmean(each, 1, keepdims=True) for each in np.concatenate(self.margins, 1)
        )
        logits -= np.nanmean(logits, 1, keepdims=True)
        rows = np.arange(len(view))
        gained = evaluating[rows, np.nanargmax(logits, 1)]
        best = evaluating[rows, np.nanargmax(choosing, 1)]
        values = np.stack([spec.fields[name].decode(view) for name in by], 1)
        lines = [f"{'':24}{'decisions':>10}{'actions':>9}{'known':>8}{'gained':>8}{'to gain':>9}"]
        for kind in [*np.unique(values, axis=0), None]:
            is_kind = np.full(len(view), True) if kind is None else (values == kind).all(1)
            first, second, logit = choosing[is_kind], evaluating[is_kind], logits[is_kind]
            # The luck of the two halves is independent, so it cancels in their product on average.
            spread = np.nansum(first * second)
            size = np.nansum(logit**2)
            explained = np.nansum((first + second) / 2 * logit) ** 2 / size if size else 0.0
            # Without a measurable difference between actions there is nothing to explain.
            known = f"{explained / spread:.0%}" if spread > 0 else "-"
            name = "all" if kind is None else kind_name(spec, by, kind)
            lines.append(
                f"{name:24}{is_kind.sum():10,}{(~np.isnan(first)).sum(1).mean():9.1f}"
                f"{known:>8}{gained[is_kind].mean():8.2f}{best[is_kind].mean():9.2f}"
            )
        return "\n".join(lines)


def kind_name(spec: boardwire.GameSpec, by: list[str], kind: Any) -> str:
    """Returns the name of a kind of decision."""
    words = [spec.fields[name].names for name in by]
    parts = zip(by, words, kind, strict=True)
    return " ".join(word[value] if word else f"{name} {value}" for name, word, value in parts)


def main() -> None:
    """Evaluates a network and prints the table."""
    parser = argparse.ArgumentParser(description="Shows what a network has learned.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--checkpoint", type=Path, help="default: runs/GAME/checkpoint.pt")
    add(
        "--by",
        nargs="+",
        default=["phase"],
        help="fields of a view, of one value each, that distinguish kinds of decisions",
    )
    add("--environments", type=int, default=256)
    add("--probes", type=int, default=32, help="how often to evaluate the decisions of all environments")
    add("--every", type=int, default=3, help="steps between two evaluations")
    add("--playouts", type=int, default=32, help="playouts of each action in each half")
    add("--address", help="address of a running server; default: a private server")
    args = parser.parse_args()
    file = args.checkpoint or Path("runs") / args.game / "checkpoint.pt"
    if not file.exists():
        raise SystemExit(f"there is no {file}: train_ppo.py writes it")
    torch.manual_seed(1)
    with boardwire.connect(args.address) as client:
        network = load(client, file)
        spec = network.spec
        for name in args.by:
            if name not in spec.fields or spec.fields[name].size > 1:
                allowed = ", ".join(field.name for field in spec.fields.values() if field.size == 1)
                raise SystemExit(f"--by must be fields of one value: {allowed}; got {name}")
        probe = Probe(network)
        with (
            client.open_batch(
                spec.id,
                environments=args.environments,
                seats=spec.seats,
                autoreset="same_step",
                skip_forced=True,
                seed=1,
            ) as batch,
            tqdm(total=2 * args.probes * args.playouts, unit="playout", leave=False) as bar,
        ):
            step = batch.reset()
            try:
                for number in range(args.probes * args.every):
                    if number % args.every == 0:
                        probe.add(batch, step, args.playouts, bar)
                    decisions = boardwire.Decisions(
                        step.view, step.mask, step.seat, np.arange(batch.environments)
                    )
                    step = batch.step(sample(network, decisions)[0].numpy())
            except KeyboardInterrupt:
                print("ended early")
    if probe.view:
        print(probe.table(args.by))
        print("known: explained share of the variance between actions; gained, to gain: points over random")


if __name__ == "__main__":
    main()
