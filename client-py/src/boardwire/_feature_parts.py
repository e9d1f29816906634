"""The parts of the features: what each is named, and how the extension writes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from ._fields import Axis, Column, ComponentTable, ViewField

_Index = NDArray[np.intp]

#: The first byte of a value, and whether another one follows it.
_Value: TypeAlias = tuple[int, bool]
#: The features that a value may be about: the first, for 0, and how many there are.
_Block: TypeAlias = tuple[int, int]


class Plan(TypedDict):
    """What `_core.Features` writes, value by value."""

    ones: list[tuple[_Value, _Block, float]]
    copies: list[tuple[_Value, _Block]]
    greatest: list[tuple[int, float]]
    described: list[_Described]
    numbers: list[tuple[_Value, int, float]]
    empty: list[tuple[int, int]]


class _Described(TypedDict):
    """Components described side by side, from a first feature on."""

    first: int
    values: list[_Value]
    table: list[list[float]]


class Part(ABC):
    """Features that stand side by side and are written alike.

    Attributes:
        names: Their names.
        low: The least value of each.
        high: The largest value of each.
        row: The component that each tells of, among the rows of all tables; -1 for none.
    """

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Begins without features; `row_offsets` says where the rows of each table begin."""
        self.names: list[str] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.row: list[int] = []
        self._row_offsets = row_offsets
        self._fields: list[ViewField] = []

    def _append(self, names: Sequence[str], row: _Index | int, high: float = 1) -> int:
        """Appends features; gives the number of the first in the part."""
        first = len(self.names)
        self.names += names
        self.row += np.broadcast_to(row, len(names)).tolist()
        self.low += [0] * len(names)
        self.high += [high] * len(names)
        return first

    def lay_out(self, first: int, features: int) -> None:
        """Takes its place among all the features, from `first` on."""
        self._columns = slice(first, first + len(self.names))
        self._bytes = np.concatenate([np.arange(0), *(field.bytes.ravel() for field in self._fields)])
        self._wide = np.flatnonzero(self._of_each(lambda field: field.width == 2))

    def _of_each(self, about: Callable[[ViewField], int]) -> _Index:
        """What is so of the field of each value."""
        return np.concatenate([np.arange(0), *(np.full(field.size, about(field)) for field in self._fields)])

    def _planned(self) -> list[_Value]:
        """Where the extension finds the values of the part."""
        wide = np.isin(np.arange(len(self._bytes)), self._wide)
        return list(zip(self._bytes.tolist(), wide.tolist(), strict=True))

    @abstractmethod
    def plan(self, plan: Plan) -> None:
        """Adds the part to what the extension writes."""


class _Members(Part):
    """Features of which each value of a view says which one it is about."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        super().__init__(row_offsets)
        # For each value the feature that it is about when it is 0, and how many there are.
        self._zero: list[_Index] = []
        self._sizes: list[_Index] = []
        self._nones = _Nones()

    def _add(self, field: ViewField, kept: Sequence[bool], ends: Sequence[str], row: _Index) -> None:
        """Adds a feature for each value there can be, for each place along the axes kept."""
        blocks = _names(field, kept)
        names = [name + end for name in blocks for end in ends]
        first = self._append(names, np.broadcast_to(row, (len(blocks), len(ends))).ravel())
        self._zero.append(first + len(ends) * _blocks(field, kept))
        self._sizes.append(np.full(field.size, len(ends)))
        self._fields.append(field)

    def _add_members(self, field: ViewField, kept: Sequence[bool], rows: int) -> None:
        ends = ["[none]", *(f"[{field.table} {row}]" for row in range(1, rows))]
        self._add(field, kept, ends, self._row_offsets[field.table] + np.arange(rows))

    def lay_out(self, first: int, features: int) -> None:
        super().lay_out(first, features)
        self._first = first + np.concatenate(self._zero)
        self._size = np.concatenate(self._sizes)
        self._nones.lay_out(first)

    def _planned_blocks(self) -> list[_Block]:
        return list(zip(self._first.tolist(), self._size.tolist(), strict=True))


class Ones(_Members):
    """Ones among zeros: the rows, seats and names that there are; of sequences, more than a half."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Begins without features."""
        super().__init__(row_offsets)
        self._value: list[NDArray[np.float64]] = []

    def add_members(self, field: ViewField, kept: Sequence[bool], rows: int) -> None:
        """Adds which of the `rows` of its table a field has, for each place along the axes kept."""
        self._add_members(field, kept, rows)
        value = np.ones(field.shape)
        for at, axis in enumerate(field.axes):
            if axis.order == "sequence":
                value *= 0.5 + 0.5 * (np.indices(field.shape)[at] + 1) / axis.size
        self._value.append(value.ravel())
        if (value < 1).any():
            self._nones.add(field, self._zero[-1])

    def add_words(self, field: ViewField) -> None:
        """Adds a one-hot for each value of a field of seats or names."""
        words = field.names if field.kind == "category" else range(field.max + 1)
        row = _rows(field, self._row_offsets)[:, None]
        self._add(field, [True] * len(field.axes), [f".{word}" for word in words], row)
        self._value.append(np.ones(field.size))

    def lay_out(self, first: int, features: int) -> None:
        super().lay_out(first, features)
        self._written = np.concatenate(self._value).astype(np.float32)

    def plan(self, plan: Plan) -> None:
        plan["ones"] += zip(self._planned(), self._planned_blocks(), self._written.tolist(), strict=True)
        plan["empty"] += self._nones.planned()


class Copies(_Members):
    """How many copies of each row there are, divided by the most there can be."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Begins without features."""
        super().__init__(row_offsets)
        self._most: list[int] = []

    def add_members(self, field: ViewField, kept: Sequence[bool], rows: int) -> None:
        """Adds how often a field has each of the `rows` of its table, for each place along the axes kept."""
        known = len(self.names)
        self._add_members(field, kept, rows)
        together = field.size * rows // (len(self.names) - known)
        self._most += [min(field.copies, together)] * (len(self.names) - known)
        self._nones.add(field, self._zero[-1])

    def lay_out(self, first: int, features: int) -> None:
        super().lay_out(first, features)
        self._greatest = np.array(self._most, dtype=np.float32)

    def plan(self, plan: Plan) -> None:
        plan["copies"] += zip(self._planned(), self._planned_blocks(), strict=True)
        plan["greatest"] += enumerate(self._greatest.tolist(), self._columns.start)
        plan["empty"] += self._nones.planned()


class _Nones:
    """Whether the last place of a block of features is empty, where what is scattered does not tell."""

    def __init__(self) -> None:
        self._bytes: list[_Index] = []
        self._feature: list[_Index] = []

    def add(self, field: ViewField, feature: _Index) -> None:
        """Adds a field of which `feature` is the one for what is empty, for each value."""
        blocks, last = np.unique(feature[::-1], return_index=True)
        self._feature.append(blocks)
        self._bytes.append(field.offset + field.size - 1 - last)

    def lay_out(self, first: int) -> None:
        """Takes the first feature of the part."""
        if self._feature:
            self._columns = first + np.concatenate(self._feature)
            self._last = np.concatenate(self._bytes)

    def planned(self) -> list[tuple[int, int]]:
        """The byte that each is told by, and its feature."""
        if not self._feature:
            return []
        return list(zip(self._last.tolist(), self._columns.tolist(), strict=True))


class Described(Part):
    """What a table says of the component in each place.

    Attributes:
        rows: How many rows the table has, row 0 included.
        width: How many features a place has.
    """

    def __init__(self, table: ComponentTable, tables: Mapping[str, ComponentTable]) -> None:
        """Begins without places."""
        super().__init__({})
        self._ends, self._table = described(table, tables)
        self.rows, self.width = self._table.shape

    def add(self, field: ViewField) -> None:
        """Adds every place of a field."""
        places = _names(field)
        first = self._append([place + end for place in places for end in self._ends], -1)
        self.low[first:] = np.tile(np.where((self._table < 0).any(axis=0), -1.0, 0.0), len(places)).tolist()
        self._fields.append(field)

    def plan(self, plan: Plan) -> None:
        plan["described"].append(
            {"first": self._columns.start, "values": self._planned(), "table": self._table.tolist()}
        )


class Numbers(Part):
    """Numbers, divided by what few of them exceed, and flags."""

    def add(self, field: ViewField) -> None:
        """Adds every value of a field."""
        usual = max(field.usual_max, 1)
        self._append(_names(field), _rows(field, self._row_offsets), high=max(field.max, 1) / usual)
        self._fields.append(field)

    def lay_out(self, first: int, features: int) -> None:
        super().lay_out(first, features)
        self._usual = self._of_each(lambda field: max(field.usual_max, 1)).astype(np.float32)

    def plan(self, plan: Plan) -> None:
        features = range(self._columns.start, self._columns.stop)
        plan["numbers"] += zip(self._planned(), features, self._usual.tolist(), strict=True)


def _names(field: ViewField, kept: Sequence[bool] | None = None) -> list[str]:
    """The name of every value of a field, or of all that differ along its other axes."""
    places = [[_place(axis, at) for at in range(axis.size)] for axis in field.axes]
    if kept is not None:
        places = [some if keep else [""] for some, keep in zip(places, kept, strict=True)]
    return [field.name + "".join(parts) for parts in product(*places)]


def _place(axis: Axis, at: int) -> str:
    return f"[{axis.table} {at + 1}]" if axis.table else f"[{at}]"


def _blocks(field: ViewField, kept: Sequence[bool]) -> _Index:
    """For every value the number of its name."""
    sizes = [axis.size if keep else 1 for axis, keep in zip(field.axes, kept, strict=True)]
    blocks = np.arange(np.prod(sizes, dtype=np.intp)).reshape(sizes)
    return np.broadcast_to(blocks, field.shape).ravel()


def _rows(field: ViewField, row_offsets: Mapping[str, int]) -> _Index:
    """For every value the component that it is about."""
    rows = np.full(field.shape, -1)
    for at, axis in enumerate(field.axes):
        if axis.table:
            counted = row_offsets[axis.table] + 1 + np.arange(axis.size)
            rows[...] = counted.reshape([-1 if at == other else 1 for other in range(rows.ndim)])
    return rows.ravel()


def described(
    table: ComponentTable, tables: Mapping[str, ComponentTable]
) -> tuple[list[str], NDArray[np.float32]]:
    """The ends of names, and what a table says of each row under them: `float32[rows, features]`, -1 to 1."""
    names, columns = list[str](), [np.empty((len(table.values), 0), np.float32)]
    for at, column in enumerate(table.columns):
        ends, values = _describe(column, table.values[:, at], tables)
        # Row 0 is nothing at all, not the first name of each column.
        values[0] = 0
        told = np.flatnonzero(values.any(axis=0)).tolist()
        names += [f".{column.name}{ends[end]}" for end in told]
        columns.append(values[:, told].astype(np.float32))
    return names, np.concatenate(columns, axis=1)


def _describe(
    column: Column, values: NDArray[np.int32], tables: Mapping[str, ComponentTable]
) -> tuple[Sequence[str], NDArray[np.float64]]:
    """What a column says of each row, `[rows, features]`, and the ends of the names of these features."""
    if column.kind in ("count", "flag"):
        return [""], (values / max(np.abs(values).max(), 1))[:, None]
    if column.kind == "id":
        size = len(tables[column.table].values)
        ends = ["[none]", *(f"[{column.table} {row}]" for row in range(1, size))]
    else:
        ends = [f".{name}" for name in column.names]
    return ends, np.eye(len(ends))[values]
