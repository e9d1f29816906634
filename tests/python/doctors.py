"""`boardwire doctor`, run on machines and beside Pythons that tests make up."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import boardwire
from boardwire import _doctor
from boardwire._server import find_binary


class Check(NamedTuple):
    """What one check has found."""

    status: str
    found: str
    advice: str


def plain(variables: Mapping[str, str]) -> dict[str, str]:
    """An environment without what doctor looks for, but for these variables."""
    passed_over = re.compile("BOARDWIRE_.*|.*_proxy|VIRTUAL_ENV|TMPDIR|TEMP|TMP", re.IGNORECASE)
    kept = {name: value for name, value in os.environ.items() if not passed_over.fullmatch(name)}
    return {**kept, **variables}


def run(
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    python: Path | str = sys.executable,
    wrapper: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Runs it, asking this Python unless it is to ask another."""
    command = [*wrapper, str(find_binary()), "doctor", "--python", str(python), *arguments]
    return subprocess.run(command, env=plain(variables or {}), capture_output=True, text=True, timeout=60)


def doctor(*arguments: str, **how: Any) -> dict[str, Check]:
    """What it finds, by the names of the checks; its exit code has to be right."""
    ended = run("--json", *arguments, **how)
    found = json.loads(ended.stdout)
    assert found["version"] == boardwire.__version__
    checks = {}
    for check in found["checks"]:
        assert set(check) == {"check", "status", "found", "advice"}
        assert (check["advice"] is None) == (check["status"] == "ok"), check
        checks[check["check"]] = Check(check["status"], check["found"], check["advice"] or "")
    assert len(checks) == len(found["checks"])
    assert ended.returncode == any(check.status == "fail" for check in checks.values()), ended.stderr
    return checks


def machine(*arguments: str, **how: Any) -> dict[str, Check]:
    """What it finds of the machine, without a Python, which takes longer than all the rest."""
    return doctor(*arguments, python=os.devnull, **how)


def after(lines: str) -> tuple[str, ...]:
    """What runs a program after these lines of Python, in its process."""
    return (sys.executable, "-c", f"{lines}; import os, sys; os.execv(sys.argv[1], sys.argv[1:])")


def script(folder: Path, name: str, lines: str) -> Path:
    """A program."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


def answering(folder: Path, **parts: object) -> Path:
    """A Python that answers as this one does, but for these parts."""
    (folder / "answer").write_text(json.dumps({**_doctor.report(), **parts}))
    return script(folder, "python", f"cat '{folder}/answer'")
