"""Each Python program on a README or page runs as printed.

The first line of a program names packages that the other tests do not need: `# needs torch`. Such a program
runs only if the packages are installed. `127.0.0.1:50051` stands for a running server.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The folder of the package `boardwire_opponents`, which is not installed.
OPPONENTS = ROOT / "opponents/src"
#: Folders with pages of other projects.
EXCLUDED = {"node_modules", "target"}
SERVER = "127.0.0.1:50051"
TIMEOUT = 120


class Program(NamedTuple):
    """A code block on a page."""

    place: str
    text: str

    @property
    def needs(self) -> list[str]:
        """The packages that its first line names."""
        named = re.match(r"# needs (.*)\n", self.text)
        return re.split(r",? and |, ", named[1]) if named else []


def pages() -> Iterator[Path]:
    """Yields all pages of the repository."""
    for folder, inner, files in os.walk(ROOT):
        inner[:] = sorted(name for name in inner if name not in EXCLUDED and not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".md"))


def fences(page: Path) -> Iterator[tuple[str, Program]]:
    """Yields the code blocks of a page with their languages."""
    text = page.read_text()
    for block in re.finditer(r"^( *)```(\w+)\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, block.start()) + 1
        inner = re.sub(f"^{block[1]}", "", block[3], flags=re.MULTILINE)
        yield block[2], Program(f"{page.relative_to(ROOT)}:{line}", inner)


BLOCKS = [block for page in pages() for block in fences(page)]
PROGRAMS = [program for language, program in BLOCKS if language == "python"]


def test_code_blocks_of_python_use_one_name_for_the_language() -> None:
    found = {program.place.split(":")[0] for program in PROGRAMS}
    assert {"README.md", "client-py/README.md", "docs/python.md", "docs/tutorial.md"} <= found
    assert not {language for language, _ in BLOCKS} & {"py", "py3", "python3", "pycon", "Python"}


def test_the_first_line_names_needed_packages() -> None:
    assert Program("", "# needs torch and sb3_contrib\nimport torch\n").needs == ["torch", "sb3_contrib"]
    assert Program("", "import torch  # needs torch\n").needs == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.place)
def test_a_program_runs_as_printed(program: Program, address: str, tmp_path: Path) -> None:
    for package in program.needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{program.place} needs {package}")
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.text.replace(SERVER, address)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(OPPONENTS)},
    )
    assert process.returncode == 0, process.stderr
