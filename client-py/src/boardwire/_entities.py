"""Converts the components that views name to tokens, for networks with attention over components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._fields import ComponentTable, ViewField

# The first seat along each of these axes; 1 is the viewer, as in values of kind `seat`.
_OWNERS = {"seat": 1, "other seat": 2}


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
    for at, axis in enumerate(field.axes):
        if axis.name in _OWNERS:
            counted = _OWNERS[axis.name] + np.arange(axis.size)
            owners += counted.reshape([-1 if at == other else 1 for other in range(len(field.axes))])
    return owners.ravel()


def _slots(field: ViewField) -> NDArray[np.intp]:
    """Returns a flat index for each value of a field: values that differ only in their seat share it."""
    sizes = [1 if axis.name in _OWNERS else axis.size for axis in field.axes]
    places = np.arange(int(np.prod(sizes, dtype=np.intp))).reshape(sizes)
    return np.broadcast_to(places, field.shape).ravel()
