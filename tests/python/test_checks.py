"""What `boardwire serve --check` and `python -m boardwire doctor` find, where all is well and elsewhere."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import boardwire
from boardwire._process import find_binary

#: What is set on this machine for other programs.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("BOARDWIRE_")}


def run(command: list[str], **variables: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Runs a program that prints a line for each check; gives its exit code and the lines by their names."""
    ended = subprocess.run(command, env={**PLAIN, **variables}, capture_output=True, text=True, timeout=120)
    lines = [line.partition(": ") for line in ended.stdout.splitlines()]
    found = {name.split(maxsplit=1)[1]: (name.split()[0], text) for name, _, text in lines}
    assert any(status == "fail" for status, _ in found.values()) == (ended.returncode == 1), ended
    return ended.returncode, found


def check(*arguments: str, **variables: str) -> dict[str, tuple[str, str]]:
    """What `serve --check` finds."""
    listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
    return run([str(find_binary()), "serve", "--check", *listen, *arguments], **variables)[1]


def test_a_server_that_would_start_is_told_so(tmp_path: Path) -> None:
    found = check("--journal", str(tmp_path / "journal"), "--max-bytes", "1000000")
    names = ["logs", "files", "snapshots", "threads", "games", "sockets"]
    names += ["journal", "descriptors", "memory", "variables"]
    assert list(found) == names
    # What the machine is short of is another matter.
    assert {status for status, _ in found.values()} <= {"ok", "warn"}
    assert "faraway" in found["games"][1]
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_each_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    absent = str(tmp_path / "absent")
    for flag, name in [("--auth-token-file", "files"), ("--snapshot-key", "snapshots")]:
        status, text = check(flag, absent)[name]
        assert status == "fail"
        assert absent in text
    for flag, word in [("--log-level", "loud"), ("--otlp-endpoint", "collector")]:
        status, text = check(flag, word)["logs"]
        assert status == "fail"
        assert word in text
    for flag in ["--catalogue", "--policy"]:
        status, text = check(flag, f"faraway={absent}")["games"]
        assert status == "fail"
        assert absent in text


def test_what_serve_would_not_take_is_refused_in_the_same_words() -> None:
    status, text = check("--listen", "0.0.0.0:0")["files"]
    assert status == "fail"
    assert "--insecure" in text
    binary = str(find_binary())
    wrong = subprocess.run([binary, "serve", "--check", "--threads", "x"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "--threads" in wrong.stderr


def test_an_address_that_is_taken_fails(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        there = f"127.0.0.1:{taken.getsockname()[1]}"
        status, text = check("--listen", there)["sockets"]
    assert status == "fail"
    assert there in text
    status, text = check("--listen", f"unix:{tmp_path / 'absent' / 'socket'}")["sockets"]
    assert status == "fail"
    assert "absent" in text


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file in a folder."""
    return {file.name: (file.stat().st_mode, file.read_bytes()) for file in folder.iterdir()}


def test_a_journal_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with boardwire.connect(server_args=["--journal", str(journal)]) as client:
        match = client.create_match("faraway", players=["agent", "random"])
        match.join(0)
        # A server has it open.
        assert check("--journal", str(journal))["journal"][0] == "fail"
    before = contents(tmp_path)
    status, text = check("--journal", str(journal))["journal"]
    assert status != "fail"
    assert text.startswith("1 matches can continue")
    assert contents(tmp_path) == before
    journal.write_bytes(b"no journal" * 100)
    assert check("--journal", str(journal))["journal"][0] == "fail"
    assert check("--journal", str(tmp_path / "absent" / "journal"))["journal"][0] == "fail"


def test_an_empty_file_is_no_journal_yet(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.touch(0o664)
    before = contents(tmp_path)
    status, text = check("--journal", str(journal))["journal"]
    assert status != "fail"
    assert "a new one can be created" in text
    assert contents(tmp_path) == before


def test_a_socket_that_a_killed_server_left_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert check("--listen", f"unix:{path}")["sockets"][0] == "ok"
    assert path.exists()


def test_few_descriptors_and_misspelt_variables_are_warned_of() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = (
        "import resource, subprocess, sys;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}));"
        "sys.exit(subprocess.call(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, str(find_binary()), "serve", "--check", "--listen", "127.0.0.1:0"]
    _, found = run(words, BOARDWIRE_MAX_MATCHS="3")
    assert found["descriptors"][0] == "warn"
    assert "ulimit -n 4160" in found["descriptors"][1]
    assert found["variables"] == (
        "warn",
        "no flag and no client reads BOARDWIRE_MAX_MATCHS: "
        "`boardwire serve --help` names the variable of each flag",
    )


def doctor(*arguments: str, **variables: str) -> dict[str, tuple[str, str]]:
    """What `python -m boardwire doctor` finds."""
    return run([sys.executable, "-m", "boardwire", "doctor", *arguments], **variables)[1]


def test_an_installation_that_plays_is_told_so(address: str) -> None:
    found = doctor(address, BOARDWIRE_BINARY=str(find_binary()))
    names = ["interpreter", "packages", "extension", "binary", "private server", "server"]
    assert list(found) == names
    assert {status for status, _ in found.values()} == {"ok"}, found
    assert boardwire.__version__ in found["server"][1]


def test_a_binary_that_is_none_or_another_version_fails(tmp_path: Path) -> None:
    absent = doctor(BOARDWIRE_BINARY=str(tmp_path / "absent"))
    assert absent["binary"][0] == absent["private server"][0] == "fail"
    older = tmp_path / "older"
    older.write_text("#!/bin/sh\necho boardwire 0.0.1\n")
    older.chmod(0o755)
    status, text = doctor(BOARDWIRE_BINARY=str(older))["binary"]
    assert status == "fail"
    assert "0.0.1" in text
    assert boardwire.__version__ in text


def test_a_server_that_is_not_there_is_told_and_no_proxy_is_in_the_way() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{free.getsockname()[1]}"
        found = doctor(there, http_proxy="http://proxy:1", no_proxy="", BOARDWIRE_BINARY=str(find_binary()))
    assert found["server"][0] == "fail"
    assert there in found["server"][1]
    assert found["private server"][0] == "ok"


@pytest.mark.parametrize("words", [[], ["cure"], ["doctor", "a", "b"]])
def test_other_words_are_refused(words: list[str]) -> None:
    ended = subprocess.run([sys.executable, "-m", "boardwire", *words], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "usage" in ended.stderr
