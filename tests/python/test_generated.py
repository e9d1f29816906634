"""The messages that tests call a server with are those of the protocol."""

from __future__ import annotations

import filecmp
from pathlib import Path

from generate import HERE, NAME, generate


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    generate(tmp_path)
    fresh, kept = tmp_path / NAME, HERE / NAME
    names = {path.name for path in fresh.glob("*.py*")}
    assert names == {path.name for path in kept.glob("*.py*")}
    _, stale, missing = filecmp.cmpfiles(fresh, kept, names, shallow=False)
    assert (stale, missing) == ([], []), "run `make proto`"
