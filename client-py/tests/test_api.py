"""The public names: exports, docstrings and annotations."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import importlib.metadata
import importlib.util
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest

import boardwire
import boardwire.aio
import boardwire.envs
import boardwire.pettingzoo
from boardwire import aio, errors
from boardwire._process import find_binary

#: Packages whose `__init__` only imports public names.
PACKAGES = [boardwire, boardwire.aio, boardwire.envs]
MODULES = [*PACKAGES, boardwire.pettingzoo]
PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", PACKAGES, ids=lambda module: module.__name__)
def test_all_lists_the_public_names(module: ModuleType) -> None:
    names = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (value in (aio, errors) or not inspect.ismodule(value))
    }
    assert set(module.__all__) - {"__version__"} == names


def test_the_package_exports_only_the_root_of_the_errors() -> None:
    kinds = {kind.__name__: kind for kind in errors._all(errors.BoardwireError)}
    own = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and name[0] != "_"}
    assert {name: kind for name, kind in own.items() if kind.__module__ == errors.__name__} == kinds
    assert set(kinds) & set(boardwire.__all__) == {"BoardwireError"}
    for kind in kinds.values():
        assert inspect.getdoc(kind), kind


def test_environments_are_imported_on_first_use() -> None:
    code = (
        "import sys, boardwire; assert 'boardwire.envs' not in sys.modules; boardwire.envs.BoardwireEnv; "
        "print(*{'torch', 'scipy', 'pandas', 'pettingzoo'} & set(sys.modules))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring(module: ModuleType) -> None:
    for name in module.__all__:
        value = getattr(module, name)
        # Python 3.10 takes an alias such as `Callable[...]` for a class.
        is_class = inspect.isclass(value) and get_origin(value) is None
        if is_class or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_the_version_equals_the_version_of_the_distribution() -> None:
    assert boardwire.__version__ == importlib.metadata.version("boardwire")


def load_script(name: str) -> ModuleType:
    """Loads a script in the package's folder as a module."""
    spec = importlib.util.spec_from_file_location(name, PACKAGE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_list_of_games_is_up_to_date() -> None:
    list_games = load_script("list_games")
    assert list_games.GAMES_FILE.read_text() == list_games.listed(find_binary()), "run `make golden`"


def written_annotations(value: object) -> Iterator[str]:
    """Yields the annotations of the public members of a class or function, as source text."""
    if inspect.isclass(value):
        yield from map(str, vars(value).get("__annotations__", {}).values())
        for name, member in vars(value).items():
            if not name.startswith("_") or name == "__init__":
                yield from written_annotations(member.fget if isinstance(member, property) else member)
    elif inspect.isfunction(value) and not (inspect.getdoc(value) or "").startswith("Is called by"):
        yield from map(str, value.__annotations__.values())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_in_a_signature_is_exported(module: ModuleType) -> None:
    public = {name for each in MODULES for name in each.__all__} | set(errors.__dict__)
    outside = set(vars(builtins)) | set(typing.__all__) | set(collections.abc.__all__)
    outside |= {"np", "NDArray", "ArrayLike", "gymnasium", "datetime", "os", "Path", "MinariDataset", "Self"}
    for name in module.__all__:
        for annotation in written_annotations(getattr(module, name)):
            names = {each.id for each in ast.walk(ast.parse(annotation)) if isinstance(each, ast.Name)}
            assert names <= public | outside, (name, annotation)
