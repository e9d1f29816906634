"""The client against `tests/vectors`, which everybody's client can be checked against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boardwire
from boardwire import _core, _values
from boardwire_v1 import observation_pb2
from chance import Dice, commitment
from raw import fields_of

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def vectors(name: str) -> Any:
    """One of the files."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def by_game(name: str) -> pytest.MarkDecorator:
    """A test of each game in one of the files."""
    return pytest.mark.parametrize("told", vectors(name), ids=lambda told: told["game"])


def hexes(rows: Any) -> list[str]:
    """Rows of bytes as the files have them."""
    return [bytes(row).hex() for row in rows]


@by_game("views")
def test_views_are_decoded_value_by_value(client: boardwire.Client, told: dict[str, Any]) -> None:
    spec = client.game(told["game"], seats=told["seats"])
    assert spec.digest == told["spec_digest"]
    assert [action.label for action in spec.actions] == told["actions"]
    assert [spec.fields[field["name"]].offset for field in told["fields"]] == [
        field["offset"] for field in told["fields"]
    ]
    seen = {position["seat"] for position in told["positions"]}
    assert {0, 1, None} <= seen
    for position in told["positions"]:
        view = np.frombuffer(bytes.fromhex(position["view"]), np.uint8)
        decode = spec.decode_public if position["seat"] is None else spec.decode
        values = {name: field.ravel().tolist() for name, field in decode(view).items()}
        assert values == position["values"]


@by_game("views")
def test_masks_are_unpacked_action_by_action(client: boardwire.Client, told: dict[str, Any]) -> None:
    spec = client.game(told["game"], seats=told["seats"])
    for position in told["positions"]:
        if position["seat"] is not None:
            message = observation_pb2.Observation(
                view=bytes.fromhex(position["view"]), mask=bytes.fromhex(position["mask"])
            )
            seen = _values.observation(fields_of(message), spec)
            assert seen.mask.nonzero()[0].tolist() == position["legal"]
            assert hexes([seen.view]) == [position["view"]]


@by_game("steps")
def test_steps_are_decoded_column_by_column(client: boardwire.Client, told: dict[str, Any]) -> None:
    spec = client.game(told["game"], seats=told["seats"])
    columns = {"scores": True, "final_views": True, "episodes": True}
    shape = _core.Rows(spec.seats, spec.view_bytes, len(spec.actions), told["agents"], columns)
    for row in told["steps"]:
        step = shape.step(bytes.fromhex(row["message"]))
        assert step.sequence == row["sequence"]
        assert step.first == row["first"]
        assert step.episode is not None
        for name in ("seat", "reward", "ply", "flags", "ended", "episode"):
            assert getattr(step, name).tolist() == row[name], name
        assert step.scores is not None
        assert step.ranks is not None
        assert (step.scores.tolist(), step.ranks.tolist()) == (row["scores"], row["ranks"])
        assert step.final_view is not None
        assert hexes(step.view) == row["view"]
        assert hexes(step.final_view.reshape(-1, spec.view_bytes)) == row["final_view"]
        assert [mask.nonzero()[0].tolist() for mask in step.mask] == row["legal"]


@pytest.mark.parametrize(
    "told", vectors("seeds")["streams"], ids=lambda told: f"{told['seed']}-{told['stream']}"
)
def test_streams_of_chance_follow_from_their_description(told: dict[str, Any]) -> None:
    dice = Dice(int(told["seed"]), int(told["stream"]))
    assert [dice.below(n) for n, _ in told["below"]] == [result for _, result in told["below"]]
    members, shuffled = set(range(8)), list(range(8))
    assert [dice.draw(members) for _ in range(8)] == told["draw_from_0_to_7"]
    dice.shuffle(shuffled)
    assert shuffled == told["shuffle_of_0_to_7"]
    assert dice.words == told["words_used"]


def test_seeds_of_a_batch_follow_from_its_own(client: boardwire.Client) -> None:
    told = vectors("seeds")["batch_episodes"]
    seed = int(told["batch_seed"])
    with client.open_batch("faraway", environments=42, seed=seed) as batch:
        opening = batch.reset()
    for row in told["episodes"]:
        dice = Dice(seed, row["environment"])
        drawn = [dice.seed() for _ in range(row["episode"] + 1)][-1]
        assert str(drawn) == row["seed"]
        if not row["episode"]:
            with client.create_match("faraway", players=["agent", "agent"], seed=drawn) as match:
                assert hexes([match.join(0).observe(wait=False).view]) == hexes(
                    [opening.view[row["environment"]]]
                )


def test_deals_follow_from_their_seeds(client: boardwire.Client) -> None:
    for told in vectors("seeds")["deals"]:
        players = ["agent"] * told["seats"]
        with client.create_match(told["game"], players=players, seed=int(told["seed"])) as match:
            views = [match.join(seat).observe(wait=False).view for seat in range(told["seats"])]
        assert hexes(views) == told["views"]


@pytest.mark.parametrize("told", vectors("commitments"), ids=lambda told: told["match_id"])
def test_commitments_are_hashes(told: dict[str, Any]) -> None:
    key, salt = bytes.fromhex(told["key"]), bytes.fromhex(told["salt"])
    committed = commitment(told["match_id"], told["episode"], told["spec_digest"], key, salt)
    assert committed.hex() == told["seed_commitment"]
