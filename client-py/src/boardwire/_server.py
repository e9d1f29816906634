"""The private server: found, started, and stopped with the process that started it."""

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

from ._errors import StartError

_NAME = "boardwire.exe" if sys.platform == "win32" else "boardwire"
_READY = "listening on "
_STOP_SECONDS = 5.0

_running: weakref.WeakSet[PrivateServer] = weakref.WeakSet()


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

    It ends when its standard input does, so it also goes when this process is killed. Processes forked
    from this one may use it, but only this one stops it.
    """

    def __init__(self, args: Sequence[str] = (), *, timeout: float = 30.0) -> None:
        """Starts the server and waits for the line in which it says where it listens.

        Raises:
            StartError: It was not found, ended, or did not get ready within `timeout` seconds.
        """
        binary = find_binary()
        self._pid = os.getpid()
        self._folder = Path(tempfile.mkdtemp(prefix="boardwire-"))
        self._log = self._folder / "server.log"
        listen = "127.0.0.1:0" if sys.platform == "win32" else f"unix:{self._folder / 'socket'}"
        command = [str(binary), "serve", "--listen", listen, "--exit-with-stdin", *args]
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
                )
            self.target = self._wait_until_ready(timeout)
        except OSError as cause:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise StartError(f"{binary} does not run: {cause}") from cause
        except StartError:
            self._end()
            raise
        # Also runs when the interpreter exits.
        self._finalizer = weakref.finalize(self, _stop, self._pid, self._process, self._folder)
        _running.add(self)

    def _wait_until_ready(self, timeout: float) -> str:
        assert self._process.stdout is not None
        late = threading.Timer(timeout, self._process.kill)
        late.start()
        line = self._process.stdout.readline()
        late.cancel()
        if line.startswith(_READY):
            return line.removeprefix(_READY).strip()
        status = self._process.wait() if not line else "a line it should not have printed"
        said = self._log.read_text(errors="replace").strip() or line.strip() or "nothing"
        raise StartError(f"the private server did not get ready ({status}) and said: {said}")

    def epitaph(self) -> str:
        """What there is to say of a server that is gone, for error messages; empty while it runs."""
        if self._pid != os.getpid() or self._process.poll() is None:
            return ""
        said = ""
        with contextlib.suppress(OSError):
            said = self._log.read_text(errors="replace").strip()[-2000:]
        status = self._process.returncode
        return f"the private server has ended with status {status}; its log: {said or 'empty'}"

    def close(self) -> None:
        """Stops the server. Does nothing in a process that did not start it, or when repeated."""
        self._finalizer()

    def _end(self) -> None:
        _stop(self._pid, self._process, self._folder)

    def _forked(self) -> None:
        """Lets go of the standard input, so that it ends with the parent alone."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()


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
