"""Authentication between a client and a server: TLS, and the token of an account."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from . import _core

#: A PEM file: its path, or its contents as bytes.
Pem = str | os.PathLike[str] | bytes


@dataclass(frozen=True)
class TLS:
    """The certificates of a TLS connection; each field is the path of a PEM file, or its contents as bytes.

    Attributes:
        ca: The root certificates that the client trusts, or the server's certificate itself; the default is
            the system's roots.
        cert: The client's certificate and its chain up to the root, for servers that require one.
        key: The private key of `cert`.
    """

    ca: Pem | None = None
    cert: Pem | None = None
    key: Pem | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Checks that `cert` and `key` are both given or both left out.

        Raises:
            ValueError: Only one of them is given.
        """
        if (self.cert is None) != (self.key is None):
            raise ValueError("`cert` and `key` must be given together: TLS(cert=..., key=...)")


def read(tls: TLS | bool) -> _core.Tls | None:
    """Reads the PEM files and returns the TLS configuration; without TLS, returns None.

    Raises:
        OSError: A file cannot be read.
        ValueError: A PEM lacks the certificate or key it should contain, or the key does not match `cert`.
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
class Address:
    """What `connect` needs to find a server, for environments; an address alone can be a string.

    Attributes:
        address: As in `connect`.
        tls: As in `connect`.
        token: As in `connect`.
        insecure: As in `connect`.
        binary: As in `connect`.
        module: As in `connect`.
    """

    address: str | None = None
    tls: TLS | bool = False
    token: str | None = field(default=None, repr=False)
    insecure: bool = False
    binary: str | os.PathLike[str] | None = None
    module: str | None = None


def checked(token: str | None, address: str, *, insecure: bool) -> str | None:
    """Checks the token of an account, which the client sends with every call.

    Args:
        token: The token; no error message contains it.
        address: The server's address. Without TLS, the token can be eavesdropped on unless the server is on
            this machine.
        insecure: Whether to allow any address: the caller accepts eavesdropping, or TLS prevents it.

    Returns:
        The token without surrounding whitespace.

    Raises:
        ValueError: The token is empty or not printable ASCII, or `insecure` is false and the address is
            invalid or on another machine.
    """
    if token is None:
        return None
    token = token.strip()
    if not (token.isascii() and token.isprintable() and token):
        raise ValueError("a token must be one word of printable ASCII")
    if not insecure and not _core.is_local(address):
        raise ValueError(
            f"the token can be eavesdropped on, on its way to {address}: connect with tls=True or "
            "insecure=True"
        )
    return token
