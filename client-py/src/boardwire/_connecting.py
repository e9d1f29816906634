"""Command-line options for TLS and tokens, shared by the package's programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._access import TLS
from ._client import Client, connect


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `connected` reads."""
    add = parser.add_argument
    add("--tls", action="store_true", help="the server speaks TLS")
    add("--tls-ca", metavar="FILE", help="the same, with these roots instead of the system's")
    add("--token-file", type=Path, metavar="FILE", help="has the token of an account of the server")


def connected(address: str | None, given: argparse.Namespace) -> Client:
    """Connects to the server at `address`, or starts a private server if `address` is None.

    Raises:
        StartError: The private server did not start.
        OSError: A file cannot be read.
        ValueError: The address is invalid, or others could eavesdrop on the token.
    """
    token = given.token_file.read_text().strip() if given.token_file else None
    return connect(address, tls=TLS(given.tls_ca) if given.tls_ca else given.tls, token=token)
