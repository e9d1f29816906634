"""One client for each address and process: environments are many, servers few."""

from __future__ import annotations

import os
import threading

from .._sync import Client, connect

_clients: dict[str | None, Client] = {}
_lock = threading.Lock()


def shared_client(address: str | None) -> Client:
    """The client for an address, or for the private server that all environments of this process share.

    The server ends with the process that started it, and is started again by it when it has ended before.
    Forked processes share it.
    """
    with _lock:
        if address not in _clients:
            _clients[address] = connect(address)
        return _clients[address]


def _after_fork() -> None:
    global _lock
    # Another thread may have held it at the fork.
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
