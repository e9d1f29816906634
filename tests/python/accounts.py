"""Accounts as the binary makes them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from boardwire._process import find_binary


def account(file: Path, name: str, quotas: str = "") -> str:
    """Adds an account to a file; gives its token."""
    made = subprocess.run([find_binary(), "token", name], capture_output=True, text=True, check=True)
    with file.open("a") as accounts:
        accounts.write(f"{made.stdout}{quotas}\n")
    token = made.stderr.split()[-1]
    assert token not in made.stdout
    return token
