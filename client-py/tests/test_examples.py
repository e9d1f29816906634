"""Each example does what it says, from its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boardwire

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
CLONED = ["decisions of greedy read back from", "held out are chosen as greedy did", "wins against greedy"]
EXPECTED = {
    "clone_bot.py --episodes 20 --environments 10 --epochs 1 --deals 4": CLONED,
    "clone_bot.py --episodes 20 --environments 10 --epochs 1 --deals 4 --source minari": CLONED,
    "first_match.py": ["scores (", "places ("],
    "gym_loop.py": ["of 10 episodes won"],
    "look_ahead.py --deals 4 --worlds 2 --updates 2": ["of 8 matches won by the policy that looks ahead"],
    "open_spiel_search.py --matches 1 --simulations 10": ["of 1 matches won or shared by the search"],
    "self_play.py --updates 2": ["won before learning", "won after", "decisions a second"],
    "two_processes.py": ["seat 0: scores", "seat 1: scores"],
    "train_ppo.py golden_compass --minutes 0.1 --deals 4 --environments 32": [
        "decisions in 0.1 minutes",
        "against greedy: ",
        "policy.onnx plays as policy:NAME",
    ],
    "demo.py --matches 1": ["Faraway, 1 matches each at 2, 4, 6 seats", "greedy", "random", "a second"],
}

#: What examples need that is not in the environment of all tests.
HEAVY = {
    "clone_bot.py": ["torch", "pyarrow", "minari"],
    "open_spiel_search.py": ["pyspiel"],
    "train_ppo.py": ["torch"],
}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {command.split()[0] for command in EXPECTED}


def run(command: str, folder: Path) -> str:
    """What an example prints that is run in a folder; warnings are errors."""
    name, *arguments = command.split()
    strict = ["-W", "error"]
    for package in HEAVY.get(name, ()):
        pytest.importorskip(package)
    if name == "train_ppo.py":
        # PyTorch's exporter and TensorBoard warn of what they use themselves.
        strict = []
    ran = subprocess.run(
        [sys.executable, *strict, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("command", EXPECTED)
def test_an_example_runs(command: str, tmp_path: Path) -> None:
    told = run(command, tmp_path)
    for words in EXPECTED[command]:
        assert words in told


def test_training_goes_on_where_it_ended(tmp_path: Path) -> None:
    command = "train_ppo.py faraway --deals 2 --environments 16 --steps 8 --measure 1 --minutes"
    run(f"{command} 0.05", tmp_path)
    begun = (tmp_path / "runs/faraway/log.jsonl").read_text()
    told = run(f"{command} 0.1 --resume", tmp_path)
    log = (tmp_path / "runs/faraway/log.jsonl").read_text()
    assert log.startswith(begun)
    samples = [json.loads(line)["samples"] for line in log.splitlines()]
    assert samples == sorted(set(samples))
    assert f"{samples[-1]:,} decisions" in told


def test_training_ends_early_and_keeps_what_was_done(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    kinds = [
        "faraway",
        "--deals",
        "2",
        "--environments",
        "16",
        "--steps",
        "8",
        "--minutes",
        "60",
        "--against",
        "random",
    ]
    command = [sys.executable, str(EXAMPLES / "train_ppo.py"), *kinds]
    # As a terminal does, Ctrl-C tells all processes of the group: the private server, too.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, cwd=tmp_path, text=True, start_new_session=True) as ran:
        log = tmp_path / "runs/faraway/log.jsonl"
        while ran.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.05)
        os.killpg(ran.pid, signal.SIGINT)
        told, _ = ran.communicate(timeout=60)
    assert ran.returncode == 0
    assert "ended early" in told
    assert "against random: " in told
    for name in ("checkpoint.pt", "policy.onnx", "curve.png"):
        assert (tmp_path / "runs/faraway" / name).stat().st_size


def test_recording_ends_early_and_keeps_what_was_done(tmp_path: Path) -> None:
    for package in HEAVY["clone_bot.py"]:
        pytest.importorskip(package)
    kinds = "--bot mc:20 --environments 10 --episodes 100000 --deals 4 --epochs 1"
    command = [sys.executable, str(EXAMPLES / "clone_bot.py"), *kinds.split()]
    pipe, folder = subprocess.PIPE, tmp_path / "runs/clone/faraway-mc-20"
    with subprocess.Popen(command, stdout=pipe, cwd=tmp_path, text=True, start_new_session=True) as ran:
        while ran.poll() is None and len(list(folder.glob("*.parquet"))) < 2:
            time.sleep(0.05)
        os.killpg(ran.pid, signal.SIGINT)
        told, _ = ran.communicate(timeout=60)
    assert ran.returncode == 0
    kept = boardwire.Recording(folder).episodes
    assert f"ended early: {kept} episodes are kept" in told
    assert "the clone wins against mc:20" in told


def test_training_goes_on_only_with_what_fits(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    small = "train_ppo.py faraway --deals 2 --environments 16 --steps 8 --measure 1 --minutes 0.03"
    run(small, tmp_path)
    for more, said in (
        ("", "is there: --resume goes on with it"),
        ("--resume --hidden 64", "not of"),
        ("--resume --seats 3", "not of"),
        ("--resume --out elsewhere", "there is no elsewhere/checkpoint.pt"),
    ):
        with pytest.raises(AssertionError, match=said):
            run(f"{small} {more}", tmp_path)
