"""The account that a client calls for: how it proves that, and where it may."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from ._tls import TLS
from ._ways import Metadata


@dataclass(frozen=True)
class Server:
    """A server, and how to prove oneself to it: for environments, where an address alone does not do.

    Attributes:
        target: `host:port` or `unix:/path`.
        tls: As of `connect`.
        token: As of `connect`.
        insecure: As of `connect`.
    """

    target: str
    tls: TLS | bool = False
    token: str | None = field(default=None, repr=False)
    insecure: bool = False


def proof(token: str | None, target: str, *, insecure: bool) -> Metadata:
    """The metadata of every call of an account; none without its token.

    Args:
        token: The token; no error ever shows it.
        target: Where the server is: another machine reads along, unless it is on this one.
        insecure: Whether that does not matter, or cannot happen.

    Raises:
        ValueError: It cannot be a token, or should not be sent there.
    """
    if token is None:
        return ()
    token = token.strip()
    if not (token.isascii() and token.isprintable() and token):
        raise ValueError("a token is a word of printable ASCII")
    if not insecure and not is_here(target):
        raise ValueError(
            f"the token could be read on its way to {target}: connect with tls=True, or with insecure=True"
        )
    return (("boardwire-token", token),)


def is_here(target: str) -> bool:
    """Whether what is sent to an address stays on this machine, as far as it says so itself."""
    if target.startswith("unix:"):
        return True
    host = target.rpartition(":")[0].strip("[]").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
