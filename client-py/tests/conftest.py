"""Fixtures that all tests share."""

import signal

import pytest
from servers import address, client

__all__ = ["address", "client"]

# Background jobs of a shell ignore Ctrl-C, and so do their child processes. The tests need Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Fixtures that start a server.
SERVERS = {"address", "client", "served", "server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that need a server as slow."""
    for item in items:
        if isinstance(item, pytest.Function) and SERVERS & set(item.fixturenames):
            in_this_process = hasattr(item, "callspec") and item.callspec.params.get("client") == "local"
            if not in_this_process:
                item.add_marker("slow")
