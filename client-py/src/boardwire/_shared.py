"""One client for each address and process: environments are many, servers few."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from ._access import Server
from ._client import Client, connect

_clients: dict[tuple[Server | None, tuple[str, ...]], Client] = {}
_lock = threading.Lock()


def shared_client(address: str | Server | None, server_args: Sequence[str] = ()) -> Client:
    """The client for a server, or for the private server that all environments of this process share.

    The server ends with the process that started it, and is started again by it when it has ended before.
    Forked processes share it. Other `server_args` have a private server of their own.
    """
    server = Server(address) if isinstance(address, str) else address
    key = server, tuple(server_args)
    with _lock:
        if key not in _clients:
            given = {"address": None} if server is None else vars(server)
            _clients[key] = connect(**given, server_args=key[1])
        return _clients[key]


def _after_fork() -> None:
    global _lock
    # Another thread may have held it at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
