"""The process of a private server: its start, its end, and the reason of its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from .errors import StartError

_NAME = "boardwire.exe" if sys.platform == "win32" else "boardwire"
#: The settings that private servers read from the environment.
_SETTINGS = (
    "BOARDWIRE_LOG",
    "BOARDWIRE_LOG_LEVEL",
    "BOARDWIRE_POLICY_TIMEOUT",
    "BOARDWIRE_SNAPSHOT_KEY",
    "BOARDWIRE_THREADS",
)
#: Idle timeouts of one week, in seconds, longer than those of a shared server: a laptop may sleep overnight.
_IDLE_TIMEOUTS = {"BOARDWIRE_IDLE_TIMEOUT": "604800", "BOARDWIRE_MATCH_IDLE_TIMEOUT": "604800"}
_READY = "listening on "
_STOP_SECONDS = 5.0
# The connections of a killed process may close shortly before its parent can see its end.
_END_DETECTION_SECONDS = 1.0
_LOG_CHARACTERS = 2000

_running: weakref.WeakSet[ServerProcess] = weakref.WeakSet()


def find_binary(binary: str | os.PathLike[str] | None = None) -> Path:
    """Finds the server's binary.

    The search order is: `binary`, the path in `BOARDWIRE_BINARY`, the folder of the interpreter, the folder
    of installed scripts, the search path (`PATH`).

    Raises:
        StartError: There is no binary, or `binary` or `BOARDWIRE_BINARY` names no file.
    """
    named = binary or os.environ.get("BOARDWIRE_BINARY")
    if named:
        if Path(named).is_file():
            return Path(named)
        name = "BOARDWIRE_BINARY" if binary is None else "`binary`"
        raise StartError(f"{name} must name a file; got {os.fspath(named)!r}")
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


def _environment() -> dict[str, str]:
    """Returns the environment variables of a private server.

    They leave out other `BOARDWIRE_` variables, which an operator may have set for other servers. They name
    the networks of the package `boardwire-opponents`, if it is installed.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("BOARDWIRE_")}
    kept = {name: os.environ[name] for name in _SETTINGS if name in os.environ}
    return own | _IDLE_TIMEOUTS | _opponents() | kept


def _opponents() -> dict[str, str]:
    try:
        from boardwire_opponents import directory
    except ImportError:
        return {}
    return {"BOARDWIRE_OPPONENTS": str(directory())}


class ServerProcess:
    """A server process on its own Unix socket (TCP on Windows), which ends when its standard input closes.

    Attributes:
        popen: The process.
        address: The address at which the server listens.
    """

    def __init__(self, binary: Path, args: Sequence[str], timeout: float) -> None:
        """Starts the server and waits until the server prints its address.

        Raises:
            StartError: The binary cannot be run, or the server ended or was not ready in `timeout` seconds.
        """
        self._owner = os.getpid()
        self._ending = ""
        self._stopped = False
        self._folder = Path(tempfile.mkdtemp(prefix="boardwire-"))
        self._log = self._folder / "server.log"
        listen = "127.0.0.1:0" if sys.platform == "win32" else f"unix:{self._folder / 'socket'}"
        command = [str(binary), "serve", "--listen", listen, "--exit-with-stdin", *args]
        try:
            with self._log.open("wb") as log:
                # In a new session: Ctrl-C in a terminal or a notebook interrupts only the program, which may
                # then continue its matches.
                self.popen = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Not the default encoding of this process.
                    encoding="utf-8",
                    errors="replace",
                    env=_environment(),
                    start_new_session=True,
                )
        except OSError as cause:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise StartError(f"{binary} does not run: {cause}") from cause
        # The finalizer also runs when the interpreter exits.
        self._finalizer = weakref.finalize(self, _stop, self._owner, self.popen, self._folder)
        _running.add(self)
        try:
            self.address = self._wait_until_ready(timeout)
        except BaseException:
            self._finalizer()
            raise

    def _wait_until_ready(self, timeout: float) -> str:
        assert self.popen.stdout is not None
        late = threading.Timer(timeout, self.popen.kill)
        late.start()
        try:
            line = self.popen.stdout.readline()
        finally:
            late.cancel()
        if line.startswith(_READY):
            return line.removeprefix(_READY).strip()
        status = self.popen.wait() if not line else "a line it should not have printed"
        output = self._log.read_text(encoding="utf-8", errors="replace").strip() or line.strip() or "nothing"
        raise StartError(f"the private server did not start ({status}); its output: {output}")

    def has_died(self, within: float = 0.0) -> bool:
        """Returns whether the server has ended by itself, or does so within `within` seconds.

        Only the process that started the server can tell; in other processes the result is always false.
        """
        if self._owner != os.getpid() or not self._finalizer.alive:
            return False
        try:
            self.popen.wait(within)
        except subprocess.TimeoutExpired:
            return False
        # Another thread or the exit of the interpreter may have stopped the server in the meantime.
        return self._finalizer.alive

    def reason_gone(self) -> str:
        """Returns why the server does not respond, as far as known; empty while the server runs."""
        if self._owner != os.getpid():
            return (
                f"only process {self._owner}, which started the private server, can restart it: call "
                "`connect` in this process for another server"
            )
        if self._stopped or not (self._finalizer.alive or self._ending):
            return "the private server was stopped with its client, or with this process"
        if not self._ending and self.has_died(_END_DETECTION_SECONDS):
            self._read_log()
        return self._ending

    def _read_log(self) -> None:
        output = ""
        with contextlib.suppress(OSError):
            output = self._log.read_text(encoding="utf-8", errors="replace").strip()[-_LOG_CHARACTERS:]
        # Another thread may have read the log already, before it was deleted.
        self._ending = self._ending or (
            f"the private server has ended with status {self.popen.returncode}, and the matches and batches "
            "in its memory are gone. The next call that opens a match or batch starts another server. "
            f"The log of this one: {output or 'empty'}"
        )

    def clean_up(self) -> None:
        """Deletes the files of a server that has ended by itself; `reason_gone` keeps its text."""
        self._read_log()
        self._finalizer()

    def stop(self) -> None:
        """Stops the server, if this process started it."""
        if self._owner == os.getpid():
            self._stopped = True
            self._finalizer()

    def _forked(self) -> None:
        """Closes the forked process's copy of the pipe, so that the server ends when the parent ends."""
        assert self.popen.stdin is not None
        with contextlib.suppress(OSError):
            self.popen.stdin.close()


def _stop(pid: int, process: subprocess.Popen[str], folder: Path) -> None:
    if pid != os.getpid():
        return
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    for last_resort in (process.terminate, process.kill):
        try:
            process.wait(_STOP_SECONDS)
            break
        except subprocess.TimeoutExpired:
            last_resort()
    process.wait()
    process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)


def _after_fork() -> None:
    for server in list(_running):
        server._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
