"""The fixtures of every test."""

import signal

import pytest
from servers import address, client

__all__ = ["address", "client"]

# A shell that runs tests in the background lets them ignore Ctrl-C, and all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Fixtures that start a server.
SERVERS = {"address", "client", "place", "served"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a server as slow."""
    for item in items:
        if isinstance(item, pytest.Function) and SERVERS & set(item.fixturenames):
            in_this_process = hasattr(item, "callspec") and item.callspec.params.get("client") == "local"
            if not in_this_process:
                item.add_marker("slow")
