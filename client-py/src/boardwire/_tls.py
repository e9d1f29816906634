"""TLS: whom a client trusts, how it proves itself, and why a server and it do not come together."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path

#: What a PEM is: the path of a file, or its contents.
Pem = str | os.PathLike[str] | bytes

# An HTTP/2 client's first words: the preface and empty settings.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
#: How long finding out may take, for each step.
_SECONDS = 2.0


@dataclass(frozen=True)
class TLS:
    """How a client and its server know each other; each is the path of a PEM file, or its contents as bytes.

    Attributes:
        ca: The roots that the server's certificate must lead to; the system's when left out.
        cert: The client's own certificate, for servers that ask for one, and those up to its root.
        key: The private key of this certificate.
    """

    ca: Pem | None = None
    cert: Pem | None = None
    key: Pem | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Wants both or neither of certificate and key.

        Raises:
            ValueError: One of them is missing.
        """
        if (self.cert is None) != (self.key is None):
            raise ValueError("a certificate and its key come together: TLS(cert=..., key=...)")


@dataclass(frozen=True)
class Pems:
    """The contents of the files of a `TLS`."""

    roots: bytes = field(repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)


def read(tls: TLS | bool) -> Pems | None:
    """What connections are secured with; nothing without TLS.

    Raises:
        OSError: A file cannot be read.
        ValueError: It has not what it should.
    """
    if not tls:
        return None
    tls = TLS() if tls is True else tls
    roots = _system_roots() if tls.ca is None else _contents(tls.ca)
    try:
        _trusting(roots)
    except (ssl.SSLError, ValueError):
        raise ValueError(f"TLS: no certificates in PEM to trust in ca={_named(tls.ca)}") from None
    if tls.cert is None or tls.key is None:
        return Pems(roots)
    pems = Pems(roots, _contents(tls.cert), _contents(tls.key))
    for name, given, pem, mark in (
        ("cert", tls.cert, pems.cert, b"-----BEGIN CERTIFICATE-----"),
        ("key", tls.key, pems.key, b" PRIVATE KEY-----"),
    ):
        if mark not in (pem or b""):
            kind = "certificate" if name == "cert" else "private key"
            raise ValueError(f"TLS: no {kind} in PEM in {name}={_named(given)}")
    return pems


def _contents(pem: Pem) -> bytes:
    return pem if isinstance(pem, bytes) else Path(pem).read_bytes()


def _named(pem: Pem | None) -> str:
    return "the given bytes" if isinstance(pem, bytes) else repr(os.fspath(pem) if pem else None)


def _system_roots() -> bytes:
    """The roots that OpenSSL trusts on this system: grpcio would trust a list of its own."""
    context = ssl.create_default_context()
    found = [ssl.DER_cert_to_PEM_cert(root) for root in context.get_ca_certs(binary_form=True)]
    folder = ssl.get_default_verify_paths().capath
    if not found and folder:
        # OpenSSL looks into a folder only when it needs one of them.
        for file in Path(folder).iterdir():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                found.append(file.read_text("ascii"))
    return "\n".join(found).encode("ascii")


def _trusting(roots: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=roots.decode("ascii", "ignore"))
    context.set_alpn_protocols(["h2"])
    return context


def why_not(target: str, pems: Pems | None) -> str:
    """Why no connection comes about, as far as TLS is the reason; nothing otherwise.

    grpcio tells little of it, so this knocks and looks. It may take some seconds.
    """
    host, _, port = target.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), _SECONDS) as connection:
            connection.settimeout(_SECONDS)
            return _met(connection) if pems is None else _greeted(connection, host, pems)
    except (OSError, ValueError):
        return ""


def _met(connection: socket.socket) -> str:
    """What a server says to who does not speak TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Nothing is told to it, and nothing of it is believed.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(connection):
        return "the server speaks TLS: connect with tls=True, or tls=boardwire.TLS(...)"


def _greeted(connection: socket.socket, host: str, pems: Pems) -> str:
    """What a server says to who speaks TLS."""
    try:
        secure = _trusting(pems.roots).wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        return f"the server's certificate is not trusted: {error.verify_message}"
    except TimeoutError:
        return ""
    except OSError as error:
        return f"the server does not speak this TLS, or none ({error})"
    with secure:
        try:
            secure.sendall(_HELLO)
            # In TLS 1.3 a server turns away whom it does not want after the handshake.
            secure.recv(1)
        except TimeoutError:
            return ""
        except OSError:
            if pems.cert is None:
                return "the server asks for a certificate: connect with boardwire.TLS(cert=..., key=...)"
            return "the server does not take this client's certificate, or it is not that of its key"
    return ""
