"""What tables are played over: matches of a server, or batches of one environment."""

from __future__ import annotations

from typing import Literal

from .._client import Client
from .._local import LocalConnection

#: What an environment plays: a match, whose seats are strangers to one another, or a batch of one
#: environment, which needs fewer messages and is all that there is without a server.
Over = Literal["match", "batch"]


def is_local(client: Client) -> bool:
    """Whether the client has an engine in this process instead of a server."""
    return isinstance(client._connection, LocalConnection)


def over_batch(client: Client, over: Over | None) -> bool:
    """Whether an environment plays over a batch: where it is asked for, and without a server.

    Raises:
        ValueError: There is no such way, or no server for a match.
    """
    if over not in (None, "match", "batch"):
        raise ValueError(f"over={over!r} is neither 'match' nor 'batch'")
    if over == "match" and is_local(client):
        raise ValueError("over='match' needs a server: local environments play over batches")
    return over == "batch" or is_local(client)
