"""Health checks of load balancers and service managers."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

import boardwire
from boardwire import errors
from boardwire._process import find_binary
from journals import make_room, served

#: Encoded messages of the health protocol: the status is field 1.
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
MATCHES, BATCHES = "boardwire.v1.MatchService", "boardwire.v1.BatchService"


class Health:
    """Health checks of a server on a Unix socket."""

    def __init__(self, socket: Path) -> None:
        """Connects to the server."""
        options = [("grpc.default_authority", "localhost")]
        self.channel = grpc.insecure_channel(f"unix:{socket}", options=options)
        self._check: Any = self.channel.unary_unary("/grpc.health.v1.Health/Check")

    def of(self, service: str = "") -> bytes:
        """Returns the status of a service, or of the whole server for an empty name."""
        name = service.encode()
        request = b"\x0a" + bytes([len(name)]) + name if name else b""
        response: bytes = self._check(request, timeout=60)
        return response

    def wait_for(self, status: bytes) -> None:
        """Waits until the whole server has this status."""
        deadline = time.monotonic() + 60
        while self.of() != status:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def fill(client: boardwire.Client) -> None:
    """Creates matches until an error."""
    while True:
        client.create_match("faraway", players=["agent", "random"])


def test_matches_are_not_serving_while_the_journal_fails(tmp_path: Path) -> None:
    with served(tmp_path, file_bytes=200_000) as server:
        health = Health(tmp_path / "socket")
        with health.channel, boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
            assert health.of() == health.of(MATCHES) == SERVING
            with pytest.raises(errors.ConnectionLost) as caught:
                fill(client)
            assert caught.value.reason == "JOURNAL_FAILED"
            health.wait_for(NOT_SERVING)
            assert health.of(MATCHES) == NOT_SERVING
            assert health.of(BATCHES) == SERVING
            make_room(server)
            health.wait_for(SERVING)
            assert health.of(MATCHES) == SERVING


def check_health(*arguments: str) -> tuple[int, str, str]:
    """Runs `boardwire health` and returns its exit code, stdout and stderr."""
    command = [str(find_binary()), "health", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return process.returncode, process.stdout.strip(), process.stderr


def test_the_command_prints_the_status(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'socket'}"
    with served(tmp_path, file_bytes=200_000):
        assert check_health(address) == (0, "SERVING", "")
        assert check_health(address, "--service", MATCHES) == (0, "SERVING", "")
        with boardwire.connect(address) as client, pytest.raises(errors.ConnectionLost) as caught:
            fill(client)
        assert caught.value.reason == "JOURNAL_FAILED"
        health = Health(tmp_path / "socket")
        with health.channel:
            health.wait_for(NOT_SERVING)
        assert check_health(address) == (1, "NOT_SERVING", "")
        assert check_health(address, "--service", BATCHES) == (0, "SERVING", "")
        code, output, error = check_health(address, "--service", "boardwire.v1.NoService")
        assert (code, output) == (1, "")
        assert error.endswith("health check failed: health check of an unknown service\n")


def test_a_server_that_does_not_respond_is_not_healthy(tmp_path: Path) -> None:
    code, output, error = check_health(f"unix:{tmp_path / 'missing'}")
    assert (code, output) == (1, "")
    assert f"{tmp_path / 'missing'}: health check failed" in error
    # This server accepts connections and sends nothing.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, output, error = check_health(f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "1")
    assert (code, output) == (1, "")
    assert "no response within 1 s" in error
    assert check_health("50051")[0] == 2
