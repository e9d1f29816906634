"""What can be played, and how a view is laid out.

A table of a game (seats and options chosen) is described once by its `GameSpec`; after that, steps carry
bytes. A view is cut into named fields, and turned into features, as the description says: nothing here
knows a game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._entities import Entities, EntityLayout
from ._features import FeatureLayout
from ._fields import ComponentTable, ViewField


@lru_cache(maxsize=32)
def painter(game: str, seats: int, options: tuple[tuple[str, str], ...], digest: str) -> _core.Painter:
    """What draws the views of a table.

    Raises:
        ValueError: The server plays by other rules or components than the extension knows.
    """
    return _core.Painter(game, seats, dict(options), digest)


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
    """

    id: str
    name: str
    rules_version: int
    min_seats: int
    max_seats: int
    options: tuple[GameOption, ...]
    catalogue_digest: str


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
            "layout": FeatureLayout(self.fields.values(), self.tables, offsets),
            "row_offsets": offsets,
            "action_rows": action_rows,
            "entity_layout": EntityLayout(self.fields.values(), self.tables, offsets),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def mask_bytes(self) -> int:
        """Bytes of a packed mask: a bit an action, low bit first."""
        return (len(self.actions) + 7) // 8

    @property
    def action_features(self) -> NDArray[np.bool_]:
        """Which features are about the component that each action names: `bool[actions, features]`.

        None are for an action that names no component.
        """
        rows = self.action_rows[:, None]
        about: NDArray[np.bool_] = (self.layout.row == rows) & (rows >= 0)
        return about

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

    def picture(self, view: NDArray[np.uint8], *, seat: int | None = 0) -> str:
        """Draws what a view shows.

        Args:
            view: `uint8[bytes]`, a seat's view or the public's.
            seat: Whose view it is; None for the public's.

        Returns:
            A document of SVG, 960 pixels wide, without script, style or link.

        Raises:
            ValueError: It is no such view, or the server plays by a catalogue of its own.
        """
        return self._painter().svg(np.asarray(view, dtype=np.uint8).tobytes(), seat)

    def pixels(self, view: NDArray[np.uint8], *, seat: int | None = 0) -> NDArray[np.uint8]:
        """Draws the same as `uint8[height, 960, 3]`: red, green and blue of each pixel.

        Args:
            view: `uint8[bytes]`, a seat's view or the public's.
            seat: Whose view it is; None for the public's.

        Raises:
            ValueError: It is no such view, or the server plays by a catalogue of its own.
        """
        return self._painter().pixels(np.asarray(view, dtype=np.uint8).tobytes(), seat)

    def check_pictures(self) -> None:
        """Sees to it that `picture` and `pixels` can draw.

        Raises:
            ValueError: The server plays by a catalogue of its own.
        """
        self._painter()

    def _painter(self) -> _core.Painter:
        options = tuple(sorted(self.options.items()))
        return painter(self.game.id, self.seats, options, self.digest)

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

        What becomes of a field follows from its kind:

        - `id`: for each seat that it has, a feature for every row of its table, and one for an empty place: 1
          for what is there, 0 for what is not. Where there can be copies, their number divided by the most
          there can be. Along a sequence `0.5 + 0.5 * (place + 1) / places` instead of 1, so that the order is
          kept. Along places such as the cells of a board, each place has besides what the table says of what
          lies in it: numbers divided by the column's largest magnitude, ids and categories as one-hots; or,
          where that takes no more features, a feature of its own for every row.
        - `count`: itself divided by the field's `usual_max`;
        - `flag`: itself;
        - `seat`: a one-hot of none, the viewer, and the others clockwise;
        - `category`: a one-hot of its names.

        `layout.names` names every feature, such as `hand[regions 17]`, and `action_features` says which of
        them are about the component that an action names.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, where they are to be written; fresh memory when left out, which
                takes longer to come by than to write.

        Returns:
            `float32[..., features]`, from `layout.low` to `layout.high`: `out`, if it was given.

        Raises:
            ValueError: `out` has another shape or type.
        """
        return self.layout(view, out=out)
