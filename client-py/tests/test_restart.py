"""Private servers that ended are started again, once, by their process; and what is said of the lost ones."""

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

# Python 3.12 and later warn of every fork beside threads, which connections have.
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[ServerProcess]:
    """The servers that this process starts from now on."""
    started: list[ServerProcess] = []

    def start(*args: Any) -> ServerProcess:
        started.append(ServerProcess(*args))
        return started[-1]

    monkeypatch.setattr(_server, "ServerProcess", start)
    return started


def test_the_next_call_that_opens_something_starts_another_server(starts: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        games = client.games()
        for ask in (
            lambda: client.games() == games,
            lambda: list(client.matches()) == [],
            lambda: play(create_match(client).join(0)),
            lambda: client.open_batch("faraway", environments=1).reset(),
        ):
            target = client.address
            kill_private(client)
            assert client.address == target, "nothing has been asked yet"
            assert ask()
            assert client.address != target
            assert not Path(target.removeprefix("unix:")).parent.exists()
    assert len(starts) == 5
    assert not Path(client.address.removeprefix("unix:")).parent.exists()


def test_several_threads_start_one_server(starts: list[ServerProcess]) -> None:
    count = 8
    with boardwire.connect() as client, ThreadPoolExecutor(count) as pool:
        client.game("faraway")
        for round_ in range(3):
            kill_private(client)
            together = threading.Barrier(count)

            def one(together: threading.Barrier = together) -> tuple[int, ...]:
                together.wait()
                with create_match(client) as match:
                    return play(match.join(0))

            scores = [future.result() for future in [pool.submit(one) for _ in range(count)]]
            assert len(set(scores)) == 1
            assert len(starts) == round_ + 2


def test_a_server_that_is_told_to_end_by_others_is_waited_for(starts: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        seat = create_match(client).join(0)
        # While the stream is open, the server takes its time.
        with seat:
            seat.observe(wait=False)
            starts[0].popen.send_signal(signal.SIGTERM)
            while len(starts) == 1:
                assert create_match(client)


def test_clients_of_one_server_start_it_once(starts: list[ServerProcess]) -> None:
    server = _server.PrivateServer()
    one, other = boardwire.Client(server), boardwire.Client(server)
    kill_private(one)
    assert one.games() == other.games()
    assert one.address == other.address
    assert len(starts) == 2
    one.close()
    other.close()


def test_a_server_that_cannot_start_again_is_an_error_each_time_until_it_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starts: list[ServerProcess]
) -> None:
    with boardwire.connect() as client:
        kill_private(client)
        with monkeypatch.context() as broken:
            broken.setenv("BOARDWIRE_BINARY", str(fake_server(tmp_path, "echo no luck today >&2; exit 3")))
            for _ in range(3):
                with pytest.raises(boardwire.errors.StartError, match=r"\(3\); its output: no luck today"):
                    client.games()
        assert client.games()
        assert len(starts) == 2


def test_a_server_that_ends_during_every_call_is_tried_twice_a_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starts: list[ServerProcess]
) -> None:
    binary = fake_server(tmp_path, f"echo listening on unix:{tmp_path}/nobody; echo no luck today >&2")
    monkeypatch.setenv("BOARDWIRE_BINARY", str(binary))
    with boardwire.connect() as client:
        for call in range(1, 4):
            with pytest.raises(
                boardwire.errors.ConnectionLost, match=r"has ended with status 0.*no luck today"
            ):
                create_match(client)
            assert len(starts) <= 2 * call + 1


def test_a_client_that_was_closed_starts_nothing(starts: list[ServerProcess]) -> None:
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
    assert len(starts) == 2


@forks
def test_a_forked_process_starts_no_server_and_says_who_could(starts: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        seat = create_match(client).join(0)
        assert seat.observe().pending == (0,)
        kill_private(client)
        for call in (client.games, lambda: create_match(client), seat.observe):
            said = in_child(call).decode()
            assert "ConnectionLost" in said
            assert (
                f"started by process {os.getpid()}, and if it has ended, only that process can start" in said
            )
        assert len(starts) == 1
        # The parent starts it; a child forked after that uses it, and one that closes it leaves it alone.
        assert create_match(client)
        assert in_child(lambda: len(client.games()) > 0) == b"True"
        assert in_child(client.close) == b"None"
        assert client.games()
        assert len(starts) == 2


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


def test_no_start_leaves_its_temporary_folder(starts: list[ServerProcess]) -> None:
    with boardwire.connect() as client:
        for _ in range(3):
            kill_private(client)
            client.games()
        assert [start._folder.exists() for start in starts] == [False, False, False, True]
    assert not starts[-1]._folder.exists()


EXITS = """
import boardwire, boardwire.envs, os, signal, threading
from boardwire import _shared
from boardwire.pettingzoo import parallel_env
from outages import kill_private

env = boardwire.envs.BoardwireEnv("faraway")
envs = boardwire.envs.BoardwireVectorEnv("faraway", 2)
several = parallel_env("faraway")
client = _shared.shared_client(None)
for _ in range(2):
    for one in (env, envs, several):
        one.reset(seed=1)
    print(client._private._process.pid, flush=True)
    kill_private(client)
if {alive}:
    env.reset()
    print(client._private._process.pid, flush=True)
if {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes")
@pytest.mark.parametrize("alive", [False, True])
@pytest.mark.parametrize("how", [0, -signal.SIGKILL])
def test_processes_that_ended_leave_nothing_behind(tmp_path: Path, alive: bool, how: int) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)}
    code = EXITS.format(alive=alive, killed=how != 0)
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (how, "")
    servers = [int(line) for line in ended.stdout.split()]
    assert len(servers) == 2 + alive
    if how == 0:
        assert list(tmp_path.iterdir()) == []
    for server in servers:
        try:
            watched = os.pidfd_open(server)
        except ProcessLookupError:
            continue
        # A server whose parent was killed ends a little later; a descriptor of a process is readable then.
        ended_too, _, _ = select.select([watched], [], [], 20)
        os.close(watched)
        assert ended_too
