"""The process that started a private server restarts it once after it ended; errors of lost servers."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from outages import create_match, kill_private
from processes import fake_server, in_child, play

import boardwire
from boardwire import _server
from boardwire._process import ServerProcess

pytestmark = pytest.mark.slow

# Python 3.12 and later warn of each fork in a process with threads. Connections have threads.
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def started_servers(monkeypatch: pytest.MonkeyPatch) -> list[ServerProcess]:
    """Records the servers that this process starts during the test."""
    started: list[ServerProcess] = []

    def start(*args: Any) -> ServerProcess:
        started.append(ServerProcess(*args))
        return started[-1]

    monkeypatch.setattr(_server, "ServerProcess", start)
    return started


def test_the_next_call_restarts_the_server(started_servers: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        games = client.games()
        for call in (
            lambda: client.games() == games,
            lambda: list(client.matches()) == [],
            lambda: play(create_match(client).join(0)),
            lambda: client.open_batch("faraway", environments=1).reset(),
        ):
            target = client.address
            kill_private(client)
            assert client.address == target, "only a call may restart the server"
            assert call()
            assert client.address != target
            assert not Path(target.removeprefix("unix:")).parent.exists()
    assert len(started_servers) == 5
    assert not Path(client.address.removeprefix("unix:")).parent.exists()


def test_several_threads_restart_the_server_once(started_servers: list[ServerProcess]) -> None:
    count = 8
    with boardwire.connect() as client, ThreadPoolExecutor(count) as pool:
        client.game("faraway")
        for round_ in range(3):
            kill_private(client)
            barrier = threading.Barrier(count)

            def play_one(barrier: threading.Barrier = barrier) -> tuple[int, ...]:
                barrier.wait()
                with create_match(client) as match:
                    return play(match.join(0))

            scores = [future.result() for future in [pool.submit(play_one) for _ in range(count)]]
            assert len(set(scores)) == 1
            assert len(started_servers) == round_ + 2


def test_a_client_waits_for_a_server_that_shuts_down(started_servers: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        seat = create_match(client).join(0)
        # The server ends later while a stream is open.
        with seat:
            seat.observe(wait=False)
            started_servers[0].popen.send_signal(signal.SIGTERM)
            while len(started_servers) == 1:
                assert create_match(client)


def test_clients_of_one_server_restart_it_once(started_servers: list[ServerProcess]) -> None:
    server = _server.PrivateServer()
    one, other = (boardwire.Client(server, found_by=boardwire.Address()) for _ in range(2))
    kill_private(one)
    assert one.games() == other.games()
    assert one.address == other.address
    assert len(started_servers) == 2
    one.close()
    other.close()


def test_each_call_raises_until_the_server_can_restart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started_servers: list[ServerProcess]
) -> None:
    with boardwire.connect() as client:
        kill_private(client)
        with monkeypatch.context() as broken:
            broken.setenv("BOARDWIRE_BINARY", str(fake_server(tmp_path, "echo no luck today >&2; exit 3")))
            for _ in range(3):
                with pytest.raises(boardwire.errors.StartError, match=r"\(3\); its output: no luck today"):
                    client.games()
        assert client.games()
        assert len(started_servers) == 2


def test_a_call_starts_a_server_that_always_ends_at_most_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started_servers: list[ServerProcess]
) -> None:
    binary = fake_server(tmp_path, f"echo listening on unix:{tmp_path}/missing; echo no luck today >&2")
    monkeypatch.setenv("BOARDWIRE_BINARY", str(binary))
    with boardwire.connect() as client:
        for call in range(1, 4):
            with pytest.raises(
                boardwire.errors.ConnectionLost, match=r"has ended with status 0.*no luck today"
            ):
                create_match(client)
            assert len(started_servers) <= 2 * call + 1


def test_a_closed_client_starts_no_server(started_servers: list[ServerProcess]) -> None:
    for killed in (False, True):
        client = boardwire.connect()
        match = create_match(client)
        if killed:
            kill_private(client)
        client.close()
        for call in (client.games, partial(create_match, client), match.info):
            with pytest.raises(boardwire.errors.ConnectionLost, match="was stopped with its client"):
                call()
        client.close()
    assert len(started_servers) == 2


@forks
def test_a_forked_process_starts_no_server_and_names_the_process_that_can(
    started_servers: list[ServerProcess],
) -> None:
    with boardwire.connect() as client:
        seat = create_match(client).join(0)
        assert seat.observe().pending == (0,)
        kill_private(client)
        for call in (client.games, lambda: create_match(client), seat.observe):
            error = in_child(call).decode()
            assert "ConnectionLost" in error
            assert f"only process {os.getpid()}, which started the private server, can restart it" in error
        assert len(started_servers) == 1
        # The parent restarts it. A child forked later can use it, and a close in a child does not stop it.
        assert create_match(client)
        assert in_child(lambda: len(client.games()) > 0) == b"True"
        assert in_child(client.close) == b"None"
        assert client.games()
        assert len(started_servers) == 2


@forks
def test_a_fork_while_another_thread_starts_the_server_does_not_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting, forked = threading.Event(), threading.Event()

    def start(*args: Any) -> ServerProcess:
        starting.set()
        forked.wait()
        return ServerProcess(*args)

    with boardwire.connect() as client:
        kill_private(client)
        monkeypatch.setattr(_server, "ServerProcess", start)
        other = threading.Thread(target=client.games)
        other.start()
        starting.wait()
        assert b"ConnectionLost" in in_child(client.games)
        assert in_child(client.close) == b"None"
        forked.set()
        other.join()
        assert client.games()


def test_each_restart_removes_the_temporary_folder_of_the_old_server(
    started_servers: list[ServerProcess],
) -> None:
    with boardwire.connect() as client:
        for _ in range(3):
            kill_private(client)
            client.games()
        assert [start._folder.exists() for start in started_servers] == [False, False, False, True]
    assert not started_servers[-1]._folder.exists()


PROGRAM = """
import boardwire, boardwire.envs, os, signal, threading
from boardwire import _shared
from boardwire.pettingzoo import parallel_env
from outages import kill_private

env = boardwire.envs.BoardwireEnv("faraway")
envs = boardwire.envs.BoardwireVectorEnv("faraway", 2)
parallel = parallel_env("faraway")
client = _shared.shared_client(None)
for _ in range(2):
    for each in (env, envs, parallel):
        each.reset(seed=1)
    print(client._private._process.pid, flush=True)
    kill_private(client)
if {alive}:
    env.reset()
    print(client._private._process.pid, flush=True)
if {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs os.pidfd_open")
@pytest.mark.parametrize("alive", [False, True])
@pytest.mark.parametrize("status", [0, -signal.SIGKILL])
def test_an_ended_process_leaves_no_server_and_no_folder(tmp_path: Path, alive: bool, status: int) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)}
    code = PROGRAM.format(alive=alive, killed=status != 0)
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (status, "")
    servers = [int(line) for line in ended.stdout.split()]
    assert len(servers) == 2 + alive
    if status == 0:
        assert list(tmp_path.iterdir()) == []
    for server in servers:
        try:
            descriptor = os.pidfd_open(server)
        except ProcessLookupError:
            continue
        # A server ends shortly after its killed parent. Then its process descriptor is readable.
        readable, _, _ = select.select([descriptor], [], [], 20)
        os.close(descriptor)
        assert readable
