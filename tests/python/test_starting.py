"""Arguments that a server rejects at its start, and its socket at the end."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import trustme

import boardwire
from boardwire._process import find_binary


def start_error(*flags: str) -> str:
    """Runs a server that does not start and returns its stderr."""
    command = [str(find_binary()), "serve", *flags]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode != 0
    return process.stderr


def test_a_unix_socket_needs_a_path() -> None:
    assert "`unix:` is neither HOST:PORT nor unix:PATH" in start_error("--listen", "unix:")


def test_large_files_of_keys_are_rejected(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"#" * ((1 << 20) + 1))
    for flag in ("--auth-token-file", "--snapshot-key", "--config"):
        assert "the file is larger than 1 MiB" in start_error(
            "--listen", f"unix:{tmp_path / 'socket'}", flag, str(large)
        )


@pytest.mark.parametrize(("days", "message"), [(-1, "it expired at"), (1, "")])
def test_an_expired_certificate_is_rejected(tmp_path: Path, days: int, message: str) -> None:
    end = datetime.now(timezone.utc) + timedelta(days=days)
    issued = trustme.CA().issue_cert("localhost", not_after=end)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    # With a valid certificate, the address makes the start fail.
    error = start_error("--listen", "192.0.2.1:1", "--tls-cert", str(cert), "--tls-key", str(key))
    assert message in error
    assert ("expired" in error) == bool(message)


def test_a_stopping_server_keeps_the_socket_of_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = [str(find_binary()), "serve", "--log-level", "off", "--listen", f"unix:{path}"]
    servers = []
    for _ in range(2):
        path.unlink(missing_ok=True)
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        # A server that prints its address handles signals.
        with server.stdout as lines:
            lines.readline()
        servers.append(server)
    for server in servers:
        assert path.exists()
        server.terminate()
        assert server.wait(60) == 0
    assert not path.exists()


@pytest.mark.parametrize("fixed", ["00000000-0000-0000-0000-000000000001", "f" * 32])
def test_a_request_id_must_be_a_random_uuid(client: boardwire.Client, fixed: str) -> None:
    request = {"config": {"game": "faraway", "players": ["agent", "random"]}, "request_id": fixed}
    with pytest.raises(boardwire.errors.InvalidRequest, match="request_id"):
        client._connection.call("MatchService/CreateMatch", request, timeout=60)
