"""Health, as load balancers and service managers ask for it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import grpc
import pytest

import boardwire
from boardwire import errors
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
        answer: bytes = self._check(request, timeout=10)
        return answer

    def becomes(self, status: bytes) -> None:
        """Waits until the server as a whole is so."""
        due = time.monotonic() + 20
        while self.of() != status:
            assert time.monotonic() < due
            time.sleep(0.01)


def fill(client: boardwire.Client) -> None:
    """Creates match after match."""
    while True:
        client.create_match("faraway", players=["remote", "random"])


def test_matches_do_not_serve_while_the_journal_fails(tmp_path: Path) -> None:
    with served(tmp_path, file_bytes=200_000) as server:
        health = Health(tmp_path / "socket")
        with health.channel, boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
            assert health.of() == health.of(MATCHES) == SERVING
            with pytest.raises(errors.JournalFailed):
                fill(client)
            health.becomes(NOT_SERVING)
            assert health.of(MATCHES) == NOT_SERVING
            assert health.of(BATCHES) == SERVING
            make_room(server)
            health.becomes(SERVING)
            assert health.of(MATCHES) == SERVING
