"""Fixtures that all tests share."""

from pathlib import Path

import pytest

from servers import address, client

__all__ = ["address", "client"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of this folder as slow. Nearly all of them start servers."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("slow")
