"""Each example does what it says, from its own process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
EXPECTED = {
    "first_match.py": ["scores (", "places ("],
    "gym_loop.py": ["of 10 episodes won"],
    "look_ahead.py --deals 4 --worlds 2 --updates 2": ["of 8 matches won by the policy that looks ahead"],
    "self_play.py --updates 2": ["won before learning", "won after", "decisions a second"],
    "two_processes.py": ["seat 0: scores", "seat 1: scores"],
    "demo.py --matches 1": ["Faraway, 1 matches each at 2, 4, 6 seats", "greedy", "random", "a second"],
}


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {command.split()[0] for command in EXPECTED}


@pytest.mark.parametrize("command", EXPECTED)
def test_an_example_runs(command: str) -> None:
    name, *arguments = command.split()
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    for words in EXPECTED[command]:
        assert words in ran.stdout
