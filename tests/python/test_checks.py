"""Results of `boardwire serve --check` and `python -m boardwire doctor`."""

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

#: The environment without variables of Boardwire.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("BOARDWIRE_")}


def run(command: list[str], **variables: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Runs a program that prints a line per check; returns its exit code and the lines by check."""
    process = subprocess.run(
        command, env={**ENVIRONMENT, **variables}, capture_output=True, text=True, timeout=120
    )
    lines = [line.partition(": ") for line in process.stdout.splitlines()]
    results = {name.split(maxsplit=1)[1]: (name.split()[0], text) for name, _, text in lines}
    assert any(status == "fail" for status, _ in results.values()) == (process.returncode == 1), process
    return process.returncode, results


def check(*arguments: str, **variables: str) -> dict[str, tuple[str, str]]:
    """Runs `serve --check` and returns its results."""
    listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
    return run([str(find_binary()), "serve", "--check", *listen, *arguments], **variables)[1]


def test_no_check_fails_for_a_server_that_can_start(tmp_path: Path) -> None:
    results = check("--journal", str(tmp_path / "journal"), "--max-bytes", "1000000")
    names = ["logs", "files", "snapshots", "threads", "games", "sockets"]
    names += ["journal", "descriptors", "memory", "variables"]
    assert list(results) == names
    # If the machine has too little memory or too few descriptors, the check only warns.
    assert {status for status, _ in results.values()} <= {"ok", "warn"}
    assert "faraway" in results["games"][1]
    assert list(tmp_path.iterdir()) == [], "a check must leave no file"


def test_each_invalid_file_is_named(tmp_path: Path) -> None:
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


def test_invalid_arguments_are_the_same_errors_as_in_serve() -> None:
    status, text = check("--listen", "0.0.0.0:0")["files"]
    assert status == "fail"
    assert "--insecure" in text
    binary = str(find_binary())
    wrong = subprocess.run([binary, "serve", "--check", "--threads", "x"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "--threads" in wrong.stderr


def test_an_address_in_use_fails(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        used = f"127.0.0.1:{listener.getsockname()[1]}"
        status, text = check("--listen", used)["sockets"]
    assert status == "fail"
    assert used in text
    status, text = check("--listen", f"unix:{tmp_path / 'absent' / 'socket'}")["sockets"]
    assert status == "fail"
    assert "absent" in text


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Returns mode and bytes of each file in a folder."""
    return {file.name: (file.stat().st_mode, file.read_bytes()) for file in folder.iterdir()}


def test_a_journal_is_checked_and_not_changed(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with boardwire.connect(server_args=["--journal", str(journal)]) as client:
        match = client.create_match("faraway", players=["agent", "random"])
        match.join(0)
        # The server of this client has the journal open.
        assert check("--journal", str(journal))["journal"][0] == "fail"
    before = contents(tmp_path)
    status, text = check("--journal", str(journal))["journal"]
    assert status != "fail"
    assert text.startswith("1 matches can continue")
    assert contents(tmp_path) == before
    journal.write_bytes(b"not a journal" * 100)
    assert check("--journal", str(journal))["journal"][0] == "fail"
    assert check("--journal", str(tmp_path / "absent" / "journal"))["journal"][0] == "fail"


def test_an_empty_file_can_become_a_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.touch(0o664)
    before = contents(tmp_path)
    status, text = check("--journal", str(journal))["journal"]
    assert status != "fail"
    assert "a new one can be created" in text
    assert contents(tmp_path) == before


def test_a_check_does_not_remove_the_socket_of_a_killed_server(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    assert check("--listen", f"unix:{path}")["sockets"][0] == "ok"
    assert path.exists()


def test_few_descriptors_and_unknown_variables_are_warnings() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = (
        "import resource, subprocess, sys;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}));"
        "sys.exit(subprocess.call(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, str(find_binary()), "serve", "--check", "--listen", "127.0.0.1:0"]
    _, results = run(command, BOARDWIRE_MAX_MATCHS="3")
    assert results["descriptors"][0] == "warn"
    assert "ulimit -n 4160" in results["descriptors"][1]
    assert results["variables"] == (
        "warn",
        "no flag and no client reads BOARDWIRE_MAX_MATCHS: "
        "`boardwire serve --help` names the variable of each flag",
    )


def doctor(*arguments: str, **variables: str) -> dict[str, tuple[str, str]]:
    """Runs `python -m boardwire doctor` and returns its results."""
    return run([sys.executable, "-m", "boardwire", "doctor", *arguments], **variables)[1]


def test_all_checks_of_a_working_installation_are_ok(address: str) -> None:
    results = doctor(address, BOARDWIRE_BINARY=str(find_binary()))
    names = ["interpreter", "packages", "extension", "binary", "private server", "server"]
    assert list(results) == names
    assert {status for status, _ in results.values()} == {"ok"}, results
    assert boardwire.__version__ in results["server"][1]


def test_a_missing_binary_or_another_version_fails(tmp_path: Path) -> None:
    absent = doctor(BOARDWIRE_BINARY=str(tmp_path / "absent"))
    assert absent["binary"][0] == absent["private server"][0] == "fail"
    older = tmp_path / "older"
    older.write_text("#!/bin/sh\necho boardwire 0.0.1\n")
    older.chmod(0o755)
    status, text = doctor(BOARDWIRE_BINARY=str(older))["binary"]
    assert status == "fail"
    assert "0.0.1" in text
    assert boardwire.__version__ in text


def test_a_missing_server_fails_and_local_servers_need_no_proxy() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        missing = f"127.0.0.1:{unused.getsockname()[1]}"
        results = doctor(
            missing, http_proxy="http://proxy:1", no_proxy="", BOARDWIRE_BINARY=str(find_binary())
        )
    assert results["server"][0] == "fail"
    assert missing in results["server"][1]
    assert results["private server"][0] == "ok"


@pytest.mark.parametrize("arguments", [[], ["cure"], ["doctor", "a", "b"]])
def test_unknown_arguments_print_the_usage(arguments: list[str]) -> None:
    process = subprocess.run([sys.executable, "-m", "boardwire", *arguments], capture_output=True, text=True)
    assert process.returncode == 2
    assert "usage" in process.stderr
