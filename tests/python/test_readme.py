"""The README's programs run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
PROGRAMS = [
    block
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    if block.startswith("import ")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=["first_match", "gymnasium_loop", "batch"])
def test_program_runs_as_printed(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "reward" in done.stdout
