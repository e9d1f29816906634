"""Accounts that `boardwire token` creates."""

from __future__ import annotations

import subprocess
from pathlib import Path

from boardwire._process import find_binary


def account(file: Path, name: str, quotas: str = "") -> str:
    """Adds an account to a file and returns its token."""
    result = subprocess.run([find_binary(), "token", name], capture_output=True, text=True, check=True)
    with file.open("a") as accounts:
        accounts.write(f"{result.stdout}{quotas}\n")
    token = result.stderr.split()[-1]
    assert token not in result.stdout
    return token
