"""A channel without a network: plain functions handle the calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import boardwire
from boardwire import _core
from boardwire._connection import Connection


class FakeChannel:
    """Passes each call to the function for its method."""

    def __init__(self, handlers: Mapping[str, Callable[[bytes], bytes]]) -> None:
        """Takes one function per method name."""
        self._handlers = handlers

    def call(self, path: str, message: bytes, token: str, timeout: float) -> bytes:
        """Passes a request to the function for its method."""
        return self._handlers[path.rpartition("/")[2]](message)

    def close(self) -> None:
        """Does nothing."""


def fake_client(handlers: Mapping[str, Callable[[bytes], Any]]) -> boardwire.Client:
    """Creates a client whose calls go to functions."""
    connection = Connection("fake:1")
    connection._channels[os.getpid()] = cast(_core.Channel, FakeChannel(handlers))
    return boardwire.Client(connection, found_by=boardwire.Address("fake:1"))
