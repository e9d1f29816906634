"""A command whose output pipe is closed ends with an error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import boardwire
from boardwire._process import find_binary


def run_with_closed_stdout(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command whose stdout is a closed pipe."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(find_binary()), *map(str, arguments)]
    process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    return process


@pytest.mark.parametrize(
    "arguments",
    [
        ["games"],
        ["arena", "faraway", "--matches", "2"],
        ["arena", "faraway", "--matches", "2", "--json"],
        ["agent-check", "--only", "invitation", "--", "false"],
        ["man"],
        ["serve", "--listen", "127.0.0.1:0"],
    ],
    ids=" ".join,
)
def test_a_closed_stdout_is_an_error(arguments: list[str]) -> None:
    process = run_with_closed_stdout(*arguments)
    assert (process.returncode, process.stderr.splitlines()[-1]) == (
        1,
        "boardwire: Broken pipe (os error 32)",
    )


@pytest.mark.parametrize("command", ["man", "proto"])
def test_files_are_written_despite_a_closed_stdout(command: str, tmp_path: Path) -> None:
    process = run_with_closed_stdout(command, "--out", tmp_path)
    assert (process.returncode, process.stderr) == (1, "boardwire: Broken pipe (os error 32)\n")
    assert list(tmp_path.iterdir())


def test_verify_and_health_report_a_closed_stdout(
    client: boardwire.Client, address: str, tmp_path: Path
) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        seat.resign()
        seat.replay().save(tmp_path / "match.json")
        for arguments in (["verify", tmp_path / "match.json"], ["health", address]):
            process = run_with_closed_stdout(*arguments)
            assert (process.returncode, process.stderr) == (1, "boardwire: Broken pipe (os error 32)\n")
