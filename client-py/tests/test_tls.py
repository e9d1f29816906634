"""TLS: trusted servers, accepted clients, and the errors of failed connections."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from servers import tcp_server

import boardwire
from boardwire import TLS, errors
from boardwire._process import find_binary

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Authorities:
    """Certificate authorities for servers and for clients, with their roots in files."""

    servers: trustme.CA
    clients: trustme.CA
    folder: Path

    @property
    def ca(self) -> Path:
        """The root certificate of the servers."""
        return self.folder / "ca.pem"

    def certify(self, name: str, ca: trustme.CA) -> tuple[Path, Path]:
        """Issues a certificate and returns the files of the certificate and its key."""
        issued = ca.issue_cert(name)
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        cert.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(key))
        return cert, key


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> Authorities:
    """The certificate authorities."""
    authorities = Authorities(trustme.CA(), trustme.CA(), tmp_path_factory.mktemp("tls"))
    authorities.servers.cert_pem.write_to_path(str(authorities.ca))
    authorities.clients.cert_pem.write_to_path(str(authorities.folder / "clients.pem"))
    return authorities


@pytest.fixture(scope="module")
def tls_server(authorities: Authorities) -> Iterator[str]:
    """The address of a server that speaks TLS."""
    cert, key = authorities.certify("127.0.0.1", authorities.servers)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        yield address


@pytest.fixture(scope="module")
def mutual_tls_server(authorities: Authorities) -> Iterator[str]:
    """The address of a server that asks for client certificates."""
    cert, key = authorities.certify("127.0.0.1", authorities.servers)
    clients = authorities.folder / "clients.pem"
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}", f"--tls-client-ca={clients}") as address:
        yield address


def connection_error(address: str, tls: TLS | bool) -> errors.ConnectionLost:
    """Returns the error of a connection that fails."""
    with boardwire.connect(address, tls=tls, timeout=5) as client:
        try:
            client.games()
        except errors.ConnectionLost as lost:
            return lost
    pytest.fail("the connection must fail")


def test_the_health_command_says_that_a_server_speaks_tls(tls_server: str) -> None:
    command = [str(find_binary()), "health", tls_server]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"{tls_server}: health check failed: the server speaks TLS" in result.stderr


def test_a_match_is_played_over_tls(authorities: Authorities, tls_server: str) -> None:
    for ca in (authorities.ca, str(authorities.ca), authorities.ca.read_bytes()):
        with (
            boardwire.connect(tls_server, tls=TLS(ca=ca)) as client,
            client.create_match("faraway", players=["agent", "random"], seed=1) as match,
            match.join(0) as seat,
        ):
            assert seat.observe().mask.any()


def test_the_asyncio_client_supports_tls(
    authorities: Authorities, tls_server: str, mutual_tls_server: str
) -> None:
    async def games(address: str, tls: TLS) -> int:
        async with boardwire.aio.connect(address, tls=tls) as client:
            return len(await client.games())

    assert asyncio.run(games(tls_server, TLS(ca=authorities.ca))) >= 3
    with pytest.raises(errors.ConnectionLost, match="requires a certificate"):
        asyncio.run(games(mutual_tls_server, TLS(ca=authorities.ca)))


def test_roots_of_the_system_are_the_default(
    authorities: Authorities, tls_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "certificate is not trusted" in connection_error(tls_server, True).message
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities.ca))
    with boardwire.connect(tls_server, tls=True) as client:
        assert client.games()
    # Some systems have their roots in a folder.
    roots = authorities.folder / "roots"
    roots.mkdir()
    (roots / "one.pem").write_bytes(authorities.ca.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(authorities.folder / "missing"))
    monkeypatch.setenv("SSL_CERT_DIR", str(roots))
    with boardwire.connect(tls_server, tls=True) as client:
        assert client.games()


def test_roots_of_several_folders_are_read(
    authorities: Authorities, tls_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [authorities.folder / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    # A file can contain bytes that are not UTF-8.
    (folders[0] / "other.pem").write_bytes("Wurzel für Tests\n".encode("latin-1"))
    (folders[1] / "one.pem").write_bytes(b"\xff\n" + authorities.ca.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", os.pathsep.join(map(str, folders)))
    with boardwire.connect(tls_server, tls=True) as client:
        assert client.games()


def self_signed(folder: Path, name: str, days: int) -> tuple[Path, Path]:
    """Creates a certificate and its key, as `openssl req -x509` does, valid for some days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "games")])
    now = datetime.now(timezone.utc)
    begin = now - timedelta(days=10)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(name))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / f"{name}.{days}.pem", folder / f"{name}.{days}.key"
    files[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_a_self_signed_certificate_is_trusted_when_given(authorities: Authorities, tmp_path: Path) -> None:
    cert, key = self_signed(tmp_path, "127.0.0.1", 10)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        with boardwire.connect(address, tls=TLS(ca=cert)) as client:
            assert client.games()
        assert "certificate is not trusted" in connection_error(address, TLS(ca=authorities.ca)).message
    other, key = self_signed(tmp_path, "127.0.0.2", 10)
    with tcp_server(f"--tls-cert={other}", f"--tls-key={key}") as address:
        assert "not valid for name" in connection_error(address, TLS(ca=other)).message


def test_a_certificate_for_another_name_is_not_trusted(authorities: Authorities) -> None:
    cert, key = authorities.certify("elsewhere.example", authorities.servers)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        error = connection_error(address, TLS(ca=authorities.ca)).message
    assert "certificate is not trusted: certificate not valid for name" in error


def test_a_server_can_require_client_certificates(authorities: Authorities, mutual_tls_server: str) -> None:
    cert, key = authorities.certify("trainer", authorities.clients)
    for tls in (TLS(authorities.ca, cert, key), TLS(authorities.ca, cert.read_bytes(), key.read_bytes())):
        with boardwire.connect(mutual_tls_server, tls=tls) as client:
            assert client.games()
    error = connection_error(mutual_tls_server, TLS(authorities.ca))
    assert "requires a certificate: connect with boardwire.TLS(cert=" in error.message
    assert error.code == "UNAVAILABLE"


def test_a_rejected_client_certificate_is_an_error(authorities: Authorities, mutual_tls_server: str) -> None:
    cert, key = authorities.certify("unknown", authorities.servers)
    error = connection_error(mutual_tls_server, TLS(authorities.ca, cert, key))
    assert "refuses this client's certificate" in error.message
    assert error.reason == "NOT_CONNECTED"


def test_an_error_says_when_only_one_side_speaks_tls(
    authorities: Authorities, tls_server: str, mutual_tls_server: str, address: str
) -> None:
    for server in (tls_server, mutual_tls_server):
        assert "the server speaks TLS: connect with tls=True" in connection_error(server, False).message
    # The server cannot parse the TLS handshake and closes the connection.
    error = connection_error(address, TLS(authorities.ca))
    assert "it may not speak TLS" in error.message


def test_other_connection_errors_do_not_mention_tls(authorities: Authorities) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed_port = f"127.0.0.1:{listener.getsockname()[1]}"
    for address in (closed_port, "unknown.invalid:1"):
        for tls in (False, TLS(authorities.ca)):
            error = connection_error(address, tls)
            assert "TLS" not in error.message
            assert "certificate" not in error.message
            assert error.reason == ""


def test_an_error_names_the_invalid_file(authorities: Authorities, tmp_path: Path) -> None:
    cert, key = authorities.certify("trainer", authorities.clients)
    _, other = authorities.certify("other", authorities.clients)
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate")
    for tls, message in (
        (TLS(ca=empty), f"to trust in ca='{empty}'"),
        (TLS(ca=b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), "ca=the given bytes"),
        (TLS(authorities.ca, empty, key), f"no certificate in PEM in cert='{empty}'"),
        (TLS(authorities.ca, cert, empty), f"no private key in PEM in key='{empty}'"),
        (TLS(authorities.ca, cert, other), f"key='{other}' is not the key of cert='{cert}'"),
    ):
        with pytest.raises(ValueError, match=r"^TLS: ") as caught:
            boardwire.connect("127.0.0.1:1", tls=tls)
        assert message in str(caught.value)
    with pytest.raises(FileNotFoundError):
        boardwire.connect("127.0.0.1:1", tls=TLS(ca=tmp_path / "missing.pem"))
    with pytest.raises(ValueError, match="must be given together"):
        TLS(cert=cert)


def test_private_servers_and_unix_sockets_have_no_tls() -> None:
    with pytest.raises(ValueError, match="private server"):
        boardwire.connect(tls=True)
    with pytest.raises(ValueError, match="Unix socket"):
        boardwire.connect("unix:/nowhere", tls=True)


def test_repr_contains_no_key() -> None:
    assert "secret" not in repr(TLS(cert=b"public", key=b"secret"))
