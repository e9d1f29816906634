"""The reader of a command's output may stop reading: that is an error like any other."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import boardwire
from boardwire._process import find_binary


def into_nothing(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command whose output nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(find_binary()), *map(str, arguments)]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    return ended


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
def test_a_reader_may_stop_reading(arguments: list[str]) -> None:
    ended = into_nothing(*arguments)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, "boardwire: Broken pipe (os error 32)")


@pytest.mark.parametrize("command", ["man", "proto"])
def test_files_are_written_whose_names_nobody_reads(command: str, tmp_path: Path) -> None:
    ended = into_nothing(command, "--out", tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "boardwire: Broken pipe (os error 32)\n")
    assert list(tmp_path.iterdir())


def test_answers_that_nobody_reads(client: boardwire.Client, address: str, tmp_path: Path) -> None:
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        seat.resign()
        seat.replay().save(tmp_path / "match.json")
        for arguments in (["verify", tmp_path / "match.json"], ["health", address]):
            ended = into_nothing(*arguments)
            assert (ended.returncode, ended.stderr) == (1, "boardwire: Broken pipe (os error 32)\n")
