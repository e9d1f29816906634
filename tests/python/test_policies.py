"""Networks as bots: the operator of a server registers them, and clients use their names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import boardwire
from boardwire import GameSpec, errors
from boardwire._process import find_binary
from networks import METADATA, network


@pytest.fixture
def lion(client: boardwire.Client, tmp_path: Path) -> Path:
    """A network for Faraway at two seats."""
    return network(tmp_path / "lion.onnx", client.game("faraway", seats=2))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def played(client: boardwire.Client, bot: str) -> tuple[int, ...]:
    """Plays lowest legal actions against a bot and returns the scores."""
    match = client.create_match("faraway", players=["agent", bot], seed=7)
    with match.join(0) as seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(int(obs.mask.argmax()))
    return tuple(obs.scores)


def test_the_seed_determines_matches_and_batches_against_a_policy(lion: Path) -> None:
    scores = []
    for _ in range(2):
        with boardwire.connect(server_args=["--policy", f"lion={lion}"]) as client:
            bots = ("policy:lion", "policy:lion:argmax", "search:lion:8")
            sampled, best, searched = (played(client, bot) for bot in bots)
            assert sampled == played(client, "policy:lion")
            opponents = {1: "policy:lion"}
            with client.open_batch("faraway", seats=2, environments=40, opponents=opponents, seed=7) as batch:
                step, rewards = batch.reset(), []
                for _ in range(30):
                    step = batch.step(step.mask.argmax(axis=1))
                    rewards.append(step.reward[:, 0].copy())
            scores.append((sampled, best, np.concatenate(rewards).tolist(), searched))
    assert scores[0] == scores[1]
    assert scores[0][0] != scores[0][1]
    assert any(scores[0][2])


def test_rollouts_follow_a_policy_and_return_its_values(client: boardwire.Client, tmp_path: Path) -> None:
    spec = client.game("golden_compass", seats=2)
    metadata = {"boardwire.spec": spec.digest, **METADATA}
    lion = network(tmp_path / "lion.onnx", spec, {**metadata, "boardwire.value": "3"}, has_value=True)
    model = ReferenceEvaluator(onnx.load(str(lion)))
    with (
        boardwire.connect(server_args=["--policy", f"lion={lion}"]) as server,
        server.open_batch("golden_compass", seats=2, environments=5, seed=7, skip_forced=True) as batch,
    ):
        batch.step(batch.reset().mask.argmax(axis=1))
        with batch.search(4, reward="margin", seed=1) as search:
            worlds, rows = np.arange(20), np.arange(20)
            values = search.rollout(worlds, policy="policy:lion", plies=0)
            [expected] = model.run(["value"], {"view": search.shown.view})
            np.testing.assert_allclose(
                values[rows, search.shown.seat], 3 * np.asarray(expected), rtol=1e-4, atol=1e-3
            )
            np.testing.assert_array_equal(values[:, 0], -values[:, 1])
            later = [search.rollout(worlds, policy="policy:lion", plies=4, seed=2) for _ in range(2)]
            np.testing.assert_array_equal(later[0], later[1])
            assert (later[0] != values).any()
            ends = search.rollout(worlds, policy="policy:lion:argmax", playouts=3, seed=2)
            assert (np.abs(ends).max(axis=1) > 0).any()
        with batch.search(places=500, reward="margin", seed=1) as search:
            actions = search.shown.mask.argmax(axis=1)
            values = search.values(policy="policy:lion", plies=0, seed=2)
            search.advance(rows[:5], actions)
            after = search.rollout(rows[:5], policy="policy:lion", plies=0, seed=2)
            np.testing.assert_array_equal(values[rows[:5], actions], after[rows[:5], search.shown.seat])
        with batch.search(reward="win") as search:
            with pytest.raises(errors.InvalidRequest, match="a search with reward margin"):
                search.rollout([0], policy="policy:lion", plies=1)
            with pytest.raises(errors.InvalidRequest, match="policy:lion; got `policy:owl`"):
                search.rollout([0], policy="policy:owl")


def test_a_server_lists_its_policies_with_their_tables(
    client: boardwire.Client, lion: Path, tmp_path: Path
) -> None:
    basic = client.game("rauha", seats=3)
    changed = client.game("rauha", seats=3, options={basic.option_specs[0].name: other(basic)})
    compass = network(tmp_path / "compass.onnx", changed)
    unknown = network(tmp_path / "unknown.onnx", basic, {**METADATA, "boardwire.spec": 64 * "0"})
    files = [f"{name}={path}" for name, path in [("lion", lion), ("lion", compass), ("owl", unknown)]]
    with boardwire.connect(server_args=[word for file in files for word in ("--policy", file)]) as offering:
        first, second, third = offering.server().policies
        faraway = offering.game("faraway", seats=2)
        name = basic.option_specs[0].name
        known = rf"is for faraway with 2 seats.* and for rauha with 3 seats.*{name}={changed.options[name]}"
        for bot, tables in (
            ("policy:lion", known),
            ("policy:owl", f"an unknown table with spec digest {64 * '0'}"),
        ):
            with pytest.raises(errors.InvalidRequest, match=tables):
                offering.create_match("rauha", players=["agent", bot])
    assert (first.name, first.game, first.seats) == ("lion", "faraway", 2)
    assert (first.options, first.spec_digest) == (faraway.options, faraway.digest)
    assert (second.name, second.game, second.seats) == ("lion", "rauha", 3)
    assert (second.options, second.spec_digest) == (changed.options, changed.digest)
    assert (third.name, third.game, third.seats, third.options) == ("owl", "", 0, {})


def other(spec: GameSpec) -> str:
    """Returns another value of the first option than that of the table."""
    option = spec.option_specs[0]
    return next(choice for choice in option.choices if choice != spec.options[option.name])


def test_an_error_for_an_unknown_policy_names_the_registered_ones(lion: Path) -> None:
    with boardwire.connect(server_args=["--policy", f"lion={lion}"]) as client:
        for game, seats, bot, message in [
            ("faraway", 2, "policy:tiger", "policy:lion"),
            ("faraway", 2, "policy:lion:best", "policy:lion"),
            ("faraway", 3, "policy:lion", "`policy:lion` is for faraway with 2 seats"),
            ("rauha", 2, "policy:tiger", "no registered policy reads this table"),
            ("faraway", 2, "policies", "policy:NAME"),
            ("faraway", 2, "search:tiger:8", "policy:lion"),
            ("faraway", 2, "search:lion:0", "search:NAME:PLAYOUTS"),
        ]:
            with pytest.raises(errors.InvalidRequest, match=message):
                client.create_match(game, players=["agent", *[bot] * (seats - 1)])
            with pytest.raises(errors.InvalidRequest, match=message):
                client.open_batch(game, seats=seats, environments=2, opponents={1: bot})


def test_an_invalid_policy_file_is_rejected_at_the_start(client: boardwire.Client, tmp_path: Path) -> None:
    spec = client.game("faraway", seats=2)
    digest = {"boardwire.spec": spec.digest}
    for name, metadata, message in [
        ("none", {}, "its metadata lacks `boardwire.spec`"),
        (
            "other",
            {**digest, **METADATA, "boardwire.encoding": "features"},
            "`boardwire.encoding` must be `bytes`",
        ),
    ]:
        path = network(tmp_path / f"{name}.onnx", spec, metadata)
        for command in ["serve", "play faraway", "arena faraway"]:
            process = run(*command.split(), "--policy", f"{name}={path}")
            assert (process.returncode, process.stdout) == (1, ""), command
            assert f"policy {name}: {path}: {message}" in process.stderr
    process = run("serve", "--policy", "lion")
    assert process.returncode == 2
    assert "`lion` is not NAME=VALUE" in process.stderr


def test_a_policy_plays_on_the_command_line(lion: Path, tmp_path: Path) -> None:
    registered = ["--policy", f"lion={lion}"]
    process = run("play", "faraway", "--seats", "policy:lion,greedy", *registered)
    assert process.returncode == 0, process.stderr
    assert "faraway with policy:lion, greedy, seed 0" in process.stdout
    replays = ["--replays", str(tmp_path / "deals")]
    arena = ["arena", "faraway", "--seats", "policy:lion,random", "--matches", "20", *replays]
    first = run(*arena, *registered)
    assert first.returncode == 0, first.stderr
    assert "policy:lion" in first.stdout
    # The same name with another network makes another arena.
    lion.write_bytes(lion.read_bytes().replace(b"small", b"other"))
    second = run(*arena, *registered)
    assert second.returncode == 1
    assert "belongs to another arena" in second.stderr


def test_a_failing_policy_ends_an_arena_that_waits_for_agents(
    client: boardwire.Client, tmp_path: Path
) -> None:
    bad = network(tmp_path / "bad.onnx", client.game("faraway", seats=2), factor=np.nan)
    process = run("arena", "faraway", "--seats", "agent:me,policy:bad", "--policy", f"bad={bad}")
    assert process.returncode == 1
    assert "policy `bad`: logit of action" in process.stderr
