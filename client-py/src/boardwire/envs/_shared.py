"""One client for each address and process: environments are many, servers few."""

from __future__ import annotations

import threading

from .._client import Client, connect

_clients: dict[str | None, Client] = {}
_lock = threading.Lock()


def shared_client(address: str | None) -> Client:
    """The client for an address, or for the private server that all environments of this process share.

    The server ends with the process that started it. Forked processes share it.
    """
    with _lock:
        if address not in _clients:
            _clients[address] = connect(address)
        return _clients[address]
