"""The client decodes `tests/vectors`, which are test vectors for all clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boardwire
from boardwire import _core, _values
from boardwire_v1 import observation_pb2
from chance import RandomStream, commitment
from raw import fields_of

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def vectors(name: str) -> Any:
    """Reads a file of test vectors."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def by_game(name: str) -> pytest.MarkDecorator:
    """Parametrizes a test by the games in a file."""
    return pytest.mark.parametrize("vector", vectors(name), ids=lambda vector: vector["game"])


def hexes(rows: Any) -> list[str]:
    """Returns rows of bytes as hexadecimal text, the format of the files."""
    return [bytes(row).hex() for row in rows]


@by_game("views")
def test_views_are_decoded_value_by_value(client: boardwire.Client, vector: dict[str, Any]) -> None:
    spec = client.game(vector["game"], seats=vector["seats"])
    assert spec.digest == vector["spec_digest"]
    assert [action.label for action in spec.actions] == vector["actions"]
    assert [spec.fields[field["name"]].offset for field in vector["fields"]] == [
        field["offset"] for field in vector["fields"]
    ]
    viewers = {position["seat"] for position in vector["positions"]}
    assert {0, 1, None} <= viewers
    for position in vector["positions"]:
        view = np.frombuffer(bytes.fromhex(position["view"]), np.uint8)
        decode = spec.decode_public if position["seat"] is None else spec.decode
        values = {name: field.ravel().tolist() for name, field in decode(view).items()}
        assert values == position["values"]


@by_game("views")
def test_masks_are_unpacked_action_by_action(client: boardwire.Client, vector: dict[str, Any]) -> None:
    spec = client.game(vector["game"], seats=vector["seats"])
    for position in vector["positions"]:
        if position["seat"] is not None:
            message = observation_pb2.Observation(
                view=bytes.fromhex(position["view"]), mask=bytes.fromhex(position["mask"])
            )
            obs = _values.observation(fields_of(message), spec)
            assert obs.mask.nonzero()[0].tolist() == position["legal"]
            assert hexes([obs.view]) == [position["view"]]


@by_game("steps")
def test_steps_are_decoded_column_by_column(client: boardwire.Client, vector: dict[str, Any]) -> None:
    spec = client.game(vector["game"], seats=vector["seats"])
    columns = {"scores": True, "final_views": True, "episodes": True}
    shape = _core.Rows(spec.seats, spec.view_bytes, len(spec.actions), vector["agents"], columns)
    for row in vector["steps"]:
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
    "vector", vectors("seeds")["streams"], ids=lambda vector: f"{vector['seed']}-{vector['stream']}"
)
def test_random_streams_agree_with_their_documentation(vector: dict[str, Any]) -> None:
    rng = RandomStream(int(vector["seed"]), int(vector["stream"]))
    assert [rng.below(n) for n, _ in vector["below"]] == [result for _, result in vector["below"]]
    members, shuffled = set(range(8)), list(range(8))
    assert [rng.draw(members) for _ in range(8)] == vector["draw_from_0_to_7"]
    rng.shuffle(shuffled)
    assert shuffled == vector["shuffle_of_0_to_7"]
    assert rng.words == vector["words_used"]


def test_the_seed_of_a_batch_determines_the_seeds_of_its_episodes(client: boardwire.Client) -> None:
    vector = vectors("seeds")["batch_episodes"]
    seed = int(vector["batch_seed"])
    with client.open_batch("faraway", environments=42, seed=seed) as batch:
        opening = batch.reset()
    for row in vector["episodes"]:
        rng = RandomStream(seed, row["environment"])
        drawn = [rng.seed() for _ in range(row["episode"] + 1)][-1]
        assert str(drawn) == row["seed"]
        if not row["episode"]:
            with client.create_match("faraway", players=["agent", "agent"], seed=drawn) as match:
                assert hexes([match.join(0).observe(wait=False).view]) == hexes(
                    [opening.view[row["environment"]]]
                )


def test_the_seed_determines_the_deal(client: boardwire.Client) -> None:
    for vector in vectors("seeds")["deals"]:
        players = ["agent"] * vector["seats"]
        with client.create_match(vector["game"], players=players, seed=int(vector["seed"])) as match:
            views = [match.join(seat).observe(wait=False).view for seat in range(vector["seats"])]
        assert hexes(views) == vector["views"]


@pytest.mark.parametrize("vector", vectors("commitments"), ids=lambda vector: vector["match_id"])
def test_commitments_are_hashes(vector: dict[str, Any]) -> None:
    key, salt = bytes.fromhex(vector["key"]), bytes.fromhex(vector["salt"])
    committed = commitment(vector["match_id"], vector["episode"], vector["spec_digest"], key, salt)
    assert committed.hex() == vector["seed_commitment"]
