"""TLS: who is trusted, who is let in, and what is said where server and client do not come together."""

from __future__ import annotations

import asyncio
import os
import socket
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

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Authority:
    """Who certifies servers, and who certifies clients, with their roots in files."""

    servers: trustme.CA
    clients: trustme.CA
    folder: Path

    @property
    def ca(self) -> Path:
        """The root of the servers' certificates."""
        return self.folder / "ca.pem"

    def certify(self, name: str, authority: trustme.CA) -> tuple[Path, Path]:
        """A certificate and its key."""
        made = authority.issue_cert(name)
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        cert.write_bytes(b"".join(pem.bytes() for pem in made.cert_chain_pems))
        made.private_key_pem.write_to_path(str(key))
        return cert, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who certifies."""
    made = Authority(trustme.CA(), trustme.CA(), tmp_path_factory.mktemp("tls"))
    made.servers.cert_pem.write_to_path(str(made.ca))
    made.clients.cert_pem.write_to_path(str(made.folder / "clients.pem"))
    return made


@pytest.fixture(scope="module")
def secured(authority: Authority) -> Iterator[str]:
    """The address of a server that speaks TLS."""
    cert, key = authority.certify("127.0.0.1", authority.servers)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        yield address


@pytest.fixture(scope="module")
def choosy(authority: Authority) -> Iterator[str]:
    """The address of one that asks for certificates."""
    cert, key = authority.certify("127.0.0.1", authority.servers)
    clients = authority.folder / "clients.pem"
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}", f"--tls-client-ca={clients}") as address:
        yield address


def refused(address: str, tls: TLS | bool) -> errors.ConnectionLost:
    """What a client is told that does not come through."""
    with boardwire.connect(address, tls=tls, timeout=5) as client:
        try:
            client.games()
        except errors.ConnectionLost as lost:
            return lost
    pytest.fail("it came through")


def test_a_match_is_played_over_tls(authority: Authority, secured: str) -> None:
    for ca in (authority.ca, str(authority.ca), authority.ca.read_bytes()):
        with (
            boardwire.connect(secured, tls=TLS(ca=ca)) as client,
            client.create_match("faraway", players=["agent", "random"], seed=1) as match,
            match.join(0) as seat,
        ):
            assert seat.observe().mask.any()


def test_an_event_loop_speaks_tls(authority: Authority, secured: str, choosy: str) -> None:
    async def games(address: str, tls: TLS) -> int:
        async with boardwire.aio.connect(address, tls=tls) as client:
            return len(await client.games())

    assert asyncio.run(games(secured, TLS(ca=authority.ca))) >= 3
    with pytest.raises(errors.ConnectionLost, match="asks for a certificate"):
        asyncio.run(games(choosy, TLS(ca=authority.ca)))


def test_roots_are_the_systems_unless_others_are_given(
    authority: Authority, secured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "certificate is not trusted" in refused(secured, True).message
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    with boardwire.connect(secured, tls=True) as client:
        assert client.games()
    # A system may have them in a folder instead.
    roots = authority.folder / "roots"
    roots.mkdir()
    (roots / "one.pem").write_bytes(authority.ca.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.folder / "nothing"))
    monkeypatch.setenv("SSL_CERT_DIR", str(roots))
    with boardwire.connect(secured, tls=True) as client:
        assert client.games()


def test_the_systems_roots_and_those_of_every_folder_are_read(
    authority: Authority, secured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [authority.folder / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    # Not all bytes of a file have to be text.
    (folders[0] / "other.pem").write_bytes("Wurzel für Tests\n".encode("latin-1"))
    (folders[1] / "one.pem").write_bytes(b"\xff\n" + authority.ca.read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", os.pathsep.join(map(str, folders)))
    with boardwire.connect(secured, tls=True) as client:
        assert client.games()


def self_signed(folder: Path, name: str, days: int) -> tuple[Path, Path]:
    """A certificate as `openssl req -x509` makes it, valid for so many days, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "games")])
    now = datetime.now(timezone.utc)
    begin = now - timedelta(days=10)
    made = (
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
    files[0].write_bytes(made.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_a_certificate_that_certifies_itself_is_trusted_where_it_is_given(
    authority: Authority, tmp_path: Path
) -> None:
    cert, key = self_signed(tmp_path, "127.0.0.1", 10)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        with boardwire.connect(address, tls=TLS(ca=cert)) as client:
            assert client.games()
        assert "certificate is not trusted" in refused(address, TLS(ca=authority.ca)).message
    other, key = self_signed(tmp_path, "127.0.0.2", 10)
    with tcp_server(f"--tls-cert={other}", f"--tls-key={key}") as address:
        assert "not valid for name" in refused(address, TLS(ca=other)).message


def test_a_server_of_another_name_is_not_trusted(authority: Authority) -> None:
    cert, key = authority.certify("elsewhere.example", authority.servers)
    with tcp_server(f"--tls-cert={cert}", f"--tls-key={key}") as address:
        told = refused(address, TLS(ca=authority.ca)).message
    assert "certificate is not trusted: certificate not valid for name" in told


def test_a_server_may_ask_who_connects(authority: Authority, choosy: str) -> None:
    cert, key = authority.certify("trainer", authority.clients)
    for own in (TLS(authority.ca, cert, key), TLS(authority.ca, cert.read_bytes(), key.read_bytes())):
        with boardwire.connect(choosy, tls=own) as client:
            assert client.games()
    told = refused(choosy, TLS(authority.ca))
    assert "asks for a certificate: connect with boardwire.TLS(cert=" in told.message
    assert told.code == "UNAVAILABLE"


def test_a_certificate_that_is_not_taken_is_told(authority: Authority, choosy: str) -> None:
    cert, key = authority.certify("stranger", authority.servers)
    told = refused(choosy, TLS(authority.ca, cert, key))
    assert "does not take this client's certificate" in told.message
    assert told.reason == "NOT_CONNECTED"


def test_who_does_not_speak_as_the_server_does_is_told_so(
    authority: Authority, secured: str, choosy: str, address: str
) -> None:
    for one in (secured, choosy):
        assert "the server speaks TLS: connect with tls=True" in refused(one, False).message
    # It takes the greeting for a broken one, and hangs up.
    told = refused(address, TLS(authority.ca))
    assert "perhaps it does not speak TLS" in told.message


def test_nothing_is_said_of_tls_where_it_is_not_the_reason(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = f"127.0.0.1:{listener.getsockname()[1]}"
    for nobody in (gone, "nobody.invalid:1"):
        for tls in (False, TLS(authority.ca)):
            told = refused(nobody, tls)
            assert "TLS" not in told.message
            assert "certificate" not in told.message
            assert told.reason == ""


def test_files_that_cannot_be_are_named(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.certify("trainer", authority.clients)
    _, other = authority.certify("other", authority.clients)
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    for wrong, said in (
        (TLS(ca=empty), f"to trust in ca='{empty}'"),
        (TLS(ca=b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), "ca=the given bytes"),
        (TLS(authority.ca, empty, key), f"no certificate in PEM in cert='{empty}'"),
        (TLS(authority.ca, cert, empty), f"no private key in PEM in key='{empty}'"),
        (TLS(authority.ca, cert, other), f"key='{other}' is not the key of cert='{cert}'"),
    ):
        with pytest.raises(ValueError, match=r"^TLS: ") as caught:
            boardwire.connect("127.0.0.1:1", tls=wrong)
        assert said in str(caught.value)
    with pytest.raises(FileNotFoundError):
        boardwire.connect("127.0.0.1:1", tls=TLS(ca=tmp_path / "missing.pem"))
    with pytest.raises(ValueError, match="must be given together"):
        TLS(cert=cert)


def test_what_has_no_tcp_has_no_tls() -> None:
    with pytest.raises(ValueError, match="private server"):
        boardwire.connect(tls=True)
    with pytest.raises(ValueError, match="Unix socket"):
        boardwire.connect("unix:/nowhere", tls=True)


def test_no_key_is_ever_shown() -> None:
    assert "secret" not in repr(TLS(cert=b"public", key=b"secret"))
