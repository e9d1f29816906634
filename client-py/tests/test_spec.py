"""Views cut into fields and turned into features, on a description that has every kind of field."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boardwire import GameSpec, _convert
from boardwire.v1 import catalog_pb2 as pb


@pytest.fixture
def spec() -> GameSpec:
    """A table with every kind of field, wide values and a table with negative numbers."""
    fields = [
        pb.Field(name="round", offset=0, max=8, kind=pb.FIELD_KIND_COUNT),
        pb.Field(name="hand", offset=1, shape=[2], max=2, kind=pb.FIELD_KIND_ID, table="cards"),
        pb.Field(name="purse", offset=3, shape=[2], max=500, kind=pb.FIELD_KIND_COUNT),
        pb.Field(name="first", offset=7, max=2, kind=pb.FIELD_KIND_SEAT),
        pb.Field(name="phase", offset=8, max=1, kind=pb.FIELD_KIND_CODE, names=["play", "over"]),
        pb.Field(name="open", offset=9, shape=[1, 2], max=1, kind=pb.FIELD_KIND_FLAG),
        pb.Field(name="display", offset=11, max=2, kind=pb.FIELD_KIND_ID, table="cards"),
    ]
    table = pb.Table(name="cards", columns=["worth", "cost"], rows=3, values=[0, 0, 10, -4, 5, 2])
    return _convert.game_spec(
        pb.GameSpec(fields=fields, view_bytes=12, tables=[table], actions=["pass", "play"], seats=2)
    )


VIEW = np.array([4, 1, 0, 0xF4, 1, 3, 0, 1, 1, 0, 1, 2], dtype=np.uint8)
FEATURES = [0.5, 1, -1, 0, 0, 1, 3 / 500, 0, 1, 0, 0, 1, 0, 1, 0.5, 0.5]


def test_decode_names_every_field(spec: GameSpec) -> None:
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


def test_features_follow_the_documented_layout(spec: GameSpec) -> None:
    features = spec.features(VIEW)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, FEATURES, rtol=1e-6)
    assert spec.layout.names == (
        "round",
        "hand[0].worth",
        "hand[0].cost",
        "hand[1].worth",
        "hand[1].cost",
        "purse[0]",
        "purse[1]",
        "first.0",
        "first.1",
        "first.2",
        "phase.play",
        "phase.over",
        "open[0][0]",
        "open[0][1]",
        "display.worth",
        "display.cost",
    )


def test_features_know_their_range(spec: GameSpec) -> None:
    below = [name for name, low in zip(spec.layout.names, spec.layout.low, strict=True) if low < 0]
    assert below == ["hand[0].cost", "hand[1].cost", "display.cost"]
    assert (spec.layout.high == 1).all()


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3)])
def test_batches_are_decoded_row_by_row(spec: GameSpec, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    single = np.array([8, 2, 2, 0xF4, 1, 0xF4, 1, 2, 1, 1, 1, 2], dtype=np.uint16) + 1
    views: NDArray[np.uint8] = (random.random((*shape, 12)) * single).astype(np.uint8)
    features, fields = spec.features(views), spec.decode(views)
    for index in np.ndindex(*shape):
        np.testing.assert_array_equal(features[index], spec.features(views[index]))
        for name, values in spec.decode(views[index]).items():
            np.testing.assert_array_equal(fields[name][index], values)


def test_the_mask_has_a_byte_for_each_action(spec: GameSpec) -> None:
    from boardwire.v1 import observation_pb2

    seen = _convert.observation(observation_pb2.Observation(view=VIEW.tobytes(), mask=b"\x02"), spec)
    assert seen.mask.tolist() == [0, 1]
    assert seen.mask.dtype == np.int8
    assert seen.view.flags.owndata
    assert seen.view.flags.writeable
