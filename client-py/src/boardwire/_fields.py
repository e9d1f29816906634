"""The fields of a view and the tables that the fields refer to, as the server describes them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: What the values of a field or column mean: a row of a table (0 is none), a count or a position on a track,
#: 0 or 1, a seat relative to the viewer (0 none, 1 the viewer, 2 the next clockwise; in the public view 1 is
#: seat 0), or one of a few named values.
ValueKind = Literal["id", "count", "flag", "seat", "category"]

#: What the places along an axis mean. `none`: nothing; the values are a multiset, sorted ascending with empty
#: values (0) last, and no other field refers to them by place. `sequence`: an order in time, such as rounds.
#: `places`: distinct places, such as seats, cells of a board or rows of a table.
AxisOrder = Literal["none", "sequence", "places"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a field.

    Attributes:
        name: What the axis counts: `seat` (all seats, clockwise from the viewer), `other seat` (the other
            seats clockwise), or a word such as `round`.
        size: The number of places.
        order: What the places mean.
        table: The table whose rows 1, 2, ... are the places of this axis; empty if the places are not
            rows of a table.
    """

    name: str
    size: int
    order: AxisOrder
    table: str

    @property
    def of_seats(self) -> bool:
        """Whether the axis counts seats."""
        return self.name in ("seat", "other seat")


@dataclass(frozen=True, slots=True)
class ViewField:
    """One named field of a view.

    Attributes:
        name: The field's name, such as `lines`.
        offset: The index of the field's first byte.
        axes: The dimensions, slowest first; empty for a single value.
        max: The largest possible value.
        usual_max: A bound that few values exceed in ordinary play: at most `max`, which can be far higher.
        copies: How many values of one seat can be the same row at the same time, for kind `id`; otherwise 1.
        kind: What the values mean.
        table: The table whose rows the values name, for kind `id`.
        names: The name of each value, for kind `category`.
        description: One sentence for people.
        shape: The sizes of the axes, slowest first; empty for a single value.
        width: The bytes of each value: 2, low byte first, if `max` exceeds 255; otherwise 1.
        size: The number of values.
    """

    name: str
    offset: int
    axes: tuple[Axis, ...]
    max: int
    usual_max: int
    copies: int
    kind: ValueKind
    table: str
    names: tuple[str, ...]
    description: str
    shape: tuple[int, ...] = field(init=False)
    width: int = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        """Computes `shape`, `width` and `size`, which decoding uses for every view."""
        shape = tuple(axis.size for axis in self.axes)
        counted = {"shape": shape, "width": 2 if self.max > 255 else 1, "size": math.prod(shape)}
        for name, value in counted.items():
            object.__setattr__(self, name, value)

    @property
    def bytes(self) -> NDArray[np.intp]:
        """`int[*shape]`: the index of each value's first byte, the low one, in a view."""
        return (self.offset + self.width * np.arange(self.size)).reshape(self.shape)

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """The type of the decoded values."""
        return np.dtype(np.uint16) if self.width == 2 else np.dtype(np.uint8)

    def decode(self, view: NDArray[np.uint8]) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Decodes this field of a view, or of a batch of views.

        Args:
            view: `uint8[..., bytes]`.

        Returns:
            `uint8[..., *shape]`, or `uint16` if `max` exceeds 255; 0 to `max`. One-byte values share the
            memory of `view`.
        """
        raw = view[..., self.offset : self.offset + self.size * self.width]
        shape = view.shape[:-1] + self.shape
        if self.width == 1:
            return raw.reshape(shape)
        wide = np.ascontiguousarray(raw).view("<u2").astype(np.uint16, copy=False)
        return wide.reshape(shape)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: The column's name, such as `duration`.
        kind: What the values mean.
        table: The table whose rows the values name, for kind `id`.
        names: The name of each value, for kind `category`.
    """

    name: str
    kind: ValueKind
    table: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentTable:
    """A table of the catalogue as a matrix: row `i` describes id `i`, row 0 (none) is all zero.

    Attributes:
        name: The table's name, which fields, actions and columns refer to.
        columns: The columns of the table.
        values: `int32[rows, columns]`, read-only.
    """

    name: str
    columns: tuple[Column, ...]
    values: NDArray[np.int32]
