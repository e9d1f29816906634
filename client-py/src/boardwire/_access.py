"""How a client and a server prove themselves to each other: TLS, and the token of an account."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from . import _core

#: What a PEM is: the path of a file, or its contents.
Pem = str | os.PathLike[str] | bytes


@dataclass(frozen=True)
class TLS:
    """How a client and its server know each other; each is the path of a PEM file, or its contents as bytes.

    Attributes:
        ca: The roots that the server's certificate must lead to, or that certificate itself; the system's
            when left out.
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


def read(tls: TLS | bool) -> _core.Tls | None:
    """What connections are secured with; nothing without TLS.

    Raises:
        OSError: A file cannot be read.
        ValueError: It has not what it should.
    """
    if not tls:
        return None
    tls = TLS() if tls is True else tls
    return _core.Tls(*map(_contents, (tls.ca, tls.cert, tls.key)))


def _contents(pem: Pem | None) -> tuple[str, bytes] | None:
    if pem is None:
        return None
    if isinstance(pem, bytes):
        return "the given bytes", pem
    return repr(os.fspath(pem)), Path(pem).read_bytes()


@dataclass(frozen=True)
class Server:
    """A server, and how to prove oneself to it: for environments, where an address alone does not do.

    Attributes:
        address: `host:port` or `unix:/path`.
        tls: As of `connect`.
        token: As of `connect`.
        insecure: As of `connect`.
    """

    address: str
    tls: TLS | bool = False
    token: str | None = field(default=None, repr=False)
    insecure: bool = False


def checked(token: str | None, address: str, *, insecure: bool) -> str | None:
    """The token of an account, which every call shows.

    Args:
        token: The token; no error ever shows it.
        address: Where the server is: another machine reads along, unless it is on this one.
        insecure: Whether that does not matter, or cannot happen.

    Raises:
        ValueError: It cannot be a token, or should not be sent there.
    """
    if token is None:
        return None
    token = token.strip()
    if not (token.isascii() and token.isprintable() and token):
        raise ValueError("a token is a word of printable ASCII")
    if not insecure and not _core.is_here(address):
        raise ValueError(
            f"the token could be read on its way to {address}: connect with tls=True, or with insecure=True"
        )
    return token
