"""A channel without a network: methods answered by plain functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import boardwire
from boardwire import _core
from boardwire._connection import Connection


class FakeChannel:
    """Answers calls by the name of their method."""

    def __init__(self, answers: Mapping[str, Callable[[bytes], bytes]]) -> None:
        """Takes a function for each method."""
        self._answers = answers

    def call(self, path: str, message: bytes, token: str, timeout: float) -> bytes:
        """Hands a request to the function of its method."""
        return self._answers[path.rpartition("/")[2]](message)

    def close(self) -> None:
        """Does nothing."""


def fake_client(answers: Mapping[str, Callable[[bytes], Any]]) -> boardwire.Client:
    """A client whose calls are answered by functions."""
    connection = Connection("fake:1")
    connection._channels[os.getpid()] = cast(_core.Channel, FakeChannel(answers))
    return boardwire.Client(connection)
