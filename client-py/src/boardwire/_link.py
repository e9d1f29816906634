"""A client's way to its server, which leads to another one when a private server has ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar

from google.protobuf.message import Message

from ._channel import Connection
from ._server import PrivateServer
from .errors import ConnectionLost, ServerShuttingDown

#: How long a private server may take that has said it is going down.
_ENDING_SECONDS = 10.0


class Link:
    """One connection to a server at an address; with a private server, one for each start of it."""

    def __init__(self, server: PrivateServer | Connection) -> None:
        """Leads to a private server, or over a connection."""
        self._server = server

    @property
    def connection(self) -> Connection:
        """The connection for what the server knows already."""
        return self._server if isinstance(self._server, Connection) else self._server.connection

    async def ask(
        self, method: str, request: Message, *, timeout: float, attempts: int = 1
    ) -> tuple[Any, Connection]:
        """Makes a call that needs nothing that was there before.

        A private server that has ended is started again first, also when it ends during the call: nothing of
        the call is left then, so it may be made once more.

        Returns:
            The answer, and the connection to the server that has given it.

        Raises:
            StartError: The private server had ended, and no other could be started.
            BoardwireError: The call failed.
        """

        async def call(connection: Connection) -> tuple[Any, Connection]:
            answer = await connection.call(method, request, timeout=timeout, attempts=attempts)
            return answer, connection

        server = self._server
        if isinstance(server, Connection):
            return await call(server)
        connection = await server.running()
        try:
            return await call(connection)
        except ConnectionLost as lost:
            within = _ENDING_SECONDS if isinstance(lost, ServerShuttingDown) else 0.0
            other = await server.running(within)
            if other is connection:
                raise
        return await call(other)

    async def close(self) -> None:
        """Closes the channel, and stops a private server, if this process started it."""
        await self.connection.close()
        if isinstance(self._server, PrivateServer):
            await self._server.close()


class _Page(Protocol):
    @property
    def next_page_token(self) -> str: ...


_PageT = TypeVar("_PageT", bound=_Page)


async def pages(page: Callable[[str], Awaitable[_PageT]]) -> AsyncIterator[_PageT]:
    """All answers of a call that answers page by page."""
    token = ""
    while True:
        answer = await page(token)
        yield answer
        token = answer.next_page_token
        if not token:
            return
