"""Descriptions of games, their options, and the layout of views.

A `GameSpec` describes a table of a game (seats and options chosen) once; after that, steps contain bytes.
The spec says how to split a view into named fields and convert it to features. This module contains no code
for a particular game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._features import Entities, EntityLayout, FeatureLayout
from ._fields import ComponentTable, ViewField


@lru_cache(maxsize=32)
def _painter(encoded: bytes) -> _core.Painter:
    """Returns the painter that draws the views of a table, given its encoded description."""
    return _core.Painter(encoded)


@dataclass(frozen=True, slots=True)
class GameOption:
    """An option of a match.

    Attributes:
        name: The name of the option.
        description: One sentence on what the option does.
        default: The default value.
        choices: The allowed values of an option that takes one of a few words.
        min: The smallest allowed integer of an option that takes integers.
        max: The largest allowed integer of an option that takes integers.
    """

    name: str
    description: str
    default: str
    choices: tuple[str, ...]
    min: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a game, for people and language models.

    Attributes:
        text: The rules in Markdown.
        how_to_play: The part of the rules that a player needs first; empty if the game has none.
    """

    text: str
    how_to_play: str


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action: its label, its verb, and the component that it is about.

    Attributes:
        label: The action in words; unique among the actions of the game.
        verb: What the action does, such as `draft`.
        table: The table of the component that the action is about; empty if it is about none.
        row: The component's row in `table`; if `table` is empty, the number of the action's object.
    """

    label: str
    verb: str
    table: str
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class GameSpec:
    """One table of a game: seats and options chosen. Specs of equal tables of equal games are equal.

    Attributes:
        id: The game's id, such as `golden_compass`.
        name: The name on the box.
        rules_version: Changes when the same actions no longer lead to the same states.
        min_seats: The minimum number of seats of the game.
        max_seats: The maximum number of seats of the game.
        seats: The number of seats of the table.
        options: Every option with its value at the table.
        option_specs: The options of the game: their defaults, and the values that they may have.
        catalogue_digest: The BLAKE3 digest of the components: 64 hexadecimal digits.
        actions: Every action: action `i` is `actions[i]`, in words `actions[i].label`.
        fields: The fields of a seat's view by name, in the order of their bytes.
        view_bytes: The size of a seat's view in bytes.
        public_fields: The fields of the public view, which shows what every seat may know.
        public_view_bytes: The size of the public view in bytes.
        tables: The tables of the component catalogue by name.
        max_plies: The maximum number of plies of an episode.
        min_score: The lower bound of final scores.
        max_score: The upper bound of final scores.
        digest: The digest of all facts of the spec; it changes when the game changes.
        encoded: The spec as an encoded `boardwire.v1.GameSpec`.
        layout: The layout of the features; see `features`.
        row_offsets: The index of each table's first row in the concatenation of all tables.
        action_rows: `int32[actions]`, the row that each action names, as an index into the concatenation of
            all tables; -1 where the action names no row. Read-only.
        entity_layout: The layout of the tokens of `entities`.
    """

    id: str
    name: str
    rules_version: int
    min_seats: int
    max_seats: int
    seats: int
    options: Mapping[str, str]
    option_specs: tuple[GameOption, ...]
    catalogue_digest: str
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
    encoded: bytes = field(repr=False)
    layout: FeatureLayout = field(init=False, repr=False)
    row_offsets: Mapping[str, int] = field(init=False, repr=False)
    action_rows: NDArray[np.int32] = field(init=False, repr=False)
    entity_layout: EntityLayout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Computes the layouts that all views share."""
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

    def __eq__(self, other: object) -> bool:
        """Returns whether `other` is the spec of an equal table: one with the same digest."""
        return isinstance(other, GameSpec) and self.digest == other.digest

    def __hash__(self) -> int:
        """Returns a hash of what `==` compares."""
        return hash(self.digest)

    @property
    def action_features(self) -> NDArray[np.bool_]:
        """`bool[actions, features]`: which features are about the component that each action names.

        The row of an action that names no component is all False.
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
        """Splits the public view, or a batch of public views, into its named fields.

        Args:
            view: `uint8[..., public bytes]`.

        Returns:
            For each field `uint8[..., *shape]` or `uint16[..., *shape]`, 0 to the field's maximum.
        """
        return {name: field.decode(view) for name, field in self.public_fields.items()}

    def picture(self, view: NDArray[np.uint8], *, seat: int | None = 0) -> str:
        """Draws a view as SVG.

        Args:
            view: `uint8[bytes]`, a seat's view or the public view.
            seat: The seat of the view; None for the public view.

        Returns:
            An SVG document, 960 pixels wide, without scripts, styles or links.

        Raises:
            ValueError: `view` is not such a view.
        """
        return _painter(self.encoded).svg(np.asarray(view, dtype=np.uint8).tobytes(), seat)

    def pixels(
        self, view: NDArray[np.uint8], *, seat: int | None = 0, height: int | None = None
    ) -> NDArray[np.uint8]:
        """Draws the same picture as `picture`, as `uint8[height, 960, 3]`: red, green and blue of each pixel.

        Args:
            view: `uint8[bytes]`, a seat's view or the public view.
            seat: The seat of the view; None for the public view.
            height: The height of the result, 1 to 32,768: a taller picture is scaled down. By default the
                height of the picture, which differs from position to position.

        Raises:
            ValueError: `view` is not such a view, or `height` is out of range.
        """
        return _painter(self.encoded).pixels(np.asarray(view, dtype=np.uint8).tobytes(), seat, height)

    def entities(self, view: NDArray[np.uint8]) -> Entities:
        """Converts a view, or a batch of views, to tokens: one for each place that can name a component.

        `entity_layout` gives the field, table, owner and slot of each token. Rows are indices into the
        concatenation of all tables, as in `action_rows`. One embedding of all rows therefore serves both the
        tokens and a pointer head over actions.

        Args:
            view: `uint8[..., bytes]`.

        Returns:
            `int32[..., tokens]` rows and a `bool[..., tokens]` mask, True where a component is present.
        """
        return self.entity_layout(view)

    def features(
        self, view: NDArray[np.uint8], *, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Converts a view, or a batch of views, to features for a network.

        The kind of a field determines its features:

        - `id`: for each seat of the field, one feature per row of its table and one for an empty place. A
          feature is 1 if its row is present, else 0. Where there can be copies, it is their number divided
          by the largest possible number. Along a sequence, it is `0.5 + 0.5 * (place + 1) / places` instead
          of 1, which keeps the order. Along places such as the cells of a board, each place also has the
          table's columns for its component: numbers divided by the column's largest magnitude, ids and
          categories as one-hots. If one feature per row takes no more features than the columns, each place
          has one feature per row instead.
        - `count`: the value divided by the field's `usual_max`.
        - `flag`: the value.
        - `seat`: a one-hot of none, the viewer, and the other seats clockwise.
        - `category`: a one-hot of the names.

        `layout.names` names every feature, such as `hand[regions 17]`. `action_features` says which features
        are about the component that an action names.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, the array to write to. Without it, the method allocates one, which
                takes longer than to write the features.

        Returns:
            `float32[..., features]`, from `layout.low` to `layout.high`: `out`, if given.

        Raises:
            ValueError: `out` has the wrong shape or type.
        """
        return self.layout(view, out=out)
