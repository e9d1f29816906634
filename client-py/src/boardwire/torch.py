"""Networks for any game, in PyTorch: the extra `boardwire[torch]`.

A network is built only from the spec of a table. One embedding covers all components. It sums a projection
of the data printed on a component and a learned vector. The encoder looks up the components of a view in it,
and the policy scores the actions that name components with it. A network takes views as the server sends
them, so the server can run an exported network.

```python
network = boardwire.torch.Network(spec)
logits, value = network(torch.from_numpy(step.view))
boardwire.torch.export(network, "lion.onnx")       # plays as policy:lion
```
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ._features import described
from ._fields import ViewField
from ._rollouts import Decisions
from ._spec import GameSpec

__all__ = ["Components", "Encoder", "Network", "export", "log_probabilities", "sample"]

#: The logit of an illegal action.
_ILLEGAL_LOGIT = -1e9


class Components(nn.Module):
    """An embedding of the components of all tables: a projection of the printed data plus a learned vector.

    Its weights are `float32[rows, width]`, in the order of `GameSpec.row_offsets`. Row 0 of each table stands
    for no component, and its weights are 0.
    """

    def __init__(self, spec: GameSpec, width: int) -> None:
        """Initializes the learned vectors to 0, so that only the printed data counts at first."""
        super().__init__()
        tables = spec.tables
        # The tables have no common columns.
        printed = torch.block_diag(*(torch.tensor(described(table, tables)[1]) for table in tables.values()))
        is_component = torch.ones(len(printed), 1)
        is_component[list(spec.row_offsets.values())] = 0
        self.register_buffer("printed", printed, persistent=False)
        self.register_buffer("is_component", is_component, persistent=False)
        self.shared = nn.Linear(printed.shape[1], width, bias=False)
        self.own = nn.Parameter(torch.zeros(len(printed), width))

    def forward(self) -> Tensor:
        """Returns the weights, `float32[rows, width]`."""
        return (self.shared(self.printed) + self.own) * self.is_component


class Encoder(nn.Module):
    """A module that encodes views, `uint8[n, bytes]`, as vectors, `float32[n, size]`.

    It replaces each component with its embedding. Components at fixed places, such as the cells of a board,
    are concatenated. The components of a bag or a sequence are summed. The latest component of a sequence is
    also appended. If a category field describes each component of a bag or a sequence, the encoder also
    appends one sum per value from 1. Counts and flags are divided by `usual_max`; seats and categories become
    one-hot vectors.

    Attributes:
        size: The length of an encoded view.
    """

    def __init__(self, spec: GameSpec, width: int) -> None:
        """Lays out the encoding of the fields of a seat's view.

        Args:
            spec: The spec of the table.
            width: The length of an embedding.
        """
        super().__init__()
        first, fields = spec.row_offsets, list(spec.fields.values())
        named = [field for field in fields if field.kind == "id"]
        bags = [(bag, first[field.table]) for field in named for bag in _bags(field)]
        # Bags of equal size are adjacent, so that each size takes one lookup.
        bags.sort(key=lambda each: len(each[0]))
        self._runs = [(len(list(run)), size) for size, run in groupby(len(bag) for bag, _ in bags)]
        self._register("at", np.int64, [bag for bag, _ in bags])
        self._register("first", np.int32, [np.full(len(bag), row) for bag, row in bags])
        # For each field of sequences: the first row of its table, the number of sequences, and their length.
        self._lines: list[tuple[int, int, int]] = []
        for field in named:
            if len(line := _sequences(field)):
                self._register(f"line{len(self._lines)}", np.int64, [line])
                self._lines.append((first[field.table], *line.shape))
        # For each field that a category describes: the first row of its table, the category's maximum, and
        # the shape of the bytes of both: [2, bags, values].
        self._described: list[tuple[int, int, tuple[int, ...]]] = []
        for field, other in (
            (field, other) for field in named for other in fields if _describes(other, field)
        ):
            pair = np.stack([_bags(field), _bags(other)])
            self._register(f"described{len(self._described)}", np.int64, [pair])
            self._described.append((first[field.table], other.max, pair.shape))
        plain = [field for field in fields if field.kind in ("count", "flag")]
        self._register("low", np.int64, [field.bytes for field in plain])
        self._register("high", np.int64, [field.bytes + field.width - 1 for field in plain])
        self._register("carry", np.float32, [np.full(field.size, 256 * (field.width - 1)) for field in plain])
        self._register("usual", np.float32, [np.full(field.size, max(field.usual_max, 1)) for field in plain])
        hot = [field for field in fields if field.kind in ("seat", "category")]
        self._register("hot_at", np.int64, [np.repeat(field.bytes, field.max + 1) for field in hot])
        self._register(
            "hot_value", np.int32, [np.tile(np.arange(field.max + 1), field.size) for field in hot]
        )
        found = len(bags) + sum(count for _, count, _ in self._lines)
        found += sum(values * shape[1] for _, values, shape in self._described)
        self.size = found * width + len(self.low) + len(self.hot_at)

    def forward(self, view: Tensor, components: Tensor) -> Tensor:
        """Encodes views as `float32[n, size]`.

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
        for number, (offset, count, length) in enumerate(self._lines):
            row = view.index_select(1, getattr(self, f"line{number}")).unflatten(1, (count, length))
            place = (row > 0) * torch.arange(1, length + 1, dtype=torch.int32, device=view.device)
            is_latest = place == place.amax(2, keepdim=True)
            latest = (row * is_latest).sum(2, dtype=torch.int32)
            parts.append(nn.functional.embedding(latest + offset, components).flatten(1))
        for number, (offset, values, shape) in enumerate(self._described):
            row, value = (
                view.index_select(1, getattr(self, f"described{number}")).unflatten(1, shape).unbind(1)
            )
            each = torch.arange(1, values + 1, dtype=torch.int32, device=view.device).unsqueeze(1)
            row = row.unsqueeze(2) * (value.unsqueeze(2) == each)
            found = nn.functional.embedding(row + offset, components)
            parts.append(found.sum(3).flatten(1))
        numbers = view.index_select(1, self.low) + self.carry * view.index_select(1, self.high)
        parts.append(numbers / self.usual)
        parts.append((view.index_select(1, self.hot_at) == self.hot_value).float())
        return torch.cat(parts, 1)

    def _register(self, name: str, dtype: type[np.generic], parts: Sequence[NDArray[np.generic]]) -> None:
        values = np.concatenate([np.zeros(0, dtype), *map(np.ravel, parts)]).astype(dtype)
        self.register_buffer(name, torch.from_numpy(values), persistent=False)


class Network(nn.Module):
    """A small policy and value network for any game.

    The query is the sum of two projections: of the hidden layers' output and of the encoded view. The key of
    an action sums a learned vector and a projection of its component's embedding. The action's verb selects
    this projection. A logit is the dot product of query and key, plus a bias. The direct projection of the
    view lets the query sum how components in play affect the named component, and how it affects them.

    Attributes:
        spec: The spec of the table that the network plays.
        facts: The keyword arguments of the constructor, to build a network of the same shape.
    """

    def __init__(self, spec: GameSpec, *, width: int = 32, hidden: int = 128, layers: int = 2) -> None:
        """Initializes a policy that is nearly uniform, and values of nearly 0.

        Args:
            spec: The spec of the table.
            width: The length of a component's embedding.
            hidden: The units of a hidden layer.
            layers: The number of hidden layers.
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
        # The same component scores differently for different verbs.
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
        """Computes the logits and values of positions.

        Args:
            view: `uint8[n, bytes]`, views of the deciding seats as the server sends them.

        Returns:
            The unmasked logits `float32[n, actions]`, and the values `float32[n]`.
        """
        components = self.components()
        encoded = self.encoder(view, components)
        hidden = self.body(encoded)
        query = self.query(hidden) + self.direct(encoded)
        # An action that names no component uses row 0 of the first table, whose weights are 0.
        named = components[self.row].unsqueeze(1) @ self.keys[self.verb]
        logits = query @ (named.squeeze(1) + self.own).T + self.bias
        return logits, self.value(hidden).squeeze(1)


def log_probabilities(logits: Tensor, mask: Tensor) -> Tensor:
    """Returns the log probabilities of legal actions, and hugely negative numbers for illegal ones.

    Args:
        logits: `float32[n, actions]`.
        mask: `[n, actions]`, nonzero for legal actions.
    """
    return logits.masked_fill(mask == 0, _ILLEGAL_LOGIT).log_softmax(1)


@torch.no_grad()
def sample(network: nn.Module, decisions: Decisions, *, best: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Chooses legal actions, as a `Learner` does.

    Args:
        network: A module on the CPU that returns logits and values, as `Network` does.
        decisions: The decisions.
        best: Whether to take the likeliest action instead of sampling one.

    Returns:
        The actions `int64[n]`, their log probabilities `float32[n]`, and the values `float32[n]`.
    """
    # Copies, because the arrays of a step are read-only and a tensor that shares their memory cannot be.
    logits, value = network(torch.tensor(decisions.view))
    chances = log_probabilities(logits, torch.tensor(decisions.mask))
    action = chances.argmax(1) if best else chances.exp().multinomial(1).squeeze(1)
    return action, chances.gather(1, action[:, None]).squeeze(1), value


def export(network: Network, file: str | os.PathLike[str]) -> None:
    """Writes a network to an ONNX file, for the server to play as `policy:NAME`.

    Args:
        network: The network. It is switched to evaluation mode.
        file: The path of the file, which ends in `.onnx`.
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


def _describes(field: ViewField, named: ViewField) -> bool:
    """Returns whether `field` is a category that describes each component of the bag or sequence `named`."""
    is_bag = any(axis.order != "places" and axis.size > 1 for axis in named.axes)
    return is_bag and field.kind == "category" and field.axes == named.axes


def _bags(field: ViewField) -> NDArray[np.intp]:
    """Returns the bytes of a field's bags, `[bags, values]`; a fixed place is a bag of one."""
    ordered = [at for at, axis in enumerate(field.axes) if axis.order == "places"]
    others = [at for at, axis in enumerate(field.axes) if axis.order != "places"]
    count = int(np.prod([field.shape[at] for at in ordered], dtype=np.intp))
    return field.bytes.transpose(ordered + others).reshape(count, -1)


def _sequences(field: ViewField) -> NDArray[np.intp]:
    """Returns the bytes of a field's sequences, `[sequences, places]`; empty without a sequence axis."""
    along = [at for at, axis in enumerate(field.axes) if axis.order == "sequence"]
    if not along:
        return np.zeros((0, 0), np.intp)
    others = [at for at in range(len(field.axes)) if at not in along]
    places = int(np.prod([field.shape[at] for at in along], dtype=np.intp))
    return field.bytes.transpose(others + along).reshape(-1, places)
