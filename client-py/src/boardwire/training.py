"""Training runs of networks: metrics, measurements and checkpoints in a folder (`boardwire[train]`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter

from ._action_values import ActionValues
from ._client import Client
from ._evaluation import evaluate
from ._rollouts import Decisions
from ._spec import GameSpec
from .torch import Network, sample


class Stateful(Protocol):
    """A part of a checkpoint, such as a network or an optimizer."""

    def state_dict(self) -> Any:
        """Returns the state: tensors, numbers, texts, and lists and dicts of these."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Replaces the state."""


class Run:
    """The training of a network, with its folder.

    | file | content |
    | --- | --- |
    | `checkpoint.pt` | the state, to continue the training |
    | `log.jsonl` | the metrics of each update, and the measurements, also for TensorBoard |
    | `curve.png` | the share of matches won, by millions of decisions |

    Attributes:
        folder: The folder.
        network: The network that measurements and checkpoints use.
        decisions: The number of decisions that it has learned from.
        updates: The number of updates.
        seconds: The seconds of training, without measurements.
        curve: The measurements: `decisions`, `seconds`, `matches`, and for each opponent the share of wins
            and its 95% interval, both for the likeliest actions (`best`) and for sampled ones (`drawn`).
    """

    def __init__(
        self, folder: Path, network: Network, parts: Mapping[str, Stateful], *, resume: bool
    ) -> None:
        """Begins a run, or continues one.

        Args:
            folder: The folder, which is created.
            network: The network that measurements use.
            parts: What a checkpoint contains besides the network, by name.
            resume: Whether to load the checkpoint of the folder.

        Raises:
            FileExistsError: The folder has a checkpoint, and `resume` is false.
            FileNotFoundError: The folder has none, and `resume` is true.
            ValueError: The checkpoint was made for another table or other sizes.
        """
        self.folder, self.network, self._parts = folder, network, dict(parts)
        self.decisions, self.updates, self.seconds = 0, 0, 0.0
        self.curve: list[dict[str, Any]] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._checkpoint = folder / "checkpoint.pt"
        if resume:
            self._load()
        elif self._checkpoint.exists():
            raise FileExistsError(f"{self._checkpoint} exists")
        self._writer = SummaryWriter(str(folder))

    def record(self, metrics: Mapping[str, float], *, decisions: int, seconds: float) -> None:
        """Counts an update and logs its metrics."""
        self.decisions, self.seconds = self.decisions + decisions, self.seconds + seconds
        self.updates += 1
        self._write(metrics)
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, self.decisions)

    def measure(self, client: Client, opponents: Sequence[str], *, deals: int, seed: int) -> str:
        """Plays against each opponent over the same deals each time, saves a checkpoint and draws the curve.

        Args:
            client: The client of the server that plays.
            opponents: Bots; each plays all other seats.
            deals: The number of deals. Each is played at every seat, once with the likeliest actions and once
                with sampled ones.
            seed: The seed of the deals and of the sampled actions.

        Returns:
            The result as text, one line for each opponent.
        """
        self.save()
        spec = self.network.spec
        point: dict[str, Any] = {"deals": deals, "best": {}, "drawn": {}}
        lines = []
        for bot in opponents:
            texts = []
            for kind in ("best", "drawn"):
                generator = torch.Generator().manual_seed(seed)
                policy = partial(_act, self.network, best=kind == "best", generator=generator)
                found = evaluate(
                    policy, spec.id, opponents=bot, reward="win", client=client,
                    deals=deals, seats=spec.seats, options=spec.options, seed=seed,
                )  # fmt: skip
                low, high = found.interval
                point[kind][bot] = (found.mean, low, high)
                texts.append(f"{found.mean:.1%} ({low:.1%} to {high:.1%}) {kind}")
            lines.append(f"wins against {bot}: {', '.join(texts)}")
        self.curve.append({"decisions": self.decisions, "seconds": self.seconds, **point})
        self._write(point)
        self.save()
        self._draw()
        return "\n".join(lines)

    def save(self) -> None:
        """Writes the checkpoint. The old one stays until the new one is complete."""
        temporary = self._checkpoint.with_suffix(".new")
        states = {name: part.state_dict() for name, part in self._parts.items()}
        contents = {"made_for": self._made_for(), "run": self._counts(), "parts": states}
        torch.save({**contents, "network": self.network.state_dict()}, temporary)
        temporary.replace(self._checkpoint)

    def _load(self) -> None:
        if not self._checkpoint.exists():
            raise FileNotFoundError(f"there is no {self._checkpoint} to continue")
        state = torch.load(self._checkpoint, weights_only=True)
        if state["made_for"] != self._made_for():
            given, needed = state["made_for"], self._made_for()
            raise ValueError(f"{self._checkpoint} was made for {given}; this training needs {needed}")
        vars(self).update(state["run"])
        self.network.load_state_dict(state["network"])
        for name, part in self._parts.items():
            part.load_state_dict(state["parts"][name])

    def _made_for(self) -> dict[str, Any]:
        spec = self.network.spec
        return {"game": spec.id, "seats": spec.seats, "spec": spec.digest, **self.network.facts}

    def _counts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("decisions", "updates", "seconds", "curve")}

    def _write(self, metrics: Mapping[str, Any]) -> None:
        line = {"decisions": self.decisions, "seconds": self.seconds, **metrics}
        with (self.folder / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def _draw(self) -> None:
        """Draws the share of matches won against each bot."""
        spec, figure = self.network.spec, Figure(figsize=(7, 4))
        axes = figure.subplots()
        for kind, style in (("best", "-"), ("drawn", "--")):
            for number, bot in enumerate(self.curve[-1][kind]):
                # A continued run may measure against other bots than before.
                points = [point for point in self.curve if bot in point[kind]]
                millions = [point["decisions"] / 1e6 for point in points]
                mean, low, high = zip(*(point[kind][bot] for point in points), strict=True)
                axes.plot(millions, mean, style, color=f"C{number}", label=f"{bot}, {kind}")
                axes.fill_between(millions, low, high, alpha=0.2, color=f"C{number}")
        axes.axhline(1 / spec.seats, color="grey", linestyle=":", label="equal strength")
        axes.set(xlabel="millions of decisions", ylabel="matches won", ylim=(0, 1))
        axes.set_title(f"{spec.name}, {spec.seats} seats: {self.seconds / 60:.1f} minutes")
        axes.legend(loc="lower right")
        figure.savefig(self.folder / "curve.png", dpi=120, bbox_inches="tight")


class Memory:
    """The latest decisions with the values of their actions, in a ring.

    Attributes:
        view: `uint8[size, bytes]`.
        mask: `bool[size, actions]`.
        value: `float16[size, actions]`, 0 where the action is not legal.
        added: The number of decisions that were added so far.
    """

    def __init__(self, spec: GameSpec, size: int) -> None:
        """Allocates an empty memory of `size` decisions."""
        self.added = 0
        self.view = torch.zeros(size, spec.view_bytes, dtype=torch.uint8)
        self.mask = torch.zeros(size, len(spec.actions), dtype=torch.bool)
        self.value = torch.zeros(size, len(spec.actions), dtype=torch.float16)

    def add(self, data: ActionValues) -> None:
        """Adds decisions, which replace the oldest ones."""
        at = torch.arange(self.added, self.added + len(data.view)) % len(self.view)
        self.view[at], self.mask[at] = torch.from_numpy(data.view), torch.from_numpy(data.mask)
        self.value[at] = torch.from_numpy(data.value).nan_to_num().half()
        self.added += len(at)

    def rows(self, last: int, replay: int, random: torch.Generator) -> torch.Tensor:
        """Returns the last rows, and `replay` times as many random ones, in random order."""
        latest = torch.arange(self.added - last, self.added) % len(self.view)
        size = min(self.added, len(self.view))
        rows = torch.cat([latest, torch.randint(size, (replay * last,), generator=random)])
        return rows[torch.randperm(len(rows), generator=random)]


def _act(network: Network, decisions: Decisions, *, best: bool, generator: torch.Generator) -> Any:
    """Chooses actions with `sample`, as a `Policy`."""
    return sample(network, decisions, best=best, generator=generator)[0].numpy()
