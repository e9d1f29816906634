"""The groups of features: their names, and the plan by which the extension writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from ._fields import Axis, Column, ComponentTable, ViewField

_Index = NDArray[np.intp]

#: The index of a value's first byte, and whether the value has a second byte.
_Value: TypeAlias = tuple[int, bool]
#: The block of features that a value selects one of: the feature for value 0, and the number of features.
_Block: TypeAlias = tuple[int, int]


class Plan(TypedDict):
    """The plan of what `_core.Features` writes for each value."""

    ones: list[tuple[_Value, _Block, float]]
    copies: list[tuple[_Value, _Block]]
    greatest: list[tuple[int, float]]
    described: list[_Described]
    numbers: list[tuple[_Value, int, float]]
    empty: list[tuple[int, int]]


class _Described(TypedDict):
    """The places of a `Described` part, whose features are consecutive from `first` on."""

    first: int
    values: list[_Value]
    table: list[list[float]]


class Part(ABC):
    """Consecutive features that the extension writes in the same way.

    Attributes:
        names: The name of each feature.
        low: The smallest value of each feature.
        high: The largest value of each feature.
        row: The component that each feature is about, as an index into the concatenation of all tables; -1
            for none.
    """

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Creates a part without features; `row_offsets` gives the index of each table's first row."""
        self.names: list[str] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.row: list[int] = []
        self._row_offsets = row_offsets
        self._fields: list[ViewField] = []

    def _append(self, names: Sequence[str], row: _Index | int, high: float = 1) -> int:
        """Appends features and returns the index of the first in the part."""
        first = len(self.names)
        self.names += names
        self.row += np.broadcast_to(row, len(names)).tolist()
        self.low += [0] * len(names)
        self.high += [high] * len(names)
        return first

    def lay_out(self, first: int, features: int) -> None:
        """Sets the part's place among all features: consecutive from `first` on."""
        self._columns = slice(first, first + len(self.names))
        self._bytes = np.concatenate([np.arange(0), *(field.bytes.ravel() for field in self._fields)])
        self._wide = np.flatnonzero(self._of_each(lambda field: field.width == 2))

    def _of_each(self, about: Callable[[ViewField], int]) -> _Index:
        """Returns for each value of the part the result of `about` for the value's field."""
        return np.concatenate([np.arange(0), *(np.full(field.size, about(field)) for field in self._fields)])

    def _planned(self) -> list[_Value]:
        """Returns where the extension reads each value of the part."""
        wide = np.isin(np.arange(len(self._bytes)), self._wide)
        return list(zip(self._bytes.tolist(), wide.tolist(), strict=True))

    @abstractmethod
    def plan(self, plan: Plan) -> None:
        """Adds the part to the plan."""


class _Members(Part):
    """Features in blocks: each value of a view selects one feature of its block."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        super().__init__(row_offsets)
        # For each value the feature for 0, which is the first of its block, and the size of the block.
        self._zero: list[_Index] = []
        self._sizes: list[_Index] = []
        self._nones = _Nones()

    def _add(self, field: ViewField, kept: Sequence[bool], ends: Sequence[str], row: _Index) -> None:
        """Adds a feature for each possible value, for each place along the axes with `kept` set."""
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
    """Features that are 1 for each row, seat or name present, else 0; in sequences 0.5 to 1 instead of 1."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Creates a part without features."""
        super().__init__(row_offsets)
        self._value: list[NDArray[np.float64]] = []

    def add_members(self, field: ViewField, kept: Sequence[bool], rows: int) -> None:
        """Adds a feature for each of the table's `rows`, for each place along the axes with `kept` set."""
        self._add_members(field, kept, rows)
        value = np.ones(field.shape)
        for at, axis in enumerate(field.axes):
            if axis.order == "sequence":
                value *= 0.5 + 0.5 * (np.indices(field.shape)[at] + 1) / axis.size
        self._value.append(value.ravel())
        if (value < 1).any():
            self._nones.add(field, self._zero[-1])

    def add_words(self, field: ViewField) -> None:
        """Adds a one-hot for each value of a field of kind `seat` or `category`."""
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
    """Features that give the number of copies of each row, divided by the largest possible number."""

    def __init__(self, row_offsets: Mapping[str, int]) -> None:
        """Creates a part without features."""
        super().__init__(row_offsets)
        self._most: list[int] = []

    def add_members(self, field: ViewField, kept: Sequence[bool], rows: int) -> None:
        """Adds a copy count for each of the table's `rows`, for each place along the axes with `kept` set."""
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
    """Features that are 1 if the last place of a block is empty, else 0.

    Sequences and copies need them: writing value by value there gives numbers other than 0 and 1.
    """

    def __init__(self) -> None:
        self._bytes: list[_Index] = []
        self._feature: list[_Index] = []

    def add(self, field: ViewField, feature: _Index) -> None:
        """Adds a field; `feature` gives for each value the feature of its block for an empty place."""
        blocks, last = np.unique(feature[::-1], return_index=True)
        self._feature.append(blocks)
        self._bytes.append(field.offset + field.size - 1 - last)

    def lay_out(self, first: int) -> None:
        """Sets the features' places among all features; the part begins at `first`."""
        if self._feature:
            self._columns = first + np.concatenate(self._feature)
            self._last = np.concatenate(self._bytes)

    def planned(self) -> list[tuple[int, int]]:
        """Returns for each block the byte of its last value, and its feature for an empty place."""
        if not self._feature:
            return []
        return list(zip(self._last.tolist(), self._columns.tolist(), strict=True))


class Described(Part):
    """Features that describe the component in each place by the columns of its table.

    Attributes:
        rows: The number of rows of the table, including row 0.
        width: The number of features of each place.
    """

    def __init__(self, table: ComponentTable, tables: Mapping[str, ComponentTable]) -> None:
        """Creates a part without places."""
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
    """Features for flags, and for numbers divided by the usual maximum of their field."""

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
    """Returns the name of every value of a field, or one name per place along the axes with `kept` set."""
    places = [[_place(axis, at) for at in range(axis.size)] for axis in field.axes]
    if kept is not None:
        places = [some if keep else [""] for some, keep in zip(places, kept, strict=True)]
    return [field.name + "".join(parts) for parts in product(*places)]


def _place(axis: Axis, at: int) -> str:
    return f"[{axis.table} {at + 1}]" if axis.table else f"[{at}]"


def _blocks(field: ViewField, kept: Sequence[bool]) -> _Index:
    """Returns for each value the index of its name in `_names(field, kept)`."""
    sizes = [axis.size if keep else 1 for axis, keep in zip(field.axes, kept, strict=True)]
    blocks = np.arange(np.prod(sizes, dtype=np.intp)).reshape(sizes)
    return np.broadcast_to(blocks, field.shape).ravel()


def _rows(field: ViewField, row_offsets: Mapping[str, int]) -> _Index:
    """Returns for each value the component that its place stands for, as in `Part.row`."""
    rows = np.full(field.shape, -1)
    for at, axis in enumerate(field.axes):
        if axis.table:
            counted = row_offsets[axis.table] + 1 + np.arange(axis.size)
            rows[...] = counted.reshape([-1 if at == other else 1 for other in range(rows.ndim)])
    return rows.ravel()


def described(
    table: ComponentTable, tables: Mapping[str, ComponentTable]
) -> tuple[list[str], NDArray[np.float32]]:
    """Returns the name suffixes and the features of a table's rows: `float32[rows, features]`, -1 to 1."""
    names, columns = list[str](), [np.empty((len(table.values), 0), np.float32)]
    for at, column in enumerate(table.columns):
        ends, values = _describe(column, table.values[:, at], tables)
        # Row 0 means no component, so it must not get the first name of each column.
        values[0] = 0
        told = np.flatnonzero(values.any(axis=0)).tolist()
        names += [f".{column.name}{ends[end]}" for end in told]
        columns.append(values[:, told].astype(np.float32))
    return names, np.concatenate(columns, axis=1)


def _describe(
    column: Column, values: NDArray[np.int32], tables: Mapping[str, ComponentTable]
) -> tuple[Sequence[str], NDArray[np.float64]]:
    """Returns the name suffixes and the features of each row for one column: `[rows, features]`."""
    if column.kind in ("count", "flag"):
        return [""], (values / max(np.abs(values).max(), 1))[:, None]
    if column.kind == "id":
        size = len(tables[column.table].values)
        ends = ["[none]", *(f"[{column.table} {row}]" for row in range(1, size))]
    else:
        ends = [f".{name}" for name in column.names]
    return ends, np.eye(len(ends))[values]
