"""The private server: found, started, started again when it has ended, and stopped with its process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path

from ._channel import Connection
from ._process import ServerProcess
from ._ways import Way
from .errors import StartError

_NAME = "boardwire.exe" if sys.platform == "win32" else "boardwire"
_STARTED_AGAIN = "the private server had ended and was started again: what was in its memory is gone"


def find_binary() -> Path:
    """Finds the server's binary.

    It is what `BOARDWIRE_BINARY` names, else the one installed with this package, beside the interpreter
    or among the scripts, else the first on the search path.

    Raises:
        StartError: There is none.
    """
    named = os.environ.get("BOARDWIRE_BINARY")
    if named:
        if Path(named).is_file():
            return Path(named)
        raise StartError(f"BOARDWIRE_BINARY names {named!r}, which is no file")
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    for folder in folders:
        if (folder / _NAME).is_file():
            return folder / _NAME
    if found := shutil.which(_NAME):
        return Path(found)
    raise StartError(
        f"no {_NAME!r} in {', '.join(map(str, folders))} or on the search path: install the package's wheel, "
        "name a binary in BOARDWIRE_BINARY, or connect to the address of a running server"
    )


class PrivateServer:
    """A server on a Unix socket of its own, for this process and its children.

    It ends when its standard input does, so it also goes when this process is killed. When it has ended by
    itself, `running` starts another, on another socket. Processes forked from this one may use it, but only
    this one stops it or starts it again.
    """

    def __init__(self, way: Way, args: Sequence[str], timeout: float, account: str | None) -> None:
        """Is called by `start`, and blocks as long as that takes."""
        self._way = way
        self._account = account
        self._args = tuple(args)
        self._timeout = timeout
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._now = self._start()

    @classmethod
    async def start(
        cls, way: Way, args: Sequence[str] = (), *, timeout: float = 30.0, account: str | None = None
    ) -> PrivateServer:
        """Starts the server and waits for the line in which it says where it listens.

        Raises:
            StartError: It was not found, ended, or did not get ready within `timeout` seconds.
        """
        return await way.aside(cls, way, args, timeout, account)

    @property
    def connection(self) -> Connection:
        """The connection to the server as it was started last, for what it knows already."""
        return self._now[1]

    async def running(self, within: float = 0.0) -> Connection:
        """A connection to a server that runs: another is started when this one has ended.

        Args:
            within: So many seconds are waited for it to end, where there is a sign that it does.

        Raises:
            StartError: No other could be started; the next call tries again.
        """
        process, connection = self._now
        if not process.has_died() and not (within and await self._way.aside(process.has_died, within)):
            return connection
        await self._way.aside(self._replace, process)
        await connection.close()
        return self.connection

    def _replace(self, process: ServerProcess) -> None:
        # Of several threads one starts it, the others wait.
        with self._lock:
            if self._now[0] is process and not self._closed:
                self._now = self._start(_STARTED_AGAIN)
                process.bury()

    def _start(self, past: str = "") -> tuple[ServerProcess, Connection]:
        process = ServerProcess(find_binary(), self._args, self._timeout)
        return process, Connection(
            process.target, self._way, account=self._account, story=process.story, past=past
        )

    @property
    def _process(self) -> subprocess.Popen[str]:
        return self._now[0].popen

    async def close(self) -> None:
        """Stops the server for good. Does nothing in a process that did not start it, or when repeated."""
        # In another one the lock may have been held at the fork.
        if self._owner == os.getpid():
            await self._way.aside(self._stop)

    def _stop(self) -> None:
        with self._lock:
            self._closed = True
            self._now[0].stop()
