"""The public names, and the files they come from."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
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

MODULES = [boardwire, boardwire.aio, boardwire.envs, boardwire.pettingzoo]
PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_lists_what_is_importable(module: ModuleType) -> None:
    names = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (value in (aio, errors) or not inspect.ismodule(value))
    }
    assert set(module.__all__) - {"__version__"} == names


def test_errors_are_in_a_module_of_their_own_and_their_root_in_the_package() -> None:
    kinds = {kind.__name__: kind for kind in errors._all(errors.BoardwireError)}
    own = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and name[0] != "_"}
    assert {name: kind for name, kind in own.items() if kind.__module__ == errors.__name__} == kinds
    assert set(kinds) & set(boardwire.__all__) == {"BoardwireError"}
    for kind in kinds.values():
        assert inspect.getdoc(kind), kind


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_says_what_it_is(module: ModuleType) -> None:
    for name in module.__all__:
        value = getattr(module, name)
        # Python 3.10 takes an alias such as `Callable[...]` for a class.
        is_class = inspect.isclass(value) and get_origin(value) is None
        if is_class or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_the_version_is_that_of_the_distribution() -> None:
    assert boardwire.__version__ == importlib.metadata.version("boardwire")


def script(name: str) -> ModuleType:
    """A script of the package's folder as a module."""
    loader = importlib.util.spec_from_file_location(name, PACKAGE / f"{name}.py")
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_list_of_games_is_fresh() -> None:
    list_games = script("list_games")
    assert list_games.LIST.read_text() == list_games.listed(find_binary()), "run `make golden`"
