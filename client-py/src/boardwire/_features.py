"""Views as float features: a few gathers over a whole batch, with no loop over rows or values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._spec import ComponentTable, ViewField

_Index = NDArray[np.intp]


class FeatureLayout:
    """Where every value of a view goes among the features.

    Attributes:
        names: The name of each feature, such as `hand[0].duration`.
        low: The least value of each feature: `float32[features]`, 0 or -1.
        high: The largest value of each feature: `float32[features]`, 1.
    """

    def __init__(self, fields: Iterable[ViewField], tables: Mapping[str, ComponentTable]) -> None:
        """Lays out the features of `fields`."""
        names: list[str] = []
        low_bytes, wide = _Indices(), _Indices()
        scaled, columns_scaled, factors = _Indices(), _Indices(), list[float]()
        hot, columns_hot, places = _Indices(), _Indices(), _Indices()
        ids = {name: (_Indices(), _Indices()) for name in tables}
        for field in fields:
            values = low_bytes.end + np.arange(field.size)
            low_bytes.add(field.offset + field.width * np.arange(field.size))
            if field.width == 2:
                wide.add(values)
            parts = _parts(field, tables)
            columns = len(names) + np.arange(field.size * len(parts))
            names += [value + part for value in _values(field) for part in parts]
            if field.kind == "id":
                ids[field.table][0].add(values)
                ids[field.table][1].add(columns)
            elif field.kind in ("seat", "category"):
                hot.add(np.repeat(values, len(parts)))
                columns_hot.add(columns)
                places.add(np.tile(np.arange(len(parts)), field.size))
            else:
                scaled.add(values)
                columns_scaled.add(columns)
                factors += [max(field.max, 1)] * field.size
        self.names = tuple(names)
        self._bytes, self._wide = low_bytes.all(), wide.all()
        self._scaled = scaled.all(), _runs(columns_scaled.all()), np.array(factors, dtype=np.float32)
        self._hot = hot.all(), _runs(columns_hot.all()), places.all().astype(np.uint16)
        by_table = [
            (_in_unit_range(tables[name].values), values.all(), columns.all())
            for name, (values, columns) in ids.items()
            if values.end
        ]
        self._ids = [(table, values, _runs(columns)) for table, values, columns in by_table]
        self.low = np.zeros(len(names), dtype=np.float32)
        self.high = np.ones(len(names), dtype=np.float32)
        for table, values, columns in by_table:
            self.low[columns] = np.tile(np.where((table < 0).any(axis=0), -1, 0), len(values))

    def __call__(
        self, view: NDArray[np.uint8], *, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Turns views into features.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, where they are to be written; fresh memory when left out.

        Returns:
            `float32[..., features]`, from `low` to `high`: `out`, if it was given.

        Raises:
            ValueError: `out` has another shape or type.
        """
        shape = (*view.shape[:-1], len(self.names))
        if out is None:
            out = np.empty(shape, dtype=np.float32)
        elif out.dtype != np.float32 or out.shape != shape:
            raise ValueError(f"out is float32{list(shape)}, not {out.dtype}{list(out.shape)}")
        values = view.take(self._bytes, axis=-1).astype(np.uint16)
        if self._wide.size:
            high = view.take(self._bytes[self._wide] + 1, axis=-1).astype(np.uint16)
            values[..., self._wide] |= high << np.uint16(8)

        def put(runs: list[tuple[slice, slice]], part: NDArray[np.float32] | NDArray[np.bool_]) -> None:
            for source, columns in runs:
                out[..., columns] = part[..., source]

        sources, runs, factors = self._scaled
        put(runs, np.divide(values.take(sources, axis=-1), factors, dtype=np.float32))
        sources, runs, places = self._hot
        put(runs, values.take(sources, axis=-1) == places)
        for table, sources, runs in self._ids:
            rows = table.take(values.take(sources, axis=-1), axis=0)
            put(runs, rows.reshape(*view.shape[:-1], len(sources) * table.shape[1]))
        return out


class _Indices:
    """Index arrays, one behind the other."""

    def __init__(self) -> None:
        self._parts: list[_Index] = [np.arange(0)]
        self.end = 0

    def add(self, part: _Index) -> None:
        self._parts.append(part)
        self.end += len(part)

    def all(self) -> _Index:
        return np.concatenate(self._parts)


def _runs(columns: _Index) -> list[tuple[slice, slice]]:
    """Columns as slices, each with its place among the columns: far faster than an index for each."""
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    bounds = [0, *breaks.tolist(), len(columns)]
    return [
        (slice(first, end), slice(int(columns[first]), int(columns[first]) + end - first))
        for first, end in pairwise(bounds)
        if end > first
    ]


def _parts(field: ViewField, tables: Mapping[str, ComponentTable]) -> Sequence[str]:
    """The ends of the names of one value's features."""
    if field.kind == "id":
        return [f".{column.name}" for column in tables[field.table].columns]
    if field.kind == "category":
        return [f".{name}" for name in field.names]
    if field.kind == "seat":
        return [f".{seat}" for seat in range(field.max + 1)]
    return [""]


def _values(field: ViewField) -> list[str]:
    return [field.name + "".join(f"[{i}]" for i in index) for index in product(*map(range, field.shape))]


def _in_unit_range(table: NDArray[np.int32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (table / np.maximum(np.abs(table).max(axis=0), 1)).astype(np.float32)
    return scaled
