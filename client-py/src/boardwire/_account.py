"""The account that a client calls for: how it proves that, and where it may."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import _core
from ._tls import TLS


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
