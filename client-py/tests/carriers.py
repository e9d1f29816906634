"""Clients by each carrier: what is said of batches holds whichever way they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from servers import client as served

import boardwire
from boardwire import _shared

#: What batches are opened with whose bot thinks 1,000 times as long as `SOON` (0.1 s on two cores).
THINKING: dict[str, Any] = {"environments": 16, "opponents": {1: "mc:1000"}, "seed": 3}
#: A time-out that passes while a bot thinks, in seconds: nothing can hold a thought in this process.
SOON = 0.0001

__all__ = ["SOON", "THINKING", "client", "engine", "local", "served"]


@pytest.fixture(scope="session")
def local() -> Iterator[boardwire.Client]:
    """A client of an engine in this process."""
    with boardwire.connect("local:") as client:
        yield client


@pytest.fixture(params=["stream", "local"])
def client(request: pytest.FixtureRequest) -> boardwire.Client:
    """A client by each carrier."""
    name = {"stream": "served", "local": "local"}[request.param]
    client: boardwire.Client = request.getfixturevalue(name)
    return client


@pytest.fixture
def engine(local: boardwire.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets environments without an address play in this process."""
    monkeypatch.setitem(_shared._clients, (None, ()), local)
