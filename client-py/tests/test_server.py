"""The private server: the client finds and starts it, and it ends with the process that started it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from processes import fake_server

import boardwire
from boardwire._process import find_binary
from boardwire._server import PrivateServer

pytestmark = pytest.mark.slow


def test_each_client_starts_its_own_server_and_removes_its_folder() -> None:
    with boardwire.connect() as client, boardwire.connect() as other:
        assert client.address != other.address
        assert client.games() == other.games()
        folder = Path(client.address.removeprefix("unix:")).parent
        assert folder.exists()
    assert not folder.exists()


def test_a_server_has_its_own_process_group() -> None:
    with boardwire.connect() as client:
        assert client._private is not None
        server = client._private._process.pid
        # Terminals and notebooks send an interrupt to the whole process group.
        assert os.getpgid(server) == server != os.getpgid(0)


def test_the_environment_variable_for_the_binary_has_precedence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BOARDWIRE_BINARY", str(fake_server(tmp_path, "exit 0")))
    assert find_binary() == tmp_path / "boardwire"


def test_the_error_for_a_missing_binary_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BOARDWIRE_BINARY", str(tmp_path / "missing"))
    with pytest.raises(boardwire.errors.StartError, match="BOARDWIRE_BINARY"):
        boardwire.connect()
    monkeypatch.delenv("BOARDWIRE_BINARY")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(boardwire.errors.StartError, match="install the package's wheel"):
        find_binary()


def test_the_error_quotes_the_output_of_a_server_that_ends_at_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BOARDWIRE_BINARY", str(fake_server(tmp_path, "echo no luck today >&2; exit 3")))
    with pytest.raises(boardwire.errors.StartError, match=r"\(3\); its output: no luck today"):
        boardwire.connect()


def test_a_server_that_hangs_at_start_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOARDWIRE_BINARY", str(fake_server(tmp_path, "exec cat")))
    with pytest.raises(boardwire.errors.StartError, match="did not start"):
        PrivateServer(timeout=0.1)


def test_the_error_quotes_wrong_arguments() -> None:
    with pytest.raises(boardwire.errors.StartError, match="--no-such-flag"):
        boardwire.connect(server_args=["--no-such-flag"])


def test_server_arguments_need_a_private_server() -> None:
    with pytest.raises(ValueError, match="private server"):
        boardwire.connect("localhost:1", server_args=["--max-matches=1"])


def test_an_address_without_a_server_is_a_lost_connection() -> None:
    with (
        boardwire.connect("127.0.0.1:1") as client,
        pytest.raises(boardwire.errors.ConnectionLost, match=r"127\.0\.0\.1:1"),
    ):
        client.games()


def test_a_killed_server_is_a_lost_connection_with_its_exit_status() -> None:
    server = PrivateServer()
    with boardwire.Client(server, found_by=boardwire.Address()) as client:
        match = client.create_match("faraway", players=["agent", "random"])
        seat = match.join(0)
        with seat as stream:
            obs = stream.observe()
            server._process.kill()
            server._process.wait()
            action = int(obs.mask.nonzero()[0][0])
            for lost in (stream, seat):
                with pytest.raises(boardwire.errors.ConnectionLost, match="ended with status -9"):
                    lost.act(action)


PROGRAM = """
import boardwire, os, signal, sys
client = boardwire.connect()
client.games()
forked = os.fork() if {fork} else 0
if {fork} and not forked:
    signal.pause()
print(client._private._process.pid, forked, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs os.pidfd_open")
@pytest.mark.parametrize("fork", [False, True])
def test_the_server_ends_when_its_process_is_killed(fork: bool) -> None:
    command = [sys.executable, "-c", PROGRAM.format(fork=fork)]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    server_id, forked = map(int, parent.stdout.readline().split())
    descriptor = os.pidfd_open(server_id)
    assert parent.stdin is not None
    parent.stdin.close()
    parent.wait()
    # A process descriptor is readable after the process ended.
    ended, _, _ = select.select([descriptor], [], [], 20)
    os.close(descriptor)
    if forked:
        os.kill(forked, signal.SIGKILL)
    parent.stdout.close()
    assert ended


def test_a_match_survives_a_killed_client(client: boardwire.Client) -> None:
    code = f"""
import boardwire, os, signal
client = boardwire.connect({client.address!r})
match = client.create_match("faraway", players=["agent", "agent"])
with match.join(0) as seat:
    seat.observe()
    print(match.id, match.invitations[1].code, seat.token, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    match_id, invitation, token = killed.stdout.split()
    # The match continues, and the token gives access to its seat.
    seats = [client.seat(match_id, token), client.join(invitation)]
    for seat in seats:
        obs = seat.observe()
        seat.act(int(obs.mask.nonzero()[0][0]), wait=False)
    assert seats[0].observe(wait=False).ply == 2


def test_the_temporary_folder_can_have_any_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Not `tmp_path`: its path is too long for a socket.
    folder = Path(tempfile.mkdtemp(suffix="100%41 #?ü"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with boardwire.connect() as client:
        assert len(client.games()) == 3
    folder.rmdir()


def test_environment_variables_of_other_servers_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("BOARDWIRE_LISTEN", "0.0.0.0:1"),
        ("BOARDWIRE_CONFIG", "/nowhere"),
        ("BOARDWIRE_MAX_MATCHES", "1"),
        ("BOARDWIRE_IDLE_TIMEOUT", "1"),
        ("BOARDWIRE_AUTH_TOKEN_FILE", "/nowhere"),
    ):
        monkeypatch.setenv(name, value)
    with boardwire.connect() as client:
        limits = client.server().limits
        assert limits.matches > 1
        # A laptop can sleep for a night.
        assert limits.batch_idle_timeout == limits.match_idle_timeout == 7 * 24 * 3600
    with boardwire.connect(server_args=["--idle-timeout=90"]) as client:
        assert client.server().limits.batch_idle_timeout == 90
        assert client.server().limits.opening_timeout == 30
    monkeypatch.setenv("BOARDWIRE_LOG_LEVEL", "nonsense")
    with pytest.raises(boardwire.errors.StartError, match="nonsense"):
        boardwire.connect()


def test_a_private_server_starts_in_each_locale() -> None:
    code = "import boardwire\nwith boardwire.connect() as client: print(len(client.games()))"
    folder = Path(tempfile.mkdtemp(suffix="ü"))
    for variables in ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C.UTF-8"}):
        environment = {**os.environ, **variables, "TMPDIR": str(folder)}
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert result.stdout.strip() == "3", result.stderr
    folder.rmdir()
