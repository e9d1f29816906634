"""Clients of environments and programs: one for each server and process, or as options say."""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ._access import TLS, Address
from ._client import Client, connect

_clients: dict[tuple[Address | None, tuple[str, ...]], Client] = {}
_lock = threading.Lock()


def shared_client(address: str | Address | None, server_args: Sequence[str] = ()) -> Client:
    """Returns this process's client for a server; None means a private server that environments share.

    The private server ends with the process that started it; if it ends earlier, that process restarts it.
    Forked processes share it. Each different `server_args` has its own private server.
    """
    server = Address(address) if isinstance(address, str) else address
    key = server, tuple(server_args)
    with _lock:
        if key not in _clients:
            given = {"address": None} if server is None else vars(server)
            _clients[key] = connect(**given, server_args=key[1])
        return _clients[key]


def _after_fork() -> None:
    global _lock
    # Another thread may have held the lock at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
