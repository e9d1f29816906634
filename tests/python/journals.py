"""Servers that keep their matches in a journal, to be killed and started again."""

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
        folder: Where both are.
        args: More arguments of `boardwire serve`.
        journal: Another journal.
        file_bytes: How large its files may become, as if the disk were full then.
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
    """Lets the files of a server grow again."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def served(folder: Path, *args: str, file_bytes: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The same, killed in the end."""
    server = start(folder, *args, file_bytes=file_bytes)
    try:
        yield server
    finally:
        kill(server)


def kill(server: subprocess.Popen[str]) -> None:
    """Kills a server as a loss of power would, but for what the operating system still writes."""
    server.kill()
    server.communicate()
