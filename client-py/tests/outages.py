"""Servers that tests kill and restart at the same address."""

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


def kill(process: subprocess.Popen[str]) -> None:
    """Kills a process and waits for its end. Its owner can still read the exit status."""
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def kill_private(client: boardwire.Client) -> None:
    """Kills the private server of a client."""
    assert client._private is not None
    kill(client._private._process)


def stream_of(batch: boardwire.Batch) -> BatchStream:
    """Returns the stream of a batch in a server."""
    assert isinstance(batch._transport, BatchStream)
    return batch._transport


def break_stream(batch: boardwire.Batch) -> None:
    """Ends the stream of a batch without the batch's knowledge."""
    stream_of(batch).disconnect()


def create_match(client: boardwire.Client) -> boardwire.Match:
    """Creates a match of an agent and a bot."""
    return client.create_match("faraway", players=["agent", "random"], seed=1)


class Server:
    """The private server of this process, for tests that kill and restart it.

    Attributes:
        address: The address for environments; None for a private server.
    """

    address: str | None = None

    def crash(self) -> None:
        """Kills the server."""
        kill_private(_shared.shared_client(None))

    def restart(self) -> None:
        """Restarts it at the same address. A private server restarts with the next call that needs it."""

    def stop(self) -> None:
        """Stops it for good."""


class ListeningServer(Server):
    """A server at an address, as its operator would start it."""

    def __init__(self, listen: str) -> None:
        """Starts it at this address; port 0 means a free port."""
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
        self.stop()

    def restart(self) -> None:
        """Restarts it at the same address."""
        address, self._process = self.address, self._start()
        assert self.address == address

    def stop(self) -> None:
        """Stops it for good. Leaving the block closes its input, which ends it."""
        with self._process:
            pass


@pytest.fixture(params=["private", "unix", "tcp"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    """Each kind of server. Environments of other tests do not share it."""
    clients: dict[object, boardwire.Client] = {}
    monkeypatch.setattr(_shared, "_clients", clients)
    listen = {"unix": f"unix:{tmp_path / 'socket'}", "tcp": "127.0.0.1:0"}
    server = ListeningServer(listen[request.param]) if request.param in listen else Server()
    yield server
    server.stop()
    for client in clients.values():
        client.close()
