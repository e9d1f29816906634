"""Seats that use single calls instead of a stream, as agents in other languages may."""

from __future__ import annotations

from typing import Any, cast

import boardwire
from boardwire._connection import Connection
from boardwire._stream import PlayStream


class SingleCalls:
    """Replaces a seat's stream: each request is one call."""

    def __init__(self, connection: Connection, token: str) -> None:
        """Stores the token that authenticates the seat."""
        self._connection, self._token = connection, token

    def ask(self, kind: str, request: dict[str, Any], timeout: float) -> Any:
        """Makes the call for a kind of request and returns the observation."""
        method = f"MatchService/{kind.title()}"
        return self._connection.call(method, request, timeout=timeout, token=self._token)["observation"]

    def close(self) -> None:
        """Does nothing."""


def by_single_calls(seat: boardwire.Seat) -> boardwire.Seat:
    """Makes a seat use single calls and returns it."""
    seat._stream = cast(PlayStream, SingleCalls(seat._connection, seat.token))
    return seat
