"""The public names, and the files they come from."""

from __future__ import annotations

import filecmp
import importlib.metadata
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import boardwire
import boardwire.envs
import boardwire.pettingzoo

MODULES = [boardwire, boardwire.envs, boardwire.pettingzoo]
PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_lists_what_is_importable(module: ModuleType) -> None:
    names = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(module.__all__) - {"__version__"} == names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_says_what_it_is(module: ModuleType) -> None:
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_the_version_is_that_of_the_distribution() -> None:
    assert boardwire.__version__ == importlib.metadata.version("boardwire")


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    loader = importlib.util.spec_from_file_location("generate", PACKAGE / "generate.py")
    assert loader is not None
    assert loader.loader is not None
    generate = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(generate)
    generate.generate(tmp_path)
    fresh, kept = tmp_path / "boardwire" / "v1", PACKAGE / "src" / "boardwire" / "v1"
    names = {path.name for path in fresh.glob("*.py*")}
    assert names == {path.name for path in kept.glob("*.py*")}
    _, stale, missing = filecmp.cmpfiles(fresh, kept, names, shallow=False)
    assert (stale, missing) == ([], []), "run `make proto`"
