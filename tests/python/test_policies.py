"""Networks that play in the server: registered by its operator, named by everybody else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import boardwire
from boardwire import GameSpec, errors
from boardwire._process import find_binary

FACTS = {"boardwire.encoding": "bytes", "boardwire.outputs": "logits"}


def network(path: Path, spec: GameSpec, facts: dict[str, str] | None = None, factor: float = 1) -> Path:
    """Writes a network of two layers with weights of its own, as an exporter would."""
    rng, actions, hidden = np.random.default_rng(3), len(spec.actions), 32
    arrays = {
        "scale": np.array(1 / 64, np.float32),
        "first": rng.normal(0, 0.2, (spec.view_bytes, hidden)).astype(np.float32),
        "second": (factor * rng.normal(0, 1, (hidden, actions))).astype(np.float32),
    }
    nodes = [
        helper.make_node("Cast", ["view"], ["bytes"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["bytes", "scale"], ["floats"]),
        helper.make_node("MatMul", ["floats", "first"], ["sums"]),
        helper.make_node("Relu", ["sums"], ["active"]),
        helper.make_node("MatMul", ["active", "second"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("view", TensorProto.UINT8, ["rows", spec.view_bytes])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", actions])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    helper.set_model_props(model, {"boardwire.spec": spec.digest, **FACTS} if facts is None else facts)
    onnx.save(model, str(path))
    return path


@pytest.fixture
def lion(client: boardwire.Client, tmp_path: Path) -> Path:
    """A network for Faraway at two seats."""
    return network(tmp_path / "lion.onnx", client.game("faraway", seats=2))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def played(client: boardwire.Client, bot: str) -> tuple[int, ...]:
    """The scores of a match against a bot, in which the lowest legal action is played."""
    match = client.create_match("faraway", players=["agent", bot], seed=7)
    with match.join(0) as seat:
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(int(seen.mask.argmax()))
    return tuple(seen.scores)


def test_a_policy_plays_matches_and_batches_again_by_its_seed(lion: Path) -> None:
    scores = []
    for _ in range(2):
        with boardwire.connect(server_args=["--policy", f"lion={lion}"]) as client:
            sampled, best = played(client, "policy:lion"), played(client, "policy:lion:argmax")
            assert sampled == played(client, "policy:lion")
            opponents = {1: "policy:lion"}
            with client.open_batch("faraway", seats=2, environments=40, opponents=opponents, seed=7) as batch:
                step, rewards = batch.reset(), []
                for _ in range(30):
                    step = batch.step(step.mask.argmax(axis=1))
                    rewards.append(step.reward[:, 0].copy())
            scores.append((sampled, best, np.concatenate(rewards).tolist()))
    assert scores[0] == scores[1]
    assert scores[0][0] != scores[0][1]
    assert any(scores[0][2])


def test_who_names_a_policy_is_told_which_there_are(lion: Path) -> None:
    with boardwire.connect(server_args=["--policy", f"lion={lion}"]) as client:
        for game, seats, bot, said in [
            ("faraway", 2, "policy:tiger", "policy:lion"),
            ("faraway", 2, "policy:lion:best", "policy:lion"),
            ("faraway", 3, "policy:lion", "`policy:lion` reads"),
            ("rauha", 2, "policy:tiger", "no registered policy reads this table"),
            ("faraway", 2, "policies", "policy:NAME"),
        ]:
            with pytest.raises(errors.InvalidRequest, match=said):
                client.create_match(game, players=["agent", *[bot] * (seats - 1)])
            with pytest.raises(errors.InvalidRequest, match=said):
                client.open_batch(game, seats=seats, environments=2, opponents={1: bot})


def test_a_file_that_cannot_play_is_refused_at_the_start(client: boardwire.Client, tmp_path: Path) -> None:
    spec = client.game("faraway", seats=2)
    digest = {"boardwire.spec": spec.digest}
    for name, facts, said in [
        ("none", {}, "its metadata lacks `boardwire.spec`"),
        (
            "other",
            {**digest, **FACTS, "boardwire.encoding": "features"},
            "`boardwire.encoding` must be `bytes`",
        ),
    ]:
        path = network(tmp_path / f"{name}.onnx", spec, facts)
        for command in ["serve", "play faraway", "arena faraway"]:
            ended = run(*command.split(), "--policy", f"{name}={path}")
            assert (ended.returncode, ended.stdout) == (1, ""), command
            assert f"policy {name}: {path}: {said}" in ended.stderr
    ended = run("serve", "--policy", "lion")
    assert ended.returncode == 2
    assert "`lion` is not NAME=VALUE" in ended.stderr


def test_a_policy_plays_on_the_command_line(lion: Path, tmp_path: Path) -> None:
    registered = ["--policy", f"lion={lion}"]
    shown = run("play", "faraway", "--seats", "policy:lion,greedy", *registered)
    assert shown.returncode == 0, shown.stderr
    assert "faraway with policy:lion, greedy, seed 0" in shown.stdout
    kept = ["--replays", str(tmp_path / "deals")]
    arena = ["arena", "faraway", "--seats", "policy:lion,random", "--matches", "20", *kept]
    first = run(*arena, *registered)
    assert first.returncode == 0, first.stderr
    assert "policy:lion" in first.stdout
    # Another network of the same name is another arena.
    lion.write_bytes(lion.read_bytes().replace(b"small", b"other"))
    second = run(*arena, *registered)
    assert second.returncode == 1
    assert "belongs to another arena" in second.stderr


def test_a_policy_that_fails_ends_an_arena_whose_agents_have_not_come(
    client: boardwire.Client, tmp_path: Path
) -> None:
    bad = network(tmp_path / "bad.onnx", client.game("faraway", seats=2), factor=np.nan)
    ended = run("arena", "faraway", "--seats", "agent:me,policy:bad", "--policy", f"bad={bad}")
    assert ended.returncode == 1
    assert "policy `bad`: logit of action" in ended.stderr
