"""Seats that ask by single calls, as agents in other languages may, instead of over a stream."""

from __future__ import annotations

from typing import Any, cast

import boardwire
from boardwire._connection import Connection
from boardwire._stream import PlayStream


class SingleCalls:
    """What a seat asks, one call each."""

    def __init__(self, connection: Connection, token: str) -> None:
        """Calls for the holder of a token."""
        self._connection, self._token = connection, token

    def ask(self, kind: str, request: dict[str, Any], timeout: float) -> Any:
        """Makes the call of a kind of request."""
        method = f"MatchService/{kind.title()}"
        return self._connection.call(method, request, timeout=timeout, token=self._token)["observation"]

    def close(self) -> None:
        """Does nothing."""


def by_single_calls(seat: boardwire.Seat) -> boardwire.Seat:
    """The same seat, by single calls."""
    seat._stream = cast(PlayStream, SingleCalls(seat._connection, seat.token))
    return seat
