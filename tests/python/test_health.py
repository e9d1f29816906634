"""Health, as load balancers and service managers ask for it."""

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

#: The protocol's messages are short enough to be written by hand: a status is field 1.
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
MATCHES, BATCHES = "boardwire.v1.MatchService", "boardwire.v1.BatchService"


class Health:
    """Asks a server on a Unix socket."""

    def __init__(self, socket: Path) -> None:
        """Connects."""
        options = [("grpc.default_authority", "localhost")]
        self.channel = grpc.insecure_channel(f"unix:{socket}", options=options)
        self._check: Any = self.channel.unary_unary("/grpc.health.v1.Health/Check")

    def of(self, service: str = "") -> bytes:
        """How a service is; the server as a whole without a name."""
        name = service.encode()
        request = b"\x0a" + bytes([len(name)]) + name if name else b""
        answer: bytes = self._check(request, timeout=60)
        return answer

    def becomes(self, status: bytes) -> None:
        """Waits until the server as a whole is so."""
        due = time.monotonic() + 60
        while self.of() != status:
            assert time.monotonic() < due
            time.sleep(0.01)


def fill(client: boardwire.Client) -> None:
    """Creates match after match."""
    while True:
        client.create_match("faraway", players=["agent", "random"])


def test_matches_do_not_serve_while_the_journal_fails(tmp_path: Path) -> None:
    with served(tmp_path, file_bytes=200_000) as server:
        health = Health(tmp_path / "socket")
        with health.channel, boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
            assert health.of() == health.of(MATCHES) == SERVING
            with pytest.raises(errors.ConnectionLost) as told:
                fill(client)
            assert told.value.reason == "JOURNAL_FAILED"
            health.becomes(NOT_SERVING)
            assert health.of(MATCHES) == NOT_SERVING
            assert health.of(BATCHES) == SERVING
            make_room(server)
            health.becomes(SERVING)
            assert health.of(MATCHES) == SERVING


def asked(*arguments: str) -> tuple[int, str, str]:
    """What the command line tells of a server's health."""
    command = [str(find_binary()), "health", *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return told.returncode, told.stdout.strip(), told.stderr


def test_the_command_line_asks_for_health(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'socket'}"
    with served(tmp_path, file_bytes=200_000):
        assert asked(address) == (0, "SERVING", "")
        assert asked(address, "--service", MATCHES) == (0, "SERVING", "")
        with boardwire.connect(address) as client, pytest.raises(errors.ConnectionLost) as refused:
            fill(client)
        assert refused.value.reason == "JOURNAL_FAILED"
        health = Health(tmp_path / "socket")
        with health.channel:
            health.becomes(NOT_SERVING)
        assert asked(address) == (1, "NOT_SERVING", "")
        assert asked(address, "--service", BATCHES) == (0, "SERVING", "")
        code, told, why = asked(address, "--service", "boardwire.v1.NoService")
        assert (code, told) == (1, "")
        assert why.endswith("health check failed: health check of an unknown service\n")


def test_nobody_there_is_not_healthy(tmp_path: Path) -> None:
    code, told, why = asked(f"unix:{tmp_path / 'nobody'}")
    assert (code, told) == (1, "")
    assert f"{tmp_path / 'nobody'}: health check failed" in why
    # It takes connections and answers nothing.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        code, told, why = asked(f"127.0.0.1:{mute.getsockname()[1]}", "--timeout", "1")
    assert (code, told) == (1, "")
    assert "no response within 1 s" in why
    assert asked("50051")[0] == 2
