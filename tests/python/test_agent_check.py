"""`boardwire agent-check` passes an agent that follows the protocol, and finds each flaw of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from boardwire._process import find_binary

FLAWED = Path(__file__).with_name("flawed_agent.py")


def examine(flaw: str, only: str) -> subprocess.CompletedProcess[str]:
    limit = "60" if flaw == "none" else "8"
    command = [str(find_binary()), "agent-check", "--limit", limit, "--only", only]
    agent = [sys.executable, str(FLAWED), flaw]
    return subprocess.run([*command, "--", *agent], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("flaw", "only", "expected"),
    [
        ("none", "rauha", "12 of 12 passed"),
        ("none", "the invitation is invalid", "1 of 1 passed"),
        ("talkative", "rauha, 2 seats: an episode", "1 of 1 passed"),
        ("lowest", "rauha, 2 seats: an episode", "the policy ends it after"),
        ("one episode", "rauha, 2 seats: three episodes", "when 1 of 3 episodes were over"),
        ("gives up", "rauha, 2 seats: responses and connections", "ended with exit status: 1"),
        ("joins twice", "rauha, 2 seats: the response to the join is lost", "has been joined already"),
        ("stubborn", "rauha, 2 seats: the host resets", "is not due"),
        ("impatient", "rauha, 2 seats: another seat is slow", "when 0 of 2 episodes were over"),
        ("endless", "rauha, 2 seats: an episode", "and the agent did not end"),
        (
            "fails at the end",
            "rauha, 2 seats: an episode",
            "and the agent ended with exit status: 3, not with 0",
        ),
        ("silent", "the invitation is invalid", "the agent's stderr is empty"),
        ("content", "the invitation is invalid", "and the agent ended with 0"),
    ],
)
def test_each_flaw_is_found(flaw: str, only: str, expected: str) -> None:
    result = examine(flaw, only)
    assert expected in result.stdout, result.stdout + result.stderr
    assert (result.returncode == 0) == (flaw in ("none", "talkative"))


def test_a_selection_without_checks_is_an_error() -> None:
    result = examine("none", "chess")
    assert (result.returncode, result.stdout) == (1, "")
    assert "has `chess` in its name" in result.stderr
