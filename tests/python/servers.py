"""Servers for tests: the real binary on its own sockets."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

import boardwire
from boardwire._process import find_binary

# Hides the package `boardwire-opponents` if it is installed: tests start servers without its networks.
sys.modules["boardwire_opponents"] = None  # type: ignore[assignment]


@pytest.fixture(scope="session")
def client() -> Iterator[boardwire.Client]:
    """A client of a private server that all tests share."""
    with boardwire.connect() as client:
        yield client


@contextlib.contextmanager
def tcp_server(*arguments: str) -> Iterator[str]:
    """Starts a server on a free TCP port, as an operator does, and returns its address."""
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
        # Leaving the block closes its stdin, which ends it.


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a shared server on TCP."""
    with tcp_server() as address:
        yield address
