"""One client for each server and process, shared by all environments that use the server."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from ._access import Server
from ._client import Client, connect

_clients: dict[tuple[Server | None, tuple[str, ...]], Client] = {}
_lock = threading.Lock()


def shared_client(address: str | Server | None, server_args: Sequence[str] = ()) -> Client:
    """Returns this process's client for a server; None means a private server that environments share.

    The private server ends with the process that started it; if it ends earlier, that process restarts it.
    Forked processes share it. Each different `server_args` has its own private server.
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
    # Another thread may have held the lock at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
