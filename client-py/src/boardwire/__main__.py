"""`python -m boardwire doctor [ADDRESS]`: checks the installation and whether it can play.

The command prints one line for each check, with `ok`, `warn` or `fail`, and exits with 1 if a check fails.
With the address of a running server, it also checks the connection to that server. `boardwire serve --check`
does the same for a server.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata

import boardwire

from . import _core
from ._process import find_binary
from ._shared import add_connection_options, connect_with_options
from .errors import BoardwireError

# The binary cannot be run or has another version, or a server does not respond.
_FAILURES = (BoardwireError, OSError, RuntimeError, ValueError, subprocess.SubprocessError, ImportError)


def interpreter() -> str:
    """Returns the version and path of the Python interpreter."""
    return f"Python {sys.version.split()[0]} at {sys.executable}"


def packages() -> str:
    """Returns the versions of the client and of NumPy."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("boardwire", "numpy"))


def extension() -> str:
    """Checks that the compiled extension has the version of the package, and returns version and path."""
    own = boardwire.__version__
    if _core.__version__ != own:
        raise RuntimeError(
            f"the extension has version {_core.__version__}, the package {own}: install the package again"
        )
    return f"{own} at {_core.__file__}"


def binary() -> str:
    """Checks the version of the server's binary, and returns the path at which `connect` finds it."""
    path, own = find_binary(), f"boardwire {boardwire.__version__}"
    ran = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
    if (said := ran.stdout.strip()) != own:
        raise RuntimeError(
            f"{path} says that it is {said or 'nothing'}, not {own}: "
            "install the package again, or name another binary in BOARDWIRE_BINARY"
        )
    return str(path)


def private_server() -> str:
    """Starts a private server as `connect()` does, and returns the games that it serves."""
    with boardwire.connect() as client:
        return f"starts, and serves {', '.join(game.id for game in client.games())}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the checks and prints their results; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m boardwire", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    doctor = commands.add_parser("doctor", help="what is installed here, and whether it can play")
    doctor.add_argument("address", nargs="?", help="a server that should be reached: HOST:PORT or unix:PATH")
    add_connection_options(doctor)
    options = parser.parse_args(arguments)

    def server() -> str:
        with connect_with_options(options.address, options) as client:
            return f"boardwire {client.server().version} answers at {options.address}"

    checks: list[Callable[[], str]] = [interpreter, packages, extension, binary, private_server]
    spared: list[Callable[[], str]] = []
    if options.address is not None:
        # A client of a running server needs no binary on this machine.
        checks, spared = [*checks, server], [binary, private_server]
    failed = False
    for check in checks:
        try:
            status, found = "ok", check()
        except _FAILURES as error:
            status, found = "warn" if check in spared else "fail", " ".join(str(error).split())
            failed |= status == "fail"
        print(f"{status:<4}  {check.__name__.replace('_', ' ')}: {found}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
