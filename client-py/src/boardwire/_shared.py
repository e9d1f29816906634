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
    """Returns this process's client for a server, which environments share; None means a private server.

    The private server ends with the process that started it; if it ends earlier, that process restarts it.
    Forked processes share it. Each different `server_args` has its own private server.
    """
    server = Address(address.strip()) if isinstance(address, str) else address
    key = server, tuple(server_args)
    with _lock:
        if key not in _clients:
            _clients[key] = connect(**vars(server or Address()), server_args=key[1])
        return _clients[key]


def _after_fork() -> None:
    global _lock
    # Another thread may have held the lock at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that `connect_with_options` reads."""
    add = parser.add_argument
    add("--tls", action="store_true", help="the server speaks TLS")
    add(
        "--tls-ca",
        metavar="FILE",
        help="like --tls, with the root certificates of FILE instead of the system's",
    )
    add("--token-file", type=Path, metavar="FILE", help="FILE contains the token of an account of the server")


def connect_with_options(address: str | None, options: argparse.Namespace) -> Client:
    """Connects to the server at `address`, or starts a private server if `address` is None.

    Raises:
        StartError: The private server did not start.
        OSError: A file cannot be read.
        ValueError: The address is invalid, or the connection to it could be eavesdropped on.
    """
    token = options.token_file.read_text().strip() if options.token_file else None
    return connect(address, tls=TLS(options.tls_ca) if options.tls_ca else options.tls, token=token)
