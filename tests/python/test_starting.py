"""What a server refuses before it listens, and what it leaves to its successor."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import trustme

import boardwire
from boardwire._process import find_binary


def refusal(*flags: str) -> str:
    """What a server says that does not start."""
    command = [str(find_binary()), "serve", *flags]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0
    return refused.stderr


def test_a_unix_socket_has_a_path() -> None:
    assert "`unix:` is neither HOST:PORT nor unix:PATH" in refusal("--listen", "unix:")


def test_files_of_keys_are_small(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"#" * ((1 << 20) + 1))
    for flag in ("--auth-token-file", "--snapshot-key", "--config"):
        assert "the file is larger than 1 MiB" in refusal(
            "--listen", f"unix:{tmp_path / 'socket'}", flag, str(large)
        )


@pytest.mark.parametrize(("days", "said"), [(-1, "it expired at"), (1, "")])
def test_an_expired_certificate_is_refused(tmp_path: Path, days: int, said: str) -> None:
    end = datetime.now(timezone.utc) + timedelta(days=days)
    issued = trustme.CA().issue_cert("localhost", not_after=end)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    # Where the certificate is good, the address is refused, so that the server does not start.
    found = refusal("--listen", "192.0.2.1:1", "--tls-cert", str(cert), "--tls-key", str(key))
    assert said in found
    assert ("expired" in found) == bool(said)


def test_a_stopping_server_leaves_its_successors_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = [str(find_binary()), "serve", "--log-level", "off", "--listen", f"unix:{path}"]
    servers = []
    for _ in range(2):
        path.unlink(missing_ok=True)
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        # A server that says that it listens hears signals.
        with server.stdout as lines:
            lines.readline()
        servers.append(server)
    for server in servers:
        assert path.exists()
        server.terminate()
        assert server.wait(60) == 0
    assert not path.exists()


@pytest.mark.parametrize("fixed", ["00000000-0000-0000-0000-000000000001", "f" * 32])
def test_a_request_id_is_a_random_uuid(client: boardwire.Client, fixed: str) -> None:
    request = {"config": {"game": "faraway", "players": ["agent", "random"]}, "request_id": fixed}
    with pytest.raises(boardwire.errors.InvalidRequest, match="request_id"):
        client._connection.call("MatchService/CreateMatch", request, timeout=60)
