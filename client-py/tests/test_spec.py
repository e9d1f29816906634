"""Decodes views to fields and entities, with a description that has each kind of field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from raw import fields_of

from boardwire import GameSpec, _values
from boardwire_v1 import catalog_pb2 as pb
from boardwire_v1.observation_pb2 import Observation


@pytest.fixture
def spec() -> GameSpec:
    """A description with each kind of field, wide values and a component table."""
    place = pb.Axis(name="place", size=2, order=pb.AXIS_ORDER_NONE, table="cards")
    seat = pb.Axis(name="seat", size=2, order=pb.AXIS_ORDER_PLACES)
    row = pb.Axis(name="row", size=1, order=pb.AXIS_ORDER_PLACES)
    fields = [
        pb.ViewField(name="round", offset=0, max=8, kind=pb.VALUE_KIND_COUNT),
        pb.ViewField(name="hand", offset=1, axes=[place], max=2, kind=pb.VALUE_KIND_ID, table="cards"),
        pb.ViewField(name="purse", offset=3, axes=[seat], max=500, usual_max=50, kind=pb.VALUE_KIND_COUNT),
        pb.ViewField(name="first", offset=7, max=2, kind=pb.VALUE_KIND_SEAT),
        pb.ViewField(name="phase", offset=8, max=1, kind=pb.VALUE_KIND_CATEGORY, names=["play", "over"]),
        pb.ViewField(name="open", offset=9, axes=[row, place], max=1, kind=pb.VALUE_KIND_FLAG),
        pb.ViewField(name="display", offset=11, max=2, kind=pb.VALUE_KIND_ID, table="cards"),
    ]
    columns = [
        pb.Column(name="worth", kind=pb.VALUE_KIND_COUNT),
        pb.Column(name="cost", kind=pb.VALUE_KIND_CATEGORY, names=["none", "coin"]),
    ]
    table = pb.ComponentTable(name="cards", columns=columns, rows=3, values=[0, 0, 10, 1, 5, 0])
    actions = [
        pb.Action(label="pass", verb="pass"),
        pb.Action(label="play 2", verb="play", table="cards", row=2),
    ]
    return _values.game_spec(
        fields_of(
            pb.GameSpec(
                game=pb.Game(),
                fields=fields,
                view_bytes=12,
                public_fields=[pb.ViewField(name="round", offset=1, max=300, kind=pb.VALUE_KIND_COUNT)],
                public_view_bytes=3,
                tables=[table],
                actions=actions,
                seats=2,
            )
        )
    )


VIEW = np.array([4, 1, 0, 0xF4, 1, 3, 0, 1, 1, 0, 1, 2], dtype=np.uint8)


def test_decode_returns_all_fields_by_name(spec: GameSpec) -> None:
    fields = spec.decode(VIEW)
    assert {name: values.tolist() for name, values in fields.items()} == {
        "round": 4,
        "hand": [1, 0],
        "purse": [500, 3],
        "first": 1,
        "phase": 1,
        "open": [[0, 1]],
        "display": 2,
    }
    assert fields["purse"].dtype == np.uint16
    assert fields["hand"].dtype == np.uint8


def test_fields_have_the_shape_of_their_axes(spec: GameSpec) -> None:
    axes = [(axis.name, axis.order, axis.table, axis.of_seats) for axis in spec.fields["open"].axes]
    assert axes == [("row", "places", "", False), ("place", "none", "cards", False)]
    assert spec.fields["purse"].axes[0].of_seats
    assert (spec.fields["open"].shape, spec.fields["open"].size) == ((1, 2), 2)
    assert (spec.fields["round"].shape, spec.fields["round"].size) == ((), 1)


def test_actions_and_columns_name_their_tables(spec: GameSpec) -> None:
    assert [(each.label, each.verb, each.table, each.row) for each in spec.actions] == [
        ("pass", "pass", "", 0),
        ("play 2", "play", "cards", 2),
    ]
    columns = spec.tables["cards"].columns
    assert [(column.name, column.kind, column.names) for column in columns] == [
        ("worth", "count", ()),
        ("cost", "category", ("none", "coin")),
    ]


def test_public_views_have_their_own_fields(spec: GameSpec) -> None:
    fields = spec.decode_public(np.array([[9, 44, 1], [9, 7, 0]], dtype=np.uint8))
    assert {name: values.tolist() for name, values in fields.items()} == {"round": [300, 7]}


def test_entities_and_actions_use_the_same_rows() -> None:
    seat, other, place = (
        pb.Axis(name=name, size=size, order=pb.AXIS_ORDER_PLACES)
        for name, size in (("seat", 2), ("other seat", 2), ("place", 3))
    )
    ids: dict[str, Any] = {"kind": pb.VALUE_KIND_ID}
    fields = [
        pb.ViewField(name="turn", offset=0, max=9, kind=pb.VALUE_KIND_COUNT),
        pb.ViewField(name="lines", offset=1, axes=[place, seat], max=2, table="cards", **ids),
        pb.ViewField(name="goal", offset=7, max=1, table="goals", **ids),
        pb.ViewField(name="taken", offset=8, axes=[other], max=2, table="cards", **ids),
    ]
    column = pb.Column(name="worth", kind=pb.VALUE_KIND_COUNT)
    tables = [
        pb.ComponentTable(name="goals", columns=[column], rows=2, values=[0, 5]),
        pb.ComponentTable(name="cards", columns=[column], rows=3, values=[0, 1, 2]),
    ]
    actions = [
        pb.Action(label="pass", verb="pass"),
        pb.Action(label="play 2", verb="play", table="cards", row=2),
        pb.Action(label="aim", verb="aim", table="goals", row=1),
    ]
    spec = _values.game_spec(
        fields_of(
            pb.GameSpec(game=pb.Game(), fields=fields, view_bytes=10, tables=tables, actions=actions, seats=2)
        )
    )
    assert spec.row_offsets == {"goals": 0, "cards": 2}
    assert spec.action_rows.tolist() == [-1, 4, 1]
    layout, tokens = spec.entity_layout, spec.entities(np.array([3, 1, 2, 0, 0, 2, 0, 1, 0, 1], np.uint8))
    assert tokens.row.tolist() == [3, 4, 2, 2, 4, 2, 1, 2, 3]
    assert tokens.mask.tolist() == [True, True, False, False, True, False, True, False, True]
    assert layout.field.tolist() == [1] * 6 + [2, 3, 3]
    assert layout.table.tolist() == [1] * 6 + [0, 1, 1]
    assert layout.owner.tolist() == [1, 2, 1, 2, 1, 2, 0, 2, 3]
    assert layout.slot.tolist() == [0, 0, 1, 1, 2, 2, 0, 0, 0]


def test_entities_of_several_views_equal_those_of_each_view(spec: GameSpec) -> None:
    views = np.stack([VIEW, VIEW[::-1]]).reshape(1, 2, 12) % 3
    tokens = spec.entities(views)
    assert tokens.row.shape == tokens.mask.shape == (1, 2, 3)
    assert tokens.row.dtype == np.int32
    assert tokens.mask.dtype == np.bool_
    for index in np.ndindex(1, 2):
        np.testing.assert_array_equal(tokens.row[index], spec.entities(views[index]).row)


def test_the_mask_has_one_value_per_action(spec: GameSpec) -> None:
    obs = _values.observation(fields_of(Observation(view=VIEW.tobytes(), mask=b"\x02")), spec)
    assert obs.mask.tolist() == [0, 1]
    assert obs.mask.dtype == np.bool_
    assert obs.view.flags.owndata
    assert obs.view.flags.writeable
