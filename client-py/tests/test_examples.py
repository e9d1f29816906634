"""Each example runs in its own process and prints its results."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import boardwire

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
CLONED = ["decisions of greedy read from", "the clone agrees with greedy in", "wins against greedy"]
EXPECTED = {
    "clone_bot.py --episodes 20 --environments 10 --epochs 1 --deals 4": CLONED,
    "clone_bot.py --episodes 20 --environments 10 --epochs 1 --deals 4 --source minari": CLONED,
    "dm_env_rpc_agent.py --episodes 20": ["of 20 episodes won; ", " steps a second"],
    "first_match.py": ["scores (", "places ("],
    "gym_loop.py": ["of 10 episodes won"],
    "look_ahead.py --deals 4 --worlds 2 --considered 5": ["of 8 matches won by the search"],
    "open_spiel_search.py --matches 1 --simulations 10": ["of 1 matches won or shared by the search"],
    "rllib_ppo.py --iterations 2 --batch 200 --runners 1 --deals 4": [
        "learned from ",
        "wins against greedy",
    ],
    "self_play.py --updates 2": ["won before learning", "won after", "decisions a second"],
    "two_processes.py": ["seat 0: scores", "seat 1: scores"],
    "train_ppo.py golden_compass --decisions 4000 --warm-up 2000 --deals 4 --environments 32 --steps 16": [
        " decisions in ",
        "wins against greedy: ",
        "plays as policy:NAME:argmax, and best as search:NAME:PLAYOUTS",
    ],
    "sb3_maskable_ppo.py --timesteps 4096 --environments 8 --deals 4": [
        "wins against random: ",
        "decisions; the model is runs/sb3/faraway.zip",
    ],
    "cleanrl_ppo.py rauha --timesteps 1024 --environments 8 --minibatch 64 --deals 4": [
        "before learning, wins against random: ",
        "after learning, wins against random: ",
        "the network is runs/cleanrl/rauha.pt",
    ],
    "torchrl_ppo.py --timesteps 1024 --environments 8 --minibatch 64 --deals 4": [
        "before learning, wins against random: ",
        "after learning, wins against random: ",
        "the networks are runs/torchrl/faraway.pt",
    ],
    "demo.py --matches 1": ["Faraway, 1 matches each at 2, 4, 6 seats", "greedy", "random", "a second"],
}
#: The packages that examples need, beyond those of the tests.
NEEDS = {
    "clone_bot.py": ["torch", "pyarrow", "minari"],
    "cleanrl_ppo.py": ["torch"],
    "dm_env_rpc_agent.py": ["dm_env_rpc"],
    "open_spiel_search.py": ["pyspiel"],
    "rllib_ppo.py": ["ray"],
    "sb3_maskable_ppo.py": ["sb3_contrib"],
    "probe_network.py": ["torch"],
    "torchrl_ppo.py": ["torchrl"],
    "train_ppo.py": ["torch"],
}
#: Examples that may warn: PyTorch's exporter, TensorBoard and TorchRL warn about their own code.
WARNS = {"train_ppo.py", "torchrl_ppo.py"}


def end_early(
    command: Sequence[str], folder: Path, has_begun: Callable[[str], bool], delay: float = 0
) -> str:
    """Runs an example until `has_begun` accepts its output, waits for the delay, and presses Ctrl-C.

    An interruption can get lost: Python ignores exceptions in `__del__` and in callbacks of C. Then this
    function presses Ctrl-C again, as a user does.

    Returns:
        The output after that. The exit status must be 0.
    """
    ran = subprocess.Popen(
        [sys.executable, "-u", str(EXAMPLES / command[0]), *command[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
    )

    def read_until(is_enough: Callable[[str], bool], seconds: float) -> str:
        assert ran.stdout is not None
        output, end = "", time.monotonic() + seconds
        while ran.poll() is None and not is_enough(output) and time.monotonic() < end:
            output += (ran.stdout.read() or b"").decode(errors="replace")
            time.sleep(0.05)
        return output

    with ran:
        assert ran.stdout is not None
        os.set_blocking(ran.stdout.fileno(), False)
        before, after = read_until(has_begun, math.inf), ""
        time.sleep(delay)
        while ran.poll() is None and "ended early" not in after:
            # Like a terminal, this interrupts all processes of the group, including the private server.
            os.killpg(ran.pid, signal.SIGINT)
            after += read_until(lambda output: "ended early" in output, 20)
        os.set_blocking(ran.stdout.fileno(), True)
        after += ran.communicate(timeout=120)[0].decode(errors="replace")
    assert ran.returncode == 0, before + after
    return after


def test_every_example_is_run() -> None:
    run_here = {command.split()[0] for command in EXPECTED}
    # These need a small game, a network, a chat endpoint or a language model, so they have their own tests.
    elsewhere = {"probe_network.py", "solve_game.py", "tool_loop.py", "trl_grpo.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == run_here | elsewhere


def need(name: str) -> None:
    """Skips the test if a package that an example needs is missing."""
    missing = [package for package in NEEDS.get(name, ()) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"{name} needs {missing}")


def run(command: str, folder: Path) -> str:
    """Runs an example in a folder, with warnings as errors, and returns its output."""
    name, *arguments = command.split()
    need(name)
    strict = [] if name in WARNS else ["-W", "error"]
    ran = subprocess.run(
        [sys.executable, *strict, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an example as a module."""
    need(f"{name}.py")
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module(name)


@pytest.mark.parametrize("command", EXPECTED)
def test_an_example_runs(command: str, tmp_path: Path) -> None:
    output = run(command, tmp_path)
    for words in EXPECTED[command]:
        assert words in output


SMALL = "train_ppo.py faraway --deals 2 --environments 16 --steps 8"


def logged(folder: Path) -> list[dict[str, Any]]:
    """Returns the metrics of the updates in the log of a training, without measurements."""
    lines = (folder / "runs/faraway/log.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "rate" in line]


@pytest.mark.parametrize(("warm_up", "loss", "rate"), [(0, "policy_loss", 1e-4), (8000, "action_loss", 4e-3)])
def test_resumed_training_continues_where_it_ended(
    warm_up: int, loss: str, rate: float, tmp_path: Path
) -> None:
    begun = run(f"{SMALL} --warm-up {warm_up} --decisions 8000 --minutes 0.001", tmp_path)
    first = logged(tmp_path)
    output = run(f"{SMALL} --warm-up {warm_up} --decisions {warm_up or 4000} --resume", tmp_path)
    updates = logged(tmp_path)
    assert updates[: len(first)] == first
    assert 0 < len(first) < len(updates)
    assert all(loss in update for update in updates)
    decisions = [0, *(update["decisions"] for update in updates)]
    assert f"{decisions[len(first)]:,} decisions in " in begun
    assert f"{decisions[-1]:,} decisions in " in output
    for before, update in zip(decisions[:-1], updates, strict=True):
        end = warm_up or (8000 if before < first[-1]["decisions"] else 4000)
        assert update["rate"] == pytest.approx(rate * max(1 - before / end, 0.05))


def test_a_training_ends_at_its_decisions_also_in_the_warm_up(tmp_path: Path) -> None:
    run(f"{SMALL} --decisions 500", tmp_path)
    assert 500 <= logged(tmp_path)[-1]["decisions"] < 1000


def test_equal_seeds_train_equal_networks(tmp_path: Path) -> None:
    need("train_ppo.py")
    import torch

    networks = []
    for number, seed in enumerate((1, 1, 2)):
        run(f"{SMALL} --decisions 3000 --warm-up 1500 --seed {seed} --out {number}", tmp_path)
        state = torch.load(tmp_path / str(number) / "checkpoint.pt", weights_only=True)
        networks.append(torch.cat([values.ravel() for values in state["network"].values()]))
    assert torch.equal(networks[0], networks[1])
    assert not torch.equal(networks[0], networks[2])


def test_a_network_guides_the_search(client: boardwire.Client, tmp_path: Path) -> None:
    spec = client.game("faraway", seats=2)
    weights = np.random.default_rng(7).normal(0, 0.05, (spec.view_bytes, len(spec.actions)))
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["view"], ["floats"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["floats", "weights"], ["logits"]),
            helper.make_node("ReduceMean", ["logits"], ["value"], axes=[1], keepdims=0),
        ],
        "linear",
        [helper.make_tensor_value_info("view", TensorProto.UINT8, ["rows", spec.view_bytes])],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", len(spec.actions)]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["rows"]),
        ],
        [numpy_helper.from_array(weights.astype(np.float32), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    metadata = {"spec": spec.digest, "encoding": "bytes", "outputs": "logits", "value": "30"}
    helper.set_model_props(model, {f"boardwire.{key}": value for key, value in metadata.items()})
    onnx.save(model, str(tmp_path / "linear.onnx"))
    command = "look_ahead.py --deals 2 --worlds 2 --considered 4 --network linear.onnx"
    assert "of 4 matches won by the search" in run(command, tmp_path)


def test_self_play_counts_decisions(client: boardwire.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    example = load("self_play", monkeypatch)
    counts: list[int] = []
    example.learn(client, environments=8, updates=2, rate=40.0, seed=7, progress=counts.append)
    assert len(counts) == 2
    # A step that starts an episode has no decision.
    assert all(0 < decisions < 8 * example.STEPS for decisions in counts)


def test_interrupted_training_keeps_its_results(tmp_path: Path) -> None:
    need("train_ppo.py")
    args = [
        "faraway",
        "--deals",
        "2",
        "--environments",
        "16",
        "--steps",
        "8",
        "--against",
        "random",
    ]
    log = tmp_path / "runs/faraway/log.jsonl"
    output = end_early(["train_ppo.py", *args], tmp_path, lambda _: log.exists() and log.stat().st_size > 0)
    assert "ended early" in output
    assert "against random: " in output
    for name in ("checkpoint.pt", "policy.onnx", "curve.png"):
        assert (tmp_path / "runs/faraway" / name).stat().st_size


def test_interrupted_recording_keeps_its_episodes(tmp_path: Path) -> None:
    need("clone_bot.py")
    options = "--bot mc:20 --environments 10 --episodes 100000 --deals 4 --epochs 1"
    folder = tmp_path / "runs/clone/faraway-mc-20"
    output = end_early(
        ["clone_bot.py", *options.split()], tmp_path, lambda _: len(list(folder.glob("*.parquet"))) > 1
    )
    kept = boardwire.Recording(folder).episodes
    assert f"ended early: {kept} episodes are kept" in output
    assert "the clone wins against mc:20" in output


def test_an_interrupted_dm_env_rpc_agent_prints_its_results(tmp_path: Path) -> None:
    need("dm_env_rpc_agent.py")
    # The progress bar shows 0 until the first episode has ended.
    pattern = re.compile(r" [1-9]\d*/100000")
    command = ["dm_env_rpc_agent.py", "--episodes", "100000"]
    output = end_early(command, tmp_path, lambda text: pattern.search(text) is not None)
    assert "ended early" in output
    assert " episodes won; " in output


def test_interrupted_rllib_can_be_resumed(tmp_path: Path) -> None:
    need("rllib_ppo.py")
    small = "rllib_ppo.py --batch 100 --runners 1 --deals 4"
    command = [*small.split(), "--iterations", "1000"]
    output = end_early(command, tmp_path, lambda text: " 2/1000" in text)
    assert "ended early" in output
    assert "wins against greedy" in output
    with pytest.raises(AssertionError, match="exists: continue it with --resume"):
        run(small, tmp_path)
    with pytest.raises(AssertionError, match=r"--resume: there is no checkpoint in .*/elsewhere"):
        run(f"{small} --resume --out elsewhere", tmp_path)
    assert "learned from " in run(f"{small} --resume --iterations 4", tmp_path)


@pytest.mark.parametrize(("failure", "saved"), [(RuntimeError, 0), (KeyboardInterrupt, 1)])
def test_rllib_keeps_its_checkpoint_when_training_fails(
    failure: type[BaseException], saved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = load("rllib_ppo", monkeypatch)
    algorithm = Mock(iteration=0, train=Mock(side_effect=failure))
    monkeypatch.setattr(example, "config", lambda _: Mock(build_algo=lambda: algorithm))
    with contextlib.suppress(RuntimeError):
        example.train(Namespace(resume=False, iterations=1), tmp_path)
    assert algorithm.save_to_path.call_count == saved


@pytest.mark.parametrize(
    ("command", "pattern", "result"),
    [
        ("sb3_maskable_ppo.py --timesteps 100000", "timesteps, wins", "sb3/faraway.zip"),
        ("cleanrl_ppo.py", "before learning", "cleanrl/faraway.pt"),
        ("torchrl_ppo.py", "before learning", "torchrl/faraway.pt"),
    ],
)
def test_interrupted_training_with_a_framework_keeps_its_results(
    command: str, pattern: str, result: str, tmp_path: Path
) -> None:
    name, *arguments = f"{command} --deals 4 --environments 8".split()
    need(name)
    output = end_early([name, *arguments], tmp_path, lambda text: bool(re.search(pattern, text)), delay=1)
    assert "ended early" in output
    assert "wins against random: " in output
    assert (tmp_path / "runs" / result).stat().st_size


def test_a_trained_network_is_probed(tmp_path: Path) -> None:
    need("probe_network.py")
    with pytest.raises(AssertionError, match=r"there is no runs/faraway/checkpoint\.pt: train_ppo"):
        run("probe_network.py", tmp_path)
    run(f"{SMALL} --decisions 1500 --warm-up 1500", tmp_path)
    small = "probe_network.py --environments 16 --probes 4 --playouts 1"
    output = run(small, tmp_path)
    for kind in ("explore", "take", "all"):
        assert re.search(
            rf"^{kind} +\d+ +\d\.\d +(\d+%|-) +-?\d+\.\d\d +-?\d+\.\d\d$", output, re.MULTILINE
        ), output
    assert "explore round 1 " in run(f"{small} --by phase round", tmp_path)
    with pytest.raises(AssertionError, match="--by must be fields of one value: round, phase"):
        run(f"{small} --by lines", tmp_path)
    pattern = re.compile(r" ([4-9]|\d\d+)/19998")
    output = end_early(
        [*small.split(), "--probes", "9999"], tmp_path, lambda text: pattern.search(text) is not None
    )
    assert "ended early" in output


def test_resumed_training_refuses_other_settings(tmp_path: Path) -> None:
    need("train_ppo.py")
    small = f"{SMALL} --decisions 1000 --warm-up 0"
    run(small, tmp_path)
    for options, message in (
        ("", "checkpoint.pt exists; use --resume"),
        ("--resume --hidden 64", "was made for"),
        ("--resume --seats 3", "was made for"),
        ("--resume --out elsewhere", "there is no elsewhere/checkpoint.pt"),
    ):
        with pytest.raises(AssertionError, match=message):
            run(f"{small} {options}", tmp_path)
