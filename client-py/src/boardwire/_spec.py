"""What can be played, and how a view is laid out.

A table of a game (seats and options chosen) is described once by its `GameSpec`; after that, steps carry
bytes. A view is cut into named fields, and turned into features, as the description says: nothing here
knows a game.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._entities import Entities, EntityLayout
from ._features import FeatureLayout

#: What the values of a field or column mean: the row of a table (0 is none), a number of things or a place on
#: a track, 0 or 1, a seat relative to the viewer (0 none, 1 the viewer, 2 the next clockwise; to the public 1
#: is seat 0), or one of a few named values.
ValueKind = Literal["id", "count", "flag", "seat", "category"]


@dataclass(frozen=True, slots=True)
class GameOption:
    """An option of a match.

    Attributes:
        name: Its name.
        description: One sentence on what it does.
        default: The value when none is given.
        choices: The values it takes, where they are few words.
        min: The least whole number it takes, where it takes numbers.
        max: The greatest whole number it takes, where it takes numbers.
    """

    name: str
    description: str
    default: str
    choices: tuple[str, ...]
    min: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Game:
    """What is known of a game before seats and options are chosen.

    Attributes:
        id: The id everywhere, such as `golden_compass`.
        name: The name on the box.
        rules_version: Moves when the same actions no longer give the same states.
        min_seats: The fewest seats it is played by.
        max_seats: The most seats it is played by.
        options: The options of a match.
        catalogue_digest: The BLAKE3 digest of the components: 64 hexadecimal digits.
        provenance: Where the values of each section of the catalogue were read.
    """

    id: str
    name: str
    rules_version: int
    min_seats: int
    max_seats: int
    options: tuple[GameOption, ...]
    catalogue_digest: str
    provenance: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action: what people read, and what it does to which row of which table.

    Attributes:
        label: The words for it; no other action of the game has the same.
        verb: What it does, such as `draft`.
        table: The table of the component that it does it to; empty if it is none.
        row: The row of that table; without one, the number of the thing.
    """

    label: str
    verb: str
    table: str
    row: int


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a field.

    Attributes:
        name: What is counted along it, such as `seat` or `round`.
        size: How many there are.
    """

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class ViewField:
    """One named field of a view.

    Attributes:
        name: The name, such as `lines`.
        offset: The byte at which it begins.
        axes: Its dimensions, slowest first; none for a single value.
        max: The largest value.
        kind: What the values mean.
        table: The table whose rows the values name, for kind `id`.
        names: The name of each value, for kind `category`.
        description: One sentence for people.
    """

    name: str
    offset: int
    axes: tuple[Axis, ...]
    max: int
    kind: ValueKind
    table: str
    names: tuple[str, ...]
    description: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes, slowest first; empty for a single value."""
        return tuple(axis.size for axis in self.axes)

    @property
    def width(self) -> int:
        """Bytes of a value: 2, low byte first, where the largest exceeds 255; otherwise 1."""
        return 2 if self.max > 255 else 1

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

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


@dataclass(frozen=True, slots=True, eq=False)
class GameSpec:
    """One table of a game: seats and options chosen.

    Attributes:
        game: The game.
        seats: How many seats.
        options: Every option with its value.
        actions: What every action does: action `i` is `actions[i]`, `actions[i].label` in words.
        fields: The fields of a seat's view by name, in the order of their bytes.
        view_bytes: Bytes of a seat's view.
        public_fields: The fields of the public's view: what everybody at the table may know.
        public_view_bytes: Bytes of the public's view.
        tables: The component catalogue by table.
        max_plies: No episode has more plies.
        min_score: No final score is below this.
        max_score: No final score is above this.
        digest: The digest of all facts here: a changed game has a changed digest.
        chance_streams: What each stream of chance is for, in stream order.
        layout: How features are laid out; see `features`.
        row_offsets: Where the rows of each table begin when all tables stand one after the other.
        action_rows: `int32[actions]`, what each action names, among the rows of all tables one after the
            other; -1 where it names no row. Read-only.
        entity_layout: Where the tokens of `entities` come from.
    """

    game: Game
    seats: int
    options: Mapping[str, str]
    actions: tuple[ActionSpec, ...]
    fields: Mapping[str, ViewField]
    view_bytes: int
    public_fields: Mapping[str, ViewField]
    public_view_bytes: int
    tables: Mapping[str, ComponentTable]
    max_plies: int
    min_score: int
    max_score: int
    digest: str
    chance_streams: tuple[str, ...]
    layout: FeatureLayout = field(init=False, repr=False)
    row_offsets: Mapping[str, int] = field(init=False, repr=False)
    action_rows: NDArray[np.int32] = field(init=False, repr=False)
    entity_layout: EntityLayout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepares what is laid out once for all views."""
        ends = np.cumsum([0, *(len(table.values) for table in self.tables.values())])
        offsets = dict(zip(self.tables, ends.tolist(), strict=False))
        rows = [offsets[each.table] + each.row if each.table else -1 for each in self.actions]
        action_rows = np.array(rows, dtype=np.int32)
        action_rows.flags.writeable = False
        for name, value in {
            "layout": FeatureLayout(self.fields.values(), self.tables),
            "row_offsets": offsets,
            "action_rows": action_rows,
            "entity_layout": EntityLayout(self.fields.values(), self.tables, offsets),
        }.items():
            object.__setattr__(self, name, value)

    def decode(self, view: NDArray[np.uint8]) -> dict[str, NDArray[np.uint8] | NDArray[np.uint16]]:
        """Splits a seat's view, or a batch of views, into its named fields.

        Args:
            view: `uint8[..., bytes]`.

        Returns:
            For each field `uint8[..., *shape]` or `uint16[..., *shape]`, 0 to the field's maximum.
        """
        return {name: field.decode(view) for name, field in self.fields.items()}

    def decode_public(self, view: NDArray[np.uint8]) -> dict[str, NDArray[np.uint8] | NDArray[np.uint16]]:
        """Splits the public's view, or a batch of such views, into its named fields.

        Args:
            view: `uint8[..., public bytes]`.

        Returns:
            For each field `uint8[..., *shape]` or `uint16[..., *shape]`, 0 to the field's maximum.
        """
        return {name: field.decode(view) for name, field in self.public_fields.items()}

    def entities(self, view: NDArray[np.uint8]) -> Entities:
        """Turns a view, or a batch of views, into tokens: one for every component that it names or could.

        `entity_layout` says of each token which field and table it is of, whose, and where. The rows are
        counted as in `action_rows`, so one embedding of all rows serves the tokens and a head that points at
        actions.

        Args:
            view: `uint8[..., bytes]`.

        Returns:
            `int32[..., tokens]` rows and a `bool[..., tokens]` mask of those that are there.
        """
        return self.entity_layout(view)

    def features(
        self, view: NDArray[np.uint8], *, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Turns a view, or a batch of views, into numbers for a network.

        Fields stand in their own order, values in theirs. Each value becomes, by the kind of its field:

        - `id`: its row of the table, each column divided by the column's largest magnitude;
        - `count`: itself divided by the field's maximum;
        - `flag`: itself;
        - `seat`: a one-hot of none, the viewer, and the others clockwise;
        - `category`: a one-hot of its names.

        `layout.names` names every feature, such as `hand[0].duration`.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, where they are to be written; fresh memory when left out, which
                takes longer to come by than to write.

        Returns:
            `float32[..., features]`, -1 to 1; no feature is below 0 whose table column never is. It is `out`
            if that was given.

        Raises:
            ValueError: `out` has another shape or type.
        """
        return self.layout(view, out=out)
