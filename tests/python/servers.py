"""Servers to play against: the real binary, on sockets of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

import boardwire
from boardwire._process import find_binary


@pytest.fixture(scope="session")
def client() -> Iterator[boardwire.Client]:
    """A client of a private server that all tests share."""
    with boardwire.connect() as client:
        yield client


@contextlib.contextmanager
def tcp_server(*arguments: str) -> Iterator[str]:
    """A server on a free TCP port, as its operator would start it; gives the address."""
    command = [
        str(find_binary()),
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--exit-with-stdin",
        "--log-level=warn",
        *arguments,
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().removeprefix("listening on ").strip()
        # Leaving closes its input, which ends it.


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a shared server on TCP."""
    with tcp_server() as address:
        yield address
