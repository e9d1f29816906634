"""Clients over each transport: batches behave the same in a server and in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from servers import client as served

import boardwire
from boardwire import _shared

#: Settings of a batch whose bot thinks for 0.1 s on two cores, 1,000 times as long as `SHORT_TIMEOUT`.
SLOW_BOT: dict[str, Any] = {"environments": 16, "opponents": {1: "mc:1000"}, "seed": 3}
#: A timeout in seconds that expires while a bot thinks. No proxy can delay an engine in this process.
SHORT_TIMEOUT = 0.0001

__all__ = ["SHORT_TIMEOUT", "SLOW_BOT", "client", "engine", "local", "served"]


@pytest.fixture(scope="session")
def local() -> Iterator[boardwire.Client]:
    """A client of an engine in this process."""
    with boardwire.connect("local:") as client:
        yield client


@pytest.fixture(params=["stream", "local"])
def client(request: pytest.FixtureRequest) -> boardwire.Client:
    """A client over each transport."""
    name = {"stream": "served", "local": "local"}[request.param]
    client: boardwire.Client = request.getfixturevalue(name)
    return client


@pytest.fixture
def engine(local: boardwire.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes environments without an address use the engine in this process."""
    monkeypatch.setitem(_shared._clients, (None, ()), local)
