"""Converts views to inputs of networks: features, or tokens for the components in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product, repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._fields import Axis, Column, ComponentTable, ViewField

#: The index of a value's first byte, and whether the value has a second byte.
_Value: TypeAlias = tuple[int, bool]
#: The block of features that a value selects one of: the feature for value 0, and the number of features.
_Block: TypeAlias = tuple[int, int]

# The first seat along each of these axes; 1 is the viewer, as in values of kind `seat`.
_OWNERS = {"seat": 1, "other seat": 2}


class FeatureLayout:
    """The layout of a view's features; `GameSpec.features` describes the features of each kind of field.

    Attributes:
        names: The name of each feature, such as `hand[regions 17]`.
        low: The smallest value of each feature: `float32[features]`, 0 or -1.
        high: The largest value of each feature: `float32[features]`, 1, or more where a number can exceed
            its usual maximum.
        row: `int32[features]`, the component that each feature is about, as an index into the concatenation
            of all tables, as in `GameSpec.action_rows`; -1 where it is about none. Read-only.
    """

    def __init__(
        self,
        fields: Iterable[ViewField],
        tables: Mapping[str, ComponentTable],
        row_offsets: Mapping[str, int],
    ) -> None:
        """Lays out the features of `fields`."""
        fields = tuple(fields)
        plan = _Plan(tables, row_offsets)
        # Each loop adds consecutive features.
        for field in fields:
            if field.kind in ("seat", "category"):
                plan.add_words(field)
            elif field.kind == "id" and field.copies == 1:
                plan.add_members(field)
        for field in fields:
            if field.kind == "id" and field.copies > 1:
                plan.add_copies(field)
        for name in tables:
            plan.add_described(name, [each for each in fields if each.kind == "id" and each.table == name])
        for field in fields:
            if field.kind in ("count", "flag"):
                plan.add_numbers(field)
        self._view_bytes = max(field.offset + field.size * field.width for field in fields)
        self._steps = plan.steps
        self.names = tuple(plan.names)
        self.low = np.array(plan.low, dtype=np.float32)
        self.high = np.array(plan.high, dtype=np.float32)
        self.row = np.array(plan.row, dtype=np.int32)
        self.row.flags.writeable = False
        self._writer = _core.Features(self._view_bytes, len(self.names), self._steps)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state without the extension's writer, which cannot move to another process."""
        return {name: value for name, value in vars(self).items() if name != "_writer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores the state and creates the extension's writer in this process."""
        vars(self).update(state)
        self._writer = _core.Features(self._view_bytes, len(self.names), self._steps)

    def __call__(
        self, view: NDArray[np.uint8], *, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Converts views to features.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, the array to write to. Without it, the call allocates one.

        Returns:
            `float32[..., features]`, from `low` to `high`: `out`, if given.

        Raises:
            ValueError: `out` has the wrong shape or type, or `view` has a value that the table excludes.
        """
        view = np.ascontiguousarray(view, dtype=np.uint8)
        if out is None:
            return self._writer(view)
        shape = (*view.shape[:-1], len(self.names))
        if out.dtype != np.float32 or out.shape != shape:
            raise ValueError(f"`out` must be float32{list(shape)}; got {out.dtype}{list(out.shape)}")
        if not out.flags.carray:
            out[...] = self._writer(view)
            return out
        return self._writer(view, out)


class _Plan:
    """The features that were added so far, and how the extension writes them.

    Attributes:
        names: The name of each feature.
        row: The component that each feature is about, as in `FeatureLayout.row`.
        low: The smallest value of each feature.
        high: The largest value of each feature.
        steps: What the extension writes, by kind of step.
    """

    def __init__(self, tables: Mapping[str, ComponentTable], row_offsets: Mapping[str, int]) -> None:
        self.names: list[str] = []
        self.row: list[int] = []
        self.low: list[float] = []
        self.high: list[float] = []
        kinds = ("ones", "copies", "greatest", "described", "numbers", "empty")
        self.steps: dict[str, list[Any]] = {kind: [] for kind in kinds}
        self._row_offsets = row_offsets
        self._described = {name: described(table, tables) for name, table in tables.items()}

    def _add(self, names: Sequence[str], row: ArrayLike, *, low: ArrayLike = 0.0, high: float = 1.0) -> int:
        """Adds features and returns the index of the first."""
        first = len(self.names)
        self.names += names
        self.row += np.broadcast_to(row, len(names)).tolist()
        self.low += np.broadcast_to(low, len(names)).tolist()
        self.high += [high] * len(names)
        return first

    def _add_blocks(
        self, field: ViewField, kept: Sequence[bool], ends: Sequence[str], row: ArrayLike
    ) -> list[_Block]:
        """Adds a block of features, one for each of `ends`, for each place along the axes with `kept` set.

        Returns:
            For each value of the field, the block of features that it belongs to.
        """
        blocks = _names(field, kept)
        names = [name + end for name in blocks for end in ends]
        first = self._add(names, np.broadcast_to(row, (len(blocks), len(ends))).ravel())
        sizes = [axis.size if keep else 1 for axis, keep in zip(field.axes, kept, strict=True)]
        numbers = np.arange(len(blocks)).reshape(sizes)
        zeros = first + len(ends) * np.broadcast_to(numbers, field.shape).ravel()
        return list(zip(zeros.tolist(), repeat(len(ends))))

    def add_words(self, field: ViewField) -> None:
        """Adds a one-hot for each value of a field of kind `seat` or `category`."""
        words = field.names if field.kind == "category" else range(field.max + 1)
        ends = [f".{word}" for word in words]
        row = _rows(field, self._row_offsets)[:, None]
        blocks = self._add_blocks(field, [True] * len(field.axes), ends, row)
        self.steps["ones"] += zip(_values(field), blocks, repeat(1.0))

    def _has_features_apart(self, field: ViewField) -> bool:
        """Returns whether one feature per row takes no more features than the columns of the table."""
        rows, width = self._described[field.table][1].shape
        return bool(rows <= width)

    def _add_rows(self, field: ViewField) -> list[_Block]:
        """Adds a feature for each row of the table, for each seat, and for each place if they are few."""
        ordered = _ordered(field) if self._has_features_apart(field) else ()
        kept = [axis.of_seats or axis.order in ordered for axis in field.axes]
        rows = np.arange(len(self._described[field.table][1]))
        ends = ["[none]", *(f"[{field.table} {row}]" for row in rows[1:])]
        return self._add_blocks(field, kept, ends, self._row_offsets[field.table] + rows)

    def add_members(self, field: ViewField) -> None:
        """Adds features that are 1 for each row present, else 0; in sequences 0.5 to 1 instead of 1."""
        blocks = self._add_rows(field)
        written = np.ones(field.shape)
        for index, axis in enumerate(field.axes):
            if axis.order == "sequence":
                written *= 0.5 + 0.5 * (np.indices(field.shape)[index] + 1) / axis.size
        self.steps["ones"] += zip(_values(field), blocks, written.ravel().tolist(), strict=True)
        if (written < 1).any():
            self._add_empty(field, blocks)

    def add_copies(self, field: ViewField) -> None:
        """Adds features for the number of copies of each row, divided by the largest possible number."""
        first = len(self.names)
        blocks = self._add_rows(field)
        features = range(first, len(self.names))
        together = field.size // len(set(blocks))
        self.steps["copies"] += zip(_values(field), blocks, strict=True)
        self.steps["greatest"] += zip(features, repeat(float(min(field.copies, together))))
        self._add_empty(field, blocks)

    def _add_empty(self, field: ViewField, blocks: Sequence[_Block]) -> None:
        """Sets the feature for 0 to 1 if the last place of its block is empty, else to 0.

        Sequences and copies need it: writing value by value there gives numbers other than 0 and 1.
        """
        last = {zero: value for value, (zero, _) in zip(_values(field), blocks, strict=True)}
        self.steps["empty"] += [(value, zero) for zero, value in last.items()]

    def add_described(self, table: str, fields: Iterable[ViewField]) -> None:
        """Adds, for each place of fields that name rows of a table, the columns of the component there."""
        ends, features = self._described[table]
        low = np.where((features < 0).any(axis=0), -1.0, 0.0)
        first, values = len(self.names), list[_Value]()
        for field in fields:
            has_places = any(axis.order in _ordered(field) and not axis.of_seats for axis in field.axes)
            if has_places and not self._has_features_apart(field):
                places = _names(field)
                self._add(
                    [place + end for place in places for end in ends], -1, low=np.tile(low, len(places))
                )
                values += _values(field)
        if values:
            step = {"first": first, "values": values, "table": features.tolist()}
            self.steps["described"].append(step)

    def add_numbers(self, field: ViewField) -> None:
        """Adds a feature for each value: a flag, or a number divided by the usual maximum of the field."""
        usual = max(field.usual_max, 1)
        row = _rows(field, self._row_offsets)
        first = self._add(_names(field), row, high=max(field.max, 1) / usual)
        self.steps["numbers"] += zip(_values(field), count(first), repeat(float(usual)))


def _ordered(field: ViewField) -> tuple[str, ...]:
    """Returns the orders of axes whose places get their own features."""
    # A row with several copies has no single place in a sequence: sequences count as places then.
    return ("places", "sequence") if field.copies > 1 else ("places",)


def _values(field: ViewField) -> list[_Value]:
    """Returns where the extension reads each value of a field."""
    return list(zip(field.bytes.ravel().tolist(), repeat(field.width == 2)))


def _names(field: ViewField, kept: Sequence[bool] | None = None) -> list[str]:
    """Returns the name of every value of a field, or one name per place along the axes with `kept` set."""
    places = [[_place(axis, index) for index in range(axis.size)] for axis in field.axes]
    if kept is not None:
        places = [some if keep else [""] for some, keep in zip(places, kept, strict=True)]
    return [field.name + "".join(parts) for parts in product(*places)]


def _place(axis: Axis, index: int) -> str:
    return f"[{axis.table} {index + 1}]" if axis.table else f"[{index}]"


def _along(field: ViewField, axis: int, values: NDArray[np.intp]) -> NDArray[np.intp]:
    """Returns values along one axis of a field in a shape that broadcasts to the field's."""
    return values.reshape([-1 if axis == other else 1 for other in range(len(field.axes))])


def _rows(field: ViewField, row_offsets: Mapping[str, int]) -> NDArray[np.intp]:
    """Returns for each value of a field the table row that its index along the axis names; -1 for none.

    A row is a number in the concatenation of all tables.
    """
    rows = np.full(field.shape, -1)
    for index, axis in enumerate(field.axes):
        if axis.table:
            rows[...] = _along(field, index, row_offsets[axis.table] + 1 + np.arange(axis.size))
    return rows.ravel()


def described(
    table: ComponentTable, tables: Mapping[str, ComponentTable]
) -> tuple[list[str], NDArray[np.float32]]:
    """Returns the name suffixes and the features of a table's rows: `float32[rows, features]`, -1 to 1."""
    names, columns = list[str](), [np.empty((len(table.values), 0), np.float32)]
    for index, column in enumerate(table.columns):
        ends, values = _describe(column, table.values[:, index], tables)
        # Row 0 means no component, so it must not get the first name of each column.
        values[0] = 0
        used = np.flatnonzero(values.any(axis=0)).tolist()
        names += [f".{column.name}{ends[end]}" for end in used]
        columns.append(values[:, used].astype(np.float32))
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


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """The components in views, as tokens; a given position in the view always has the same token index.

    Attributes:
        row: `int32[..., tokens]`, the component's index into the concatenation of all tables, as in
            `GameSpec.row_offsets`; for an empty place the index of row 0 of its table.
        mask: `bool[..., tokens]`, whether the place contains a component.
    """

    row: NDArray[np.int32]
    mask: NDArray[np.bool_]


class EntityLayout:
    """The layout of a view's tokens: one for each value of kind `id`, in the order of the fields.

    Attributes:
        field: `int16[tokens]`, the index of the token's field in `GameSpec.fields`.
        table: `int16[tokens]`, the index of the token's table in `GameSpec.tables`.
        owner: `int8[tokens]`, the seat that the value belongs to: 1 the viewer, 2 the next clockwise; 0 if
            the field has no axis of seats.
        slot: `int16[tokens]`, the place along the field's other axes, the last axis fastest.
    """

    def __init__(
        self,
        fields: Iterable[ViewField],
        tables: Mapping[str, ComponentTable],
        row_offsets: Mapping[str, int],
    ) -> None:
        """Lays out the tokens of `fields`."""
        numbers = {name: number for number, name in enumerate(tables)}
        parts = [(number, field) for number, field in enumerate(fields) if field.kind == "id"]

        def each(values: Iterable[NDArray[np.intp]]) -> NDArray[np.intp]:
            return np.concatenate([np.arange(0), *values])

        # No table has more than 255 rows, so each id fits in one byte.
        self._bytes = each(field.bytes.ravel() for _, field in parts)
        first = each(np.full(field.size, row_offsets[field.table]) for _, field in parts)
        self._first = first.astype(np.int32)
        self.field = each(np.full(field.size, number) for number, field in parts).astype(np.int16)
        self.table = each(np.full(field.size, numbers[field.table]) for _, field in parts).astype(np.int16)
        self.owner = each(_owners(field) for _, field in parts).astype(np.int8)
        self.slot = each(_slots(field) for _, field in parts).astype(np.int16)

    def __call__(self, view: NDArray[np.uint8]) -> Entities:
        """Converts views, `uint8[..., bytes]`, to tokens."""
        ids = view.take(self._bytes, axis=-1)
        return Entities(row=ids + self._first, mask=ids > 0)


def _owners(field: ViewField) -> NDArray[np.intp]:
    """Returns the owner of each value."""
    owners = np.zeros(field.shape, dtype=np.intp)
    for index, axis in enumerate(field.axes):
        if axis.name in _OWNERS:
            owners += _along(field, index, _OWNERS[axis.name] + np.arange(axis.size))
    return owners.ravel()


def _slots(field: ViewField) -> NDArray[np.intp]:
    """Returns a flat index for each value of a field: values that differ only in their seat share it."""
    sizes = [1 if axis.name in _OWNERS else axis.size for axis in field.axes]
    places = np.arange(int(np.prod(sizes, dtype=np.intp))).reshape(sizes)
    return np.broadcast_to(places, field.shape).ravel()
