"""Networks for any game, in PyTorch: the extra `boardwire[torch]`.

Everything follows from the description of a table of a game. What a view names is looked up in one embedding
of all components, made of what is printed on each and of a free part; the actions that name components are
scored by the same embedding. Views come as they are sent, so an exported network plays in the server.

```python
network = boardwire.torch.Network(spec)
logits, value = network(torch.from_numpy(step.view))
boardwire.torch.export(network, "lion.onnx")       # plays as policy:lion
```
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ._feature_parts import described
from ._fields import ViewField
from ._rollouts import Decisions
from ._spec import GameSpec

__all__ = ["Components", "Encoder", "Network", "export", "log_probabilities", "sample"]

#: The logit of what is not legal.
_NEVER = -1e9


class Components(nn.Module):
    """An embedding of the rows of all tables: what is printed on a component, and a part of its own.

    Its weights are `float32[rows, width]`, in the order of `GameSpec.row_offsets`; those of row 0 of each
    table, nothing, are 0.
    """

    def __init__(self, spec: GameSpec, width: int) -> None:
        """Begins with what is printed alone."""
        super().__init__()
        printed = _printed(spec)
        there = np.ones((len(printed), 1), np.float32)
        there[list(spec.row_offsets.values())] = 0
        self.register_buffer("printed", torch.from_numpy(printed), persistent=False)
        self.register_buffer("there", torch.from_numpy(there), persistent=False)
        self.shared = nn.Linear(printed.shape[1], width, bias=False)
        self.own = nn.Parameter(torch.zeros(len(printed), width))

    def forward(self) -> Tensor:
        """The weights."""
        return (self.shared(self.printed) + self.own) * self.there


class Encoder(nn.Module):
    """Turns views into numbers, `uint8[n, bytes]` into `float32[n, size]`.

    A component becomes its embedding. Those in places of their own, such as the cells of a board, stand side
    by side; the others, in a bag or a sequence, are added up, and of a sequence the latest stands there once
    more. Where a category says how each of a bag or a sequence stands, those of each value are added up as
    well. Numbers are divided by what is usual; seats and categories become one-hots.

    Attributes:
        size: How many numbers.
    """

    def __init__(self, spec: GameSpec, width: int) -> None:
        """Lays out what the fields of a seat's view become.

        Args:
            spec: The table of the game.
            width: Numbers of an embedding.
        """
        super().__init__()
        named = [field for field in spec.fields.values() if field.kind == "id"]
        # Bags of equal size stand together, so that each size takes one lookup.
        places = sorted((place for field in named for place in _bags(field)), key=lambda place: len(place[1]))
        offset = spec.row_offsets
        self._runs: list[tuple[int, int]] = []
        at: list[int] = []
        first: list[int] = []
        for size, run in groupby(places, key=lambda place: len(place[1])):
            held = list(run)
            self._runs.append((len(held), size))
            for field, values in held:
                at += values
                first += [offset[field.table]] * size
        # The bytes of each sequence, and where its table begins.
        lines = [(offset[field.table], _sequences(field)) for field in named]
        self._lines = [(begin, len(line)) for begin, line in lines if len(line)]
        for number, line in enumerate(line for _, line in lines if len(line)):
            self._note(f"line{number}", line)
        # The bytes of each bag of which a category tells, and of the category; then where its table begins.
        told = [(field, other) for field in named for other in spec.fields.values() if _tells(other, field)]
        pairs = [np.array([[bag for _, bag in _bags(each)] for each in pair]) for pair in told]
        self._told = [(offset[field.table], other.max) for field, other in told]
        for number, pair in enumerate(pairs):
            self._note(f"told{number}", pair)
        plain = [field for field in spec.fields.values() if field.kind in ("count", "flag")]
        hot = [field for field in spec.fields.values() if field.kind in ("seat", "category")]
        self._note("at", np.array(at, np.int64))
        self._note("first", np.array(first, np.int32))
        low = np.concatenate([np.arange(0), *(field.bytes.ravel() for field in plain)])
        high = np.concatenate([np.arange(0), *(field.bytes.ravel() + field.width - 1 for field in plain)])
        self._note("low", low)
        self._note("high", high)
        self._note("carry", (256.0 * (high > low)).astype(np.float32))
        usual = [np.full(field.size, max(field.usual_max, 1), np.float32) for field in plain]
        self._note("usual", np.concatenate([np.zeros(0, np.float32), *usual]))
        one = [np.repeat(field.bytes, field.max + 1) for field in hot]
        self._note("hot_at", np.concatenate([np.arange(0), *one]))
        each = [np.tile(np.arange(field.max + 1), field.size) for field in hot]
        self._note("hot_value", np.concatenate([np.arange(0), *each]).astype(np.int32))
        latest = sum(count for _, count in self._lines)
        split = sum(pair.shape[1] * values for pair, (_, values) in zip(pairs, self._told, strict=True))
        self.size = (len(places) + latest + split) * width + len(low) + len(self.hot_at)

    def forward(self, view: Tensor, components: Tensor) -> Tensor:
        """Encodes views.

        Args:
            view: `uint8[n, bytes]`.
            components: `float32[rows, width]`, the weights of `Components`.
        """
        view = view.int()
        rows = view.index_select(1, self.at) + self.first
        parts = []
        begin = 0
        for count, size in self._runs:
            found = nn.functional.embedding(rows[:, begin : begin + count * size], components)
            if size > 1:
                found = found.unflatten(1, (count, size)).sum(2)
            parts.append(found.flatten(1))
            begin += count * size
        for number, (offset, count) in enumerate(self._lines):
            line = getattr(self, f"line{number}")
            row = view.index_select(1, line.flatten()).unflatten(1, (count, line.shape[1]))
            place = (row > 0) * torch.arange(1, line.shape[1] + 1, dtype=torch.int32, device=view.device)
            is_latest = place == place.amax(2, keepdim=True)
            latest = (row * is_latest).sum(2, dtype=torch.int32)
            parts.append(nn.functional.embedding(latest + offset, components).flatten(1))
        for number, (offset, values) in enumerate(self._told):
            at = getattr(self, f"told{number}")
            row, value = view.index_select(1, at.flatten()).unflatten(1, at.shape).unbind(1)
            each = torch.arange(1, values + 1, dtype=torch.int32, device=view.device).unsqueeze(1)
            row = row.unsqueeze(2) * (value.unsqueeze(2) == each)
            found = nn.functional.embedding(row + offset, components)
            parts.append(found.sum(3).flatten(1))
        numbers = view.index_select(1, self.low) + self.carry * view.index_select(1, self.high)
        parts.append(numbers / self.usual)
        parts.append((view.index_select(1, self.hot_at) == self.hot_value).float())
        return torch.cat(parts, 1)

    def _note(self, name: str, values: NDArray[np.generic]) -> None:
        self.register_buffer(name, torch.from_numpy(values), persistent=False)


class Network(nn.Module):
    """A small policy with a value, for any game.

    Hidden layers see the encoded view. What they make of it, and the view itself, become a query; each action
    has a key, made of the component that it names, of what it does to it, and of a free part. Its logit is
    the product of both. That the query takes in the view directly as well lets it add up what the components
    in play have to do with the one that is named: what that one pays for, and what they pay for it.

    Attributes:
        spec: The table of the game that it plays.
        facts: The arguments it was made with, to make another one like it.
    """

    def __init__(self, spec: GameSpec, *, width: int = 32, hidden: int = 128, layers: int = 2) -> None:
        """Begins with a policy that is nearly uniform, and with values of nearly 0.

        Args:
            spec: The table of the game.
            width: Numbers of a component's embedding.
            hidden: Units of a layer.
            layers: Hidden layers.
        """
        super().__init__()
        self.spec = spec
        self.facts = {"width": width, "hidden": hidden, "layers": layers}
        self.components = Components(spec, width)
        self.encoder = Encoder(spec, width)
        sizes = [self.encoder.size, *[hidden] * layers]
        body: list[nn.Module] = []
        for before, after in pairwise(sizes):
            body += [nn.Linear(before, after), nn.LayerNorm(after), nn.ReLU()]
        self.body = nn.Sequential(*body)
        verbs = sorted({action.verb for action in spec.actions})
        verb = np.array([verbs.index(action.verb) for action in spec.actions])
        row = np.maximum(spec.action_rows, 0).astype(np.int64)
        self.register_buffer("row", torch.from_numpy(row), persistent=False)
        self.register_buffer("verb", torch.from_numpy(verb), persistent=False)
        # What a component means to an action depends on what is done to it.
        self.keys = nn.Parameter(torch.randn(len(verbs), width, hidden // 2) * width**-0.5)
        self.own = nn.Parameter(torch.zeros(len(spec.actions), hidden // 2))
        self.bias = nn.Parameter(torch.zeros(len(spec.actions)))
        self.query = nn.Linear(hidden, hidden // 2)
        self.direct = nn.Linear(self.encoder.size, hidden // 2, bias=False)
        self.value = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.query.weight *= 0.1
            self.direct.weight *= 0.1
            self.value.weight *= 0.1

    def forward(self, view: Tensor) -> tuple[Tensor, Tensor]:
        """Judges positions.

        Args:
            view: `uint8[n, bytes]`, views of a seat as they are sent.

        Returns:
            The logits `float32[n, actions]`, not masked, and the values `float32[n]`.
        """
        components = self.components()
        encoded = self.encoder(view, components)
        seen = self.body(encoded)
        query = self.query(seen) + self.direct(encoded)
        # An action that names no component has row 0 of the first table, which is 0.
        named = components[self.row].unsqueeze(1) @ self.keys[self.verb]
        logits = query @ (named.squeeze(1) + self.own).T + self.bias
        return logits, self.value(seen).squeeze(1)


def log_probabilities(logits: Tensor, mask: Tensor) -> Tensor:
    """The logarithms of the probabilities of legal actions; hugely negative for the others.

    Args:
        logits: `float32[n, actions]`.
        mask: `[n, actions]`, not 0 for legal actions.
    """
    return logits.masked_fill(mask == 0, _NEVER).log_softmax(1)


@torch.no_grad()
def sample(network: nn.Module, asked: Decisions, *, best: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Chooses actions as a `Learner` does.

    Args:
        network: Gives logits and values, as `Network`; on the CPU.
        asked: The decisions.
        best: Whether to take the likeliest action instead of drawing one.

    Returns:
        The actions `int64[n]`, the logarithms of their probabilities `float32[n]`, the values `float32[n]`.
    """
    # Copies: what steps carry is read-only, which tensors over the same memory cannot be.
    logits, value = network(torch.tensor(asked.view))
    chances = log_probabilities(logits, torch.tensor(asked.mask))
    action = chances.argmax(1) if best else chances.exp().multinomial(1).squeeze(1)
    return action, chances.gather(1, action[:, None]).squeeze(1), value


def export(network: Network, file: str | os.PathLike[str]) -> None:
    """Writes a network as ONNX, to play in the server as `policy:NAME`.

    Args:
        network: What plays.
        file: Where to; its name ends in `.onnx`.
    """
    facts = {
        "boardwire.spec": network.spec.digest,
        "boardwire.encoding": "bytes",
        "boardwire.outputs": "logits",
    }
    views = torch.zeros(2, network.spec.view_bytes, dtype=torch.uint8)
    program = torch.onnx.export(
        network.eval(),
        (views,),
        input_names=["view"],
        output_names=["logits", "value"],
        dynamic_shapes=({0: torch.export.Dim("rows", min=1)},),
        dynamo=True,
        verbose=False,
    )
    program.model.metadata_props.update(facts)
    program.save(file)


def _printed(spec: GameSpec) -> NDArray[np.float32]:
    """What is printed on each component: `float32[rows, columns of all tables]`."""
    blocks = [described(table, spec.tables)[1] for table in spec.tables.values()]
    out = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)), np.float32)
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        out[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return out


def _tells(field: ViewField, named: ViewField) -> bool:
    """Whether a field is a category that says how each component of a bag or a sequence stands."""
    is_bag = any(axis.order != "places" and axis.size > 1 for axis in named.axes)
    return is_bag and field.kind == "category" and field.axes == named.axes


def _bags(field: ViewField) -> Iterator[tuple[ViewField, list[int]]]:
    """The bytes of a field's ids: those that lie in one bag together."""
    ordered = [at for at, axis in enumerate(field.axes) if axis.order == "places"]
    others = [at for at, axis in enumerate(field.axes) if axis.order != "places"]
    count = int(np.prod([field.shape[at] for at in ordered], dtype=np.intp))
    for values in field.bytes.transpose(ordered + others).reshape(count, -1):
        yield field, values.tolist()


def _sequences(field: ViewField) -> NDArray[np.intp]:
    """The bytes of the sequences of a field: `[sequences, places]`, none if it has no such axis."""
    along = [at for at, axis in enumerate(field.axes) if axis.order == "sequence"]
    if not along:
        return np.zeros((0, 0), np.intp)
    others = [at for at in range(len(field.axes)) if at not in along]
    places = int(np.prod([field.shape[at] for at in along], dtype=np.intp))
    return field.bytes.transpose(others + along).reshape(-1, places)
