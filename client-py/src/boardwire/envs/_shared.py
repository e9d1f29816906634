"""One client for each address and process: environments are many, servers few."""

from __future__ import annotations

import os
import threading

from .._account import Server
from .._sync import Client, connect

_clients: dict[Server | None, Client] = {}
_lock = threading.Lock()


def shared_client(address: str | Server | None) -> Client:
    """The client for a server, or for the private server that all environments of this process share.

    The server ends with the process that started it, and is started again by it when it has ended before.
    Forked processes share it.
    """
    server = Server(address) if isinstance(address, str) else address
    with _lock:
        if server not in _clients:
            _clients[server] = connect() if server is None else connect(**vars(server))
        return _clients[server]


def _after_fork() -> None:
    global _lock
    # Another thread may have held it at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
