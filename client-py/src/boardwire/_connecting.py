"""How the package's programs connect to a server that asks for TLS or a token."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._access import TLS
from ._client import Client, connect


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Adds what `connected` reads."""
    add = parser.add_argument
    add("--tls", action="store_true", help="the server speaks TLS")
    add("--tls-ca", metavar="FILE", help="the same, with these roots instead of the system's")
    add("--token-file", type=Path, metavar="FILE", help="has the token of an account of the server")


def connected(address: str | None, given: argparse.Namespace) -> Client:
    """A client of the server at `address`, or of a private one.

    Raises:
        StartError: The private server did not start.
        OSError: A file cannot be read.
        ValueError: The address is no address, or the token could be read on its way.
    """
    token = given.token_file.read_text().strip() if given.token_file else None
    return connect(address, tls=TLS(given.tls_ca) if given.tls_ca else given.tls, token=token)
