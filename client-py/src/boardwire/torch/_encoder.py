"""The encoding of views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from .._fields import ViewField
from .._spec import GameSpec

_Columns = NDArray[np.int64]


class Encoder(nn.Module):
    """A linear layer over all that a view says: it maps views, `uint8[n, bytes]`, to `float32[n, size]`.

    An encoded view is a sum of rows of one table. Each component, seat and category in the view adds a row,
    which depends on its place. The components of a bag or a sequence share their rows, since order does not
    count there. The latest component of a sequence adds a second row. If a category field describes each
    component of a bag or a sequence, the component also adds a row for its category. The row of a component
    is a projection of its embedding. Counts and flags, divided by `usual_max`, have weights of their own.

    A minibatch computes the table once, and a view only adds up rows. That is several times faster than an
    equal dense layer over the embeddings.

    ```python
    encoded = encoder(view, encoder.table(components()))
    ```
    """

    def __init__(self, spec: GameSpec, width: int, size: int) -> None:
        """Initializes the weights as `torch.nn.Linear` does.

        Args:
            spec: The spec of the table.
            width: The length of an embedding.
            size: The length of an encoded view.
        """
        super().__init__()
        fields = list(spec.fields.values())
        words = [field for field in fields if field.kind in ("seat", "category")]
        # A byte of the value v > 0 adds the row `start` + v. Row 0 is empty.
        simple, described, lines = list[_Columns](), list[_Columns](), list[tuple[_Columns, _Columns]]()
        # For each component table: the range of its rows in the embedding, and the number of projections.
        self._spans, used = list[tuple[int, int, int]](), 0
        for name, offset in spec.row_offsets.items():
            rows, first = len(spec.tables[name].values) - 1, used
            for field in (field for field in fields if field.kind == "id" and field.table == name):
                for bag in _bags(field):
                    simple.append(_columns(bag, used))
                    used += rows
                if len(line := _sequences(field)):
                    lines.append((line, used + rows * np.arange(len(line))))
                    used += rows * len(line)
                for other in (other for other in words if _describes(other, field)):
                    for bag, category in zip(_bags(field), _bags(other), strict=True):
                        described.append(_columns(bag, category, rows, used - rows))
                        used += rows * other.max
            self._spans.append((offset + 1, offset + 1 + rows, (used - first) // rows))
        projected = used
        for field in words:
            simple.append(_columns(field.bytes.ravel(), used + field.max * np.arange(field.size)))
            used += field.max * field.size
        numbers = [
            _columns(field.bytes.ravel(), field.width - 1, max(field.usual_max, 1))
            for field in fields
            if field.kind in ("count", "flag")
        ]
        self._lay_out(_stack(simple, 2), _stack(described, 4), lines, _stack(numbers, 3))
        inputs = sum(count for _, _, count in self._spans) * width + used - projected + len(self.usual)
        shapes = [(count, width, size) for _, _, count in self._spans]
        self.projections = nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in shapes)
        self.words = nn.Parameter(torch.empty(used - projected, size))
        self.weights = nn.Parameter(torch.empty(len(self.usual), size))
        self.bias = nn.Parameter(torch.empty(size))
        for weights in self.parameters():
            nn.init.uniform_(weights, -(inputs**-0.5), inputs**-0.5)

    def _lay_out(
        self, simple: _Columns, described: _Columns, lines: list[tuple[_Columns, _Columns]], numbers: _Columns
    ) -> None:
        """Registers the bytes of a view in the order of `forward`, and what it adds to them."""
        at, by, rows, first = described
        low, high, usual = numbers
        parts = [simple[0], at, by, low, low + high, *(line.ravel() for line, _ in lines)]
        self._sizes, self._shapes = [len(part) for part in parts], [line.shape for line, _ in lines]
        starts = [simple[1], *(start for _, start in lines), first]
        for name, values in {
            "bytes": np.concatenate(parts),
            "start": np.concatenate(starts).astype(np.int32),
            "rows": rows.astype(np.int32),
            "high": 256 * high.astype(np.int32),
            "usual": usual.astype(np.float32),
        }.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def table(self, components: Tensor) -> Tensor:
        """Returns the table, `float32[rows, size]`.

        Args:
            components: `float32[rows, width]`, the weights of `Components`.
        """
        parts = [torch.zeros_like(self.words[:1])]
        for (begin, end, _), projections in zip(self._spans, self.projections, strict=True):
            parts.append((components[begin:end] @ projections).flatten(0, 1))
        return torch.cat([*parts, self.words])

    def forward(self, view: Tensor, table: Tensor) -> Tensor:
        """Encodes views as `float32[n, size]`.

        Args:
            view: `uint8[n, bytes]`.
            table: The table.
        """
        used = view.index_select(1, self.bytes).int().split(self._sizes, 1)
        simple, at, by, low, high = used[:5]
        values = [simple]
        for line, shape in zip(used[5:], self._shapes, strict=True):
            line = line.unflatten(1, shape)
            place = (line > 0) * torch.arange(1, shape[1] + 1, dtype=torch.int32, device=view.device)
            values.append((line * (place == place.amax(2, keepdim=True))).sum(2, dtype=torch.int32))
        # A component without a category adds nothing.
        values.append((at + by * self.rows) * ((at > 0) & (by > 0)))
        value = torch.cat(values, 1)
        encoded = self._add_up(table, (value + self.start) * (value > 0))
        return torch.addmm(encoded + self.bias, (low + self.high * high) / self.usual, self.weights)

    @staticmethod
    def _add_up(table: Tensor, index: Tensor) -> Tensor:
        """Returns the sum of the rows of `table` that each row of `index` names."""
        if torch.compiler.is_exporting():
            # ONNX has no `embedding_bag`, and the server multiplies faster than it adds up.
            ones = torch.ones(1, index.shape[1])
            return (ones @ nn.functional.embedding(index, table)).squeeze(1)
        if not torch.is_grad_enabled():
            return nn.functional.embedding_bag(index, table, mode="sum")
        # The gradient takes time for each index, so leave out the empty rows.
        used = index > 0
        counts = used.sum(1, dtype=torch.int32)
        offsets = counts.cumsum(0, dtype=torch.int32) - counts
        return nn.functional.embedding_bag(index[used], table, offsets, mode="sum")


def _columns(*columns: ArrayLike) -> _Columns:
    """Returns columns of equal length, `int64[columns, values]`, from columns and numbers."""
    return np.stack(np.broadcast_arrays(*columns)).astype(np.int64)


def _stack(parts: Sequence[_Columns], columns: int) -> _Columns:
    """Returns `int64[columns, values]`, also without parts."""
    return np.concatenate([np.zeros((columns, 0), np.int64), *parts], axis=1)


def _describes(field: ViewField, named: ViewField) -> bool:
    """Returns whether `field` is a category that describes each component of the bag or sequence `named`."""
    is_bag = any(axis.order != "places" and axis.size > 1 for axis in named.axes)
    return is_bag and field.kind == "category" and field.axes == named.axes


def _bags(field: ViewField) -> _Columns:
    """Returns the bytes of a field's bags, `[bags, values]`; a fixed place is a bag of one."""
    ordered = [at for at, axis in enumerate(field.axes) if axis.order == "places"]
    others = [at for at, axis in enumerate(field.axes) if axis.order != "places"]
    count = int(np.prod([field.shape[at] for at in ordered], dtype=np.intp))
    bags: _Columns = field.bytes.transpose(ordered + others).reshape(count, -1)
    return bags


def _sequences(field: ViewField) -> _Columns:
    """Returns the bytes of a field's sequences, `[sequences, places]`; empty without a sequence axis."""
    along = [at for at, axis in enumerate(field.axes) if axis.order == "sequence"]
    if not along:
        return np.zeros((0, 0), np.int64)
    others = [at for at in range(len(field.axes)) if at not in along]
    places = int(np.prod([field.shape[at] for at in along], dtype=np.intp))
    sequences: _Columns = field.bytes.transpose(others + along).reshape(-1, places)
    return sequences
