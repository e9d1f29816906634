"""The fields of a view and the tables that they refer to, as the server describes them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: What the values of a field or column mean: the row of a table (0 is none), a number of things or a place on
#: a track, 0 or 1, a seat relative to the viewer (0 none, 1 the viewer, 2 the next clockwise; to the public 1
#: is seat 0), or one of a few named values.
ValueKind = Literal["id", "count", "flag", "seat", "category"]

#: What the places along an axis say. `none`: nothing, the values are a bag, ascending, what is empty (0)
#: last, and no other field refers to them by place. `sequence`: sooner and later, such as rounds. `places`:
#: which it is, such as seats, cells of a board or rows of a table.
AxisOrder = Literal["none", "sequence", "places"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a field.

    Attributes:
        name: What is counted along it: `seat` all seats, the viewer first, `other seat` the others clockwise,
            and words such as `round`.
        size: How many there are.
        order: What its places say.
        table: The table whose rows 1, 2, ... are counted along it; empty if it is none.
    """

    name: str
    size: int
    order: AxisOrder
    table: str

    @property
    def of_seats(self) -> bool:
        """Whether seats are counted along it."""
        return self.name in ("seat", "other seat")


@dataclass(frozen=True, slots=True)
class ViewField:
    """One named field of a view.

    Attributes:
        name: The name, such as `lines`.
        offset: The byte at which it begins.
        axes: Its dimensions, slowest first; none for a single value.
        max: The largest value.
        usual_max: What few values exceed in ordinary play: at most `max`, which can be far from it.
        copies: How many values of one seat can be the same row at once, for kind `id`; otherwise 1.
        kind: What the values mean.
        table: The table whose rows the values name, for kind `id`.
        names: The name of each value, for kind `category`.
        description: One sentence for people.
        shape: The sizes of its axes, slowest first; empty for a single value.
        width: Bytes of a value: 2, low byte first, where the largest exceeds 255; otherwise 1.
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
        """Counts once what every view is cut by."""
        shape = tuple(axis.size for axis in self.axes)
        counted = {"shape": shape, "width": 2 if self.max > 255 else 1, "size": math.prod(shape)}
        for name, value in counted.items():
            object.__setattr__(self, name, value)

    @property
    def bytes(self) -> NDArray[np.intp]:
        """Where each value begins in a view: `int[*shape]`, the low byte."""
        return (self.offset + self.width * np.arange(self.size)).reshape(self.shape)

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """The type of the decoded values."""
        return np.dtype(np.uint16) if self.width == 2 else np.dtype(np.uint8)

    def decode(self, view: NDArray[np.uint8]) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Cuts this field out of a view, or out of a batch of views.

        Args:
            view: `uint8[..., bytes]`.

        Returns:
            `uint8[..., *shape]`, or `uint16` where the largest value exceeds 255; 0 to `max`. One-byte
            values share the memory of `view`.
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
        name: What it holds, such as `duration`.
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
    """A part of the catalogue as a matrix: row `i` describes id `i`, row 0 (none) is all zero.

    Attributes:
        name: The table's name, which fields, actions and columns refer to.
        columns: What each column holds.
        values: `int32[rows, columns]`, read-only.
    """

    name: str
    columns: tuple[Column, ...]
    values: NDArray[np.int32]
