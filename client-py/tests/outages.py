"""Servers that are killed, and started again where they were."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import boardwire
from boardwire import _shared
from boardwire._batch_stream import BatchStream
from boardwire._process import find_binary


def kill(process: subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    """Kills a process and waits for its end, but leaves it to its parent to take note of that."""
    os.kill(process.pid, how)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def kill_private(client: boardwire.Client) -> None:
    """Kills the private server of a client."""
    assert client._private is not None
    kill(client._private._process)


def stream_of(batch: boardwire.Batch) -> BatchStream:
    """The stream of a batch in a server."""
    assert isinstance(batch._carrier, BatchStream)
    return batch._carrier


def break_stream(batch: boardwire.Batch) -> None:
    """Ends the stream of a batch, behind its back."""
    (stream_of(batch).hang_up())


def create(client: boardwire.Client) -> boardwire.Match:
    """A match of one agent."""
    return client.create_match("faraway", players=["agent", "random"], seed=1)


class Place:
    """Where environments find their server.

    Attributes:
        address: What they are given; none for the private server of this process.
    """

    address: str | None = None

    def crash(self) -> None:
        """Kills the server."""
        kill_private(_shared.shared_client(None))

    def restore(self) -> None:
        """Starts it again at the same address; a private one is started by the call that needs it."""

    def end(self) -> None:
        """Stops it for good."""


class FixedPlace(Place):
    """A server at an address, as its operator would start it."""

    def __init__(self, listen: str) -> None:
        """Starts it there, or on a free port."""
        self.address: str = listen
        self._process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [str(find_binary()), "serve", "--listen", self.address, "--exit-with-stdin"]
        command.append("--log-level=warn")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        self.address = process.stdout.readline().removeprefix("listening on ").strip()
        assert self.address
        return process

    def crash(self) -> None:
        """Kills the server."""
        kill(self._process)
        self.end()

    def restore(self) -> None:
        """Starts it again at the same address."""
        before = self.address
        self._process = self._start()
        assert self.address == before

    def end(self) -> None:
        """Stops it for good."""
        # Leaving closes its input, which ends it.
        with self._process:
            pass


@pytest.fixture(params=["private", "unix", "tcp"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Each kind of server; environments of other tests do not share it."""
    clients: dict[object, boardwire.Client] = {}
    monkeypatch.setattr(_shared, "_clients", clients)
    listen = {"unix": f"unix:{tmp_path / 'socket'}", "tcp": "127.0.0.1:0"}
    where = FixedPlace(listen[request.param]) if request.param in listen else Place()
    yield where
    where.end()
    for client in clients.values():
        client.close()
