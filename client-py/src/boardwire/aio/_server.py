"""The private server of a client: started, started again when it has ended, and stopped with its process.

Generated from boardwire/_server.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Any
from ._connection import Connection
from .._process import ServerProcess, find_binary
from ._waiting import aside
from ..errors import ConnectionLost
_STARTED_AGAIN = 'the private server had ended and was started again: what was in its memory is gone'
_ENDING_SECONDS = 10.0

class PrivateServer:
    """A server on a Unix socket of its own, for this process and its children.

    It ends when its standard input does, so it also goes when this process is killed. When it has ended by
    itself, `running` starts another, on another socket. Processes forked from this one may use it, but only
    this one stops it or starts it again.
    """

    def __init__(self, args: Sequence[str]=(), *, timeout: float=30.0, account: str | None=None) -> None:
        """Starts the server and blocks until it says where it listens.

        Raises:
            StartError: It was not found, ended, or did not get ready within `timeout` seconds.
        """
        self._account = account
        self._args = tuple(args)
        self._timeout = timeout
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._now = self._start()

    @property
    def connection(self) -> Connection:
        """The connection to the server as it was started last, for what it knows already."""
        return self._now[1]

    async def running(self, within: float=0.0) -> Connection:
        """A connection to a server that runs: another is started when this one has ended.

        Args:
            within: So many seconds are waited for it to end, where there is a sign that it does.

        Raises:
            StartError: No other could be started; the next call tries again.
        """
        process, connection = self._now
        if not process.has_died() and (not (within and await aside(process.has_died, within))):
            return connection
        await aside(self._replace, process)
        await connection.close()
        return self.connection

    def _replace(self, process: ServerProcess) -> None:
        with self._lock:
            if self._now[0] is process and (not self._closed):
                self._now = self._start(_STARTED_AGAIN)
                process.bury()

    def _start(self, past: str='') -> tuple[ServerProcess, Connection]:
        process = ServerProcess(find_binary(), self._args, self._timeout)
        connection = Connection(process.address, account=self._account, story=process.story, past=past)
        return (process, connection)

    @property
    def _process(self) -> subprocess.Popen[str]:
        return self._now[0].popen

    async def ask(self, method: str, request: dict[str, Any], *, timeout: float, attempts: int=1) -> tuple[dict[str, Any], Connection]:
        """Makes a call that needs nothing that was there before.

        A server that has ended is started again first, also when it ends during the call: nothing of the call
        is left then, so it may be made once more.

        Returns:
            The answer, and the connection to the server that has given it.

        Raises:
            StartError: The server had ended, and no other could be started.
            BoardwireError: The call failed.
        """
        connection = await self.running()
        try:
            return await connection.ask(method, request, timeout=timeout, attempts=attempts)
        except ConnectionLost as lost:
            within = _ENDING_SECONDS if lost.reason == 'SHUTTING_DOWN' else 0.0
            other = await self.running(within)
            if other is connection:
                raise
        return await other.ask(method, request, timeout=timeout, attempts=attempts)

    async def close(self) -> None:
        """Closes the connection and stops the server for good, if this process has started it."""
        await self.connection.close()
        if self._owner == os.getpid():
            await aside(self._stop)

    def _stop(self) -> None:
        with self._lock:
            self._closed = True
            self._now[0].stop()