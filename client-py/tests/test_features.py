"""Features of views, on a spec that has every kind of field and axis."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from raw import fields_of
from tables import TABLES

import boardwire
from boardwire import GameSpec, _values
from boardwire_v1 import catalog_pb2 as pb

ID, COUNT = pb.VALUE_KIND_ID, pb.VALUE_KIND_COUNT


def axis(name: str, size: int, order: pb.AxisOrder.ValueType, table: str = "") -> pb.Axis:
    return pb.Axis(name=name, size=size, order=order, table=table)


def field(name: str, kind: pb.ValueKind.ValueType, maximum: int, *axes: pb.Axis, **more: Any) -> pb.ViewField:
    return pb.ViewField(name=name, kind=kind, max=maximum, axes=axes, **more)


SEATS, OTHERS = axis("seat", 2, pb.AXIS_ORDER_PLACES), axis("other seat", 1, pb.AXIS_ORDER_PLACES)
ROUNDS, CELLS = axis("round", 4, pb.AXIS_ORDER_SEQUENCE), axis("cell", 2, pb.AXIS_ORDER_PLACES)
BAG, CARDS = axis("card", 3, pb.AXIS_ORDER_NONE), axis("card", 4, pb.AXIS_ORDER_PLACES, "cards")
OF_CARDS: dict[str, Any] = {"table": "cards", "copies": 1}
FIELDS = [
    field("turn", COUNT, 8),
    field("purse", COUNT, 500, SEATS, usual_max=50),
    field("open", pb.VALUE_KIND_FLAG, 1, CELLS),
    field("first", pb.VALUE_KIND_SEAT, 2),
    field("phase", pb.VALUE_KIND_CATEGORY, 1, names=["play", "over"]),
    field("chosen", ID, 4, **OF_CARDS),
    field("hand", ID, 4, BAG, **OF_CARDS),
    field("shown", ID, 4, OTHERS, BAG, **OF_CARDS),
    field("lines", ID, 4, SEATS, ROUNDS, **OF_CARDS),
    field("board", ID, 4, CELLS, **OF_CARDS),
    field("purchases", ID, 4, BAG, table="cards", copies=2),
    field("goals", ID, 2, SEATS, CELLS, table="goals", copies=1),
    field("seen", COUNT, 3, CARDS),
    field("where", pb.VALUE_KIND_CATEGORY, 1, CARDS, names=["away", "here"]),
]
# Row 0 of each table stands for no component.
GOALS = pb.ComponentTable(
    name="goals",
    columns=[
        pb.Column(name="twin", kind=ID, table="goals"),
        pb.Column(name="worth", kind=COUNT),
    ],
    rows=3,
    values=[0, 0, 2, 5, 1, 3],
)
DECK = pb.ComponentTable(
    name="cards",
    columns=[
        pb.Column(name="worth", kind=COUNT),
        pb.Column(name="suit", kind=pb.VALUE_KIND_CATEGORY, names=["none", "red", "blue"]),
        pb.Column(name="nothing", kind=COUNT),
    ],
    rows=5,
    values=[0, 0, 0, 10, 1, 0, -5, 2, 0, 0, 1, 0, 5, 1, 0],
)
VIEW: dict[str, list[int]] = {
    "turn": [4],
    "purse": [25, 0, 244, 1],
    "open": [0, 1],
    "first": [1],
    "phase": [1],
    "chosen": [0],
    "hand": [2, 4, 0],
    "shown": [1, 2, 3],
    "lines": [3, 1, 0, 0, 0, 0, 0, 4],
    "board": [2, 0],
    "purchases": [1, 1, 3],
    "goals": [2, 0, 1, 1],
    "seen": [0, 0, 3, 0],
    "where": [0, 1, 0, 0],
}
EXPECTED = {
    "turn": 0.5,
    "purse[0]": 0.5,
    "purse[1]": 10,
    "open[1]": 1,
    "first.1": 1,
    "phase.over": 1,
    "chosen[none]": 1,
    "hand[none]": 1,
    "hand[cards 2]": 1,
    "hand[cards 4]": 1,
    "shown[0][cards 1]": 1,
    "shown[0][cards 2]": 1,
    "shown[0][cards 3]": 1,
    "lines[0][none]": 1,
    "lines[0][cards 3]": 0.625,
    "lines[0][cards 1]": 0.75,
    "lines[1][cards 4]": 1,
    "board[none]": 1,
    "board[cards 2]": 1,
    "board[0].worth": -0.5,
    "board[0].suit.blue": 1,
    "purchases[cards 1]": 1,
    "purchases[cards 3]": 0.5,
    "goals[0][0][goals 2]": 1,
    "goals[0][1][none]": 1,
    "goals[1][0][goals 1]": 1,
    "goals[1][1][goals 1]": 1,
    "seen[cards 3]": 1,
    "where[cards 1].away": 1,
    "where[cards 2].here": 1,
    "where[cards 3].away": 1,
    "where[cards 4].away": 1,
}


@pytest.fixture
def spec() -> GameSpec:
    offset, fields = 0, list[pb.ViewField]()
    for each in FIELDS:
        with_offset = pb.ViewField(offset=offset)
        with_offset.MergeFrom(each)
        fields.append(with_offset)
        offset += len(VIEW[each.name])
    actions = [
        pb.Action(label="pass", verb="pass"),
        pb.Action(label="play 2", verb="play", table="cards", row=2),
        pb.Action(label="aim", verb="aim", table="goals", row=1),
    ]
    return _values.game_spec(
        fields_of(
            pb.GameSpec(
                game=pb.Game(),
                fields=fields,
                view_bytes=offset,
                tables=[GOALS, DECK],
                actions=actions,
                seats=2,
            )
        )
    )


@pytest.fixture
def view() -> NDArray[np.uint8]:
    return np.array([byte for values in VIEW.values() for byte in values], dtype=np.uint8)


def nonzero(spec: GameSpec, features: NDArray[np.float32]) -> dict[str, float]:
    """Returns the features that are not 0, by name."""
    return {spec.layout.names[at]: float(features[at]) for at in np.flatnonzero(features)}


def test_features_encode_the_view(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    features = spec.features(view)
    assert features.dtype == np.float32
    assert nonzero(spec, features) == pytest.approx(EXPECTED)
    assert len(set(spec.layout.names)) == len(spec.layout.names) == len(features)
    # A column that is 0 for all cards has no feature.
    assert [name for name in spec.layout.names if name.startswith("board[1]")] == [
        "board[1].worth",
        "board[1].suit.red",
        "board[1].suit.blue",
    ]


def test_a_view_of_zeros_has_no_components(spec: GameSpec) -> None:
    features = nonzero(spec, spec.features(np.zeros(spec.view_bytes, np.uint8)))
    assert set(features) == {
        *("first.0", "phase.play", "chosen[none]", "hand[none]", "shown[0][none]"),
        *("lines[0][none]", "lines[1][none]", "board[none]", "purchases[none]"),
        *(f"goals[{seat}][{cell}][none]" for seat in range(2) for cell in range(2)),
        *(f"where[cards {card}].away" for card in range(1, 5)),
    }
    assert set(features.values()) == {1.0}


def test_the_layout_has_the_range_of_each_feature(spec: GameSpec) -> None:
    layout = spec.layout
    below = [name for name, low in zip(layout.names, layout.low, strict=True) if low < 0]
    assert below == ["board[0].worth", "board[1].worth"]
    above = [(name, high) for name, high in zip(layout.names, layout.high, strict=True) if high != 1]
    assert above == [("purse[0]", 10), ("purse[1]", 10)]


def test_action_features_are_about_the_component_of_the_action(spec: GameSpec) -> None:
    about = {
        action.label: [spec.layout.names[at] for at in np.flatnonzero(features)]
        for action, features in zip(spec.actions, spec.action_features, strict=True)
    }
    assert about == {
        "pass": [],
        "play 2": [
            "chosen[cards 2]",
            "hand[cards 2]",
            "shown[0][cards 2]",
            "lines[0][cards 2]",
            "lines[1][cards 2]",
            "board[cards 2]",
            "where[cards 2].away",
            "where[cards 2].here",
            "purchases[cards 2]",
            "seen[cards 2]",
        ],
        "aim": [f"goals[{seat}][{cell}][goals 1]" for seat in range(2) for cell in range(2)],
    }
    assert spec.layout.row.dtype == np.int32
    assert spec.layout.row[spec.layout.names.index("turn")] == -1


def test_copies_in_a_sequence_have_features_by_position(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    lines = dataclasses.replace(spec.fields["lines"], copies=2)
    with_copies = dataclasses.replace(spec, fields={**spec.fields, "lines": lines})
    view[spec.fields["lines"].offset :][:4] = [3, 3, 0, 1]
    features = nonzero(with_copies, with_copies.features(view))
    found = {name: value for name, value in features.items() if name.startswith("lines[0]")}
    assert found == pytest.approx(
        {
            "lines[0][cards 3]": 1,
            "lines[0][cards 1]": 0.5,
            "lines[0][0].suit.red": 1,
            "lines[0][1].suit.red": 1,
            "lines[0][3].suit.red": 1,
            "lines[0][3].worth": 1,
        }
    )


@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3), (300,)])
def test_batches_of_views_are_encoded_row_by_row(
    spec: GameSpec, view: NDArray[np.uint8], shape: tuple[int, ...]
) -> None:
    random = np.random.default_rng(0)
    views = np.where(random.random((*shape, len(view))) < 0.5, view, 0).astype(np.uint8)
    features = spec.features(views)
    assert features.shape == (*shape, len(spec.layout.names))
    for index in np.ndindex(*shape):
        np.testing.assert_array_equal(features[index], spec.features(views[index]))


def test_features_are_written_to_out(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    size = len(spec.layout.names)
    views, expected = np.stack([view, view]), np.tile(spec.features(view), (2, 1))
    out = np.full((2, size), 7, dtype=np.float32)
    assert spec.features(views, out=out) is out
    np.testing.assert_array_equal(out, expected)
    # `out` may have gaps in memory.
    wide = np.full((2, size + 1), 7, dtype=np.float32)
    spec.features(views, out=wide[:, :size])
    np.testing.assert_array_equal(wide[:, :size], expected)
    assert (wide[:, size] == 7).all()
    of_another_type: Any = out.astype(np.float64)
    for wrong in (out[:1], of_another_type):
        with pytest.raises(ValueError, match=rf"`out` must be float32\[2, {size}\]; got float"):
            spec.features(views, out=wrong)


def test_invalid_views_are_refused(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    for name, value in (("lines", 5), ("hand", 9), ("purchases", 5), ("first", 3), ("goals", 255)):
        wrong, at = np.stack([view, view]), spec.fields[name].offset
        wrong[1, at] = value
        with pytest.raises(ValueError, match=f"`view` is not a view of this table: byte {at} is {value}$"):
            spec.features(wrong)
    size = len(view)
    with pytest.raises(ValueError, match=f"a view has {size} bytes, not {size - 1}"):
        spec.features(view[1:])


def test_views_need_not_be_contiguous(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    views = np.stack([view, np.zeros_like(view)] * 3)
    np.testing.assert_array_equal(spec.features(views[::2]), spec.features(np.stack([view] * 3)))
    np.testing.assert_array_equal(spec.features(views[::2].astype(np.int64)), spec.features(views[::2]))


def test_a_pickled_spec_gives_the_same_features(spec: GameSpec, view: NDArray[np.uint8]) -> None:
    copy = pickle.loads(pickle.dumps(spec))
    np.testing.assert_array_equal(copy.features(view), spec.features(view))


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_features_of_every_game_are_in_range_and_distinguish_views(
    client: boardwire.Client, game: str, seats: int
) -> None:
    with client.open_batch(game, seats=seats, environments=16, seed=3) as batch:
        layout, step, random = batch.spec.layout, batch.reset(), np.random.default_rng(0)
        assert len(set(layout.names)) == len(layout.names)
        views = []
        for _ in range(150):
            step = batch.step((random.random(step.mask.shape) * step.mask).argmax(axis=1).astype(np.uint8))
            views.append(step.view)
        different = np.unique(np.concatenate(views), axis=0)
        features = batch.spec.features(different)
        assert ((features >= layout.low) & (features <= layout.high)).all()
        assert len(np.unique(features, axis=0)) == len(different)


@pytest.mark.parametrize("game", sorted({game for game, _ in TABLES}))
def test_the_pages_of_the_games_have_the_right_sizes(client: boardwire.Client, game: str) -> None:
    page = Path(__file__).parents[2] / "docs/games" / f"{game}.md"
    sizes = []
    for seats in (seats for each, seats in TABLES if each == game):
        spec = client.game(game, seats=seats)
        tokens = len(spec.entity_layout.field)
        sizes.append(f"| {seats} | {spec.view_bytes} | {len(spec.layout.names)} | {tokens} |")
    head = ["| seats | bytes of a view | `spec.features` | `spec.entities` |", "| --- | --- | --- | --- |"]
    assert "\n".join([*head, *sizes]) in page.read_text()
