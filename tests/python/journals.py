"""Servers with a journal, which tests kill and restart."""

from __future__ import annotations

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from boardwire._process import find_binary


def start(
    folder: Path, *args: str, journal: Path | None = None, file_bytes: int | None = None
) -> subprocess.Popen[str]:
    """Starts a server on `folder/socket` with its journal in `folder/journal`, and waits until it listens.

    Args:
        folder: The folder of both.
        args: More arguments of `boardwire serve`.
        journal: The path of another journal.
        file_bytes: The largest size of its files. Larger writes fail, as on a full disk.
    """

    def limit() -> None:
        assert file_bytes is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))

    command = [str(find_binary()), "serve", "--listen", f"unix:{folder / 'socket'}", "--log-level=off"]
    server = subprocess.Popen(
        [*command, "--journal", str(journal or folder / "journal"), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=None if file_bytes is None else limit,
    )
    assert server.stdout is not None
    server.stdout.readline()
    return server


def make_room(server: subprocess.Popen[str]) -> None:
    """Removes the limit of the file size."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def served(folder: Path, *args: str, file_bytes: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Starts a server like `start`, and kills it at the end of the context."""
    server = start(folder, *args, file_bytes=file_bytes)
    try:
        yield server
    finally:
        kill(server)


def kill(server: subprocess.Popen[str]) -> None:
    """Kills a server. The operating system still writes its buffered files, unlike after a power loss."""
    server.kill()
    server.communicate()
