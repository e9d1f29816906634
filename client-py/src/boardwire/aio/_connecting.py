"""Connecting in an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from types import TracebackType
from typing import Any

from .._access import TLS
from . import _client
from ._client import CALL_SECONDS, Client


class Connecting:
    """What `connect` returns: `await` it, or use it in `async with`, which closes the client."""

    def __init__(self, connect: Callable[[], Coroutine[Any, Any, Client]]) -> None:
        """Is called by `connect`."""
        self._connect = connect

    def __await__(self) -> Generator[Any, Any, Client]:
        """Connects and returns the client."""
        return self._connect().__await__()

    async def __aenter__(self) -> Client:
        """Connects and returns the client."""
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the client."""
        await self._client.__aexit__(kind, error, trace)


def connect(
    address: str | None = None,
    *,
    tls: TLS | bool = False,
    token: str | None = None,
    insecure: bool = False,
    timeout: float | None = CALL_SECONDS,
    server_args: Sequence[str] = (),
) -> Connecting:
    """Connects to a server, or starts a private one; for `async with`, or to be awaited.

    Arguments and errors are those of `boardwire.connect`.
    """
    return Connecting(
        lambda: _client.connect(
            address, tls=tls, token=token, insecure=insecure, timeout=timeout, server_args=server_args
        )
    )
