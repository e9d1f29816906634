"""Private servers: a client starts its own, restarts it after it ends, and stops it.

Generated from boardwire/_server.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from .._process import ServerProcess, find_binary
from ..errors import ConnectionLost
from ._connection import Connection
from ._waiting import in_thread

_RESTARTED = "the private server had ended and was started again: what was in its memory is gone"
_ENDING_SECONDS = 10.0


class PrivateServer:
    """A private server for this process and its forked children, on its own Unix socket (TCP on Windows).

    The server ends when its standard input closes, so it also ends when this process is killed. If the server
    ends by itself, `running` starts a new one on a new address. Forked processes may use the server, but only
    the process that started it stops or restarts it.
    """

    def __init__(
        self,
        args: Sequence[str] = (),
        *,
        timeout: float = 30.0,
        account: str | None = None,
        binary: str | os.PathLike[str] | None = None,
    ) -> None:
        """Starts the server and blocks until the server prints its address.

        Raises:
            StartError: The binary was not found, or the server ended or was not ready in `timeout` seconds.
        """
        self._account = account
        self._args = tuple(args)
        self._binary = None if binary is None else os.path.abspath(binary)
        self._timeout = timeout
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._current = self._start()

    @property
    def connection(self) -> Connection:
        """The connection to the last started server, which has the existing matches and batches."""
        return self._current[1]

    async def running(self, within: float = 0.0) -> Connection:
        """Returns a connection to a running server, and starts a new server if the last one has ended.

        Args:
            within: How many seconds to wait for the server to end, when the caller expects it to end.

        Raises:
            StartError: No new server could be started; the next call tries again.
        """
        process, connection = self._current
        if not process.has_died() and (not (within and await in_thread(process.has_died, within))):
            return connection
        await in_thread(self._replace, process)
        await connection.close()
        return self.connection

    def _replace(self, process: ServerProcess) -> None:
        with self._lock:
            if self._current[0] is process and (not self._closed):
                self._current = self._start(_RESTARTED)
                process.clean_up()

    def _start(self, restart_note: str = "") -> tuple[ServerProcess, Connection]:
        process = ServerProcess(find_binary(self._binary), self._args, self._timeout)
        connection = Connection(
            process.address, account=self._account, reason_gone=process.reason_gone, restart_note=restart_note
        )
        return (process, connection)

    @property
    def _process(self) -> subprocess.Popen[str]:
        return self._current[0].popen

    async def ask(
        self, method: str, request: dict[str, Any], *, timeout: float | None, attempts: int = 1
    ) -> tuple[dict[str, Any], Connection]:
        """Makes a call that needs no existing match, batch or search.

        If the server has ended, the client restarts it first. If the server ends during the call, the client
        restarts it and repeats the call, because the ended server kept nothing of the call.

        Returns:
            The response, and the connection to the server that sent it.

        Raises:
            StartError: The server had ended, and no new one could be started.
            BoardwireError: The call failed.
        """
        connection = await self.running()
        try:
            return await connection.ask(method, request, timeout=timeout, attempts=attempts)
        except ConnectionLost as lost:
            within = _ENDING_SECONDS if lost.reason == "SHUTTING_DOWN" else 0.0
            other = await self.running(within)
            if other is connection:
                raise
        return await other.ask(method, request, timeout=timeout, attempts=attempts)

    async def close(self) -> None:
        """Closes the connection, and stops the server permanently if this process started it."""
        await self.connection.close()
        if self._owner == os.getpid():
            await in_thread(self._stop)

    def _stop(self) -> None:
        with self._lock:
            self._closed = True
            self._current[0].stop()
