"""What this Python has of the package and of what it requires, as a line of JSON for `boardwire doctor`.

The binary runs this file by its path, so that it answers where the package itself cannot be imported. It
uses nothing but the standard library, and what is wanted is read from the metadata of the distributions.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from importlib import metadata
from typing import NamedTuple

_NAME = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?\s*\(?([^;)]*)\)?\s*(?:;\s*(.*))?")
_CLAUSE = re.compile(r"""\(*\s*([\w.]+)\s*(===?|~=|[<>!]=?)\s*["']([^"']*)["']\s*\)*""")
_WANTED = re.compile(r"(===?|~=|[<>!]=?)\s*([^,\s]+)")


class Requirement(NamedTuple):
    """A line `Requires-Dist` of a distribution.

    Attributes:
        name: The distribution that is required.
        extras: Its extras that are.
        wanted: The versions that do, such as `>=1.26`.
        extra: The extra that it is required for, or nothing.
        applies: Whether it is required on this system and of this Python.
    """

    name: str
    extras: tuple[str, ...]
    wanted: str
    extra: str
    applies: bool


def read(line: str) -> Requirement:
    """Reads a requirement; of what it is bound to, clauses that are joined by `and`, as tools write them."""
    found = _NAME.match(line)
    assert found is not None
    name, extras, wanted, bound = (part or "" for part in found.groups())
    extra, applies = "", True
    for variable, comparison, value in _CLAUSE.findall(bound):
        if variable == "extra":
            extra = _normal(value)
        elif variable in ("python_version", "python_full_version"):
            applies &= satisfies(".".join(map(str, sys.version_info[:3])), comparison + value)
        elif variable in ("sys_platform", "platform_system"):
            here = sys.platform if variable == "sys_platform" else sys.platform.capitalize()
            applies &= (here == value) == (comparison == "==")
    return Requirement(
        name, tuple(map(_normal, filter(None, extras.split(",")))), wanted.strip(), extra, applies
    )


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version does. What follows the numbers of a release makes no difference, but for `==`."""
    return all(_compares(version, *clause) for clause in _WANTED.findall(wanted))


def _compares(version: str, comparison: str, other: str) -> bool:
    if other.endswith(".*"):
        given = _release(other[:-2])
        return (_release(version)[: len(given)] == given) == (comparison == "==")
    if comparison == "~=":
        parts = other.split(".")
        return _compares(version, ">=", other) and _compares(version, "==", ".".join(parts[:-1]) + ".*")
    if comparison in ("==", "===") and not re.fullmatch(r"[\d.]+", other):
        return version == other
    size = max(len(_release(version)), len(_release(other)))
    ours, theirs = (release + (0,) * (size - len(release)) for release in map(_release, (version, other)))
    return {
        "<": ours < theirs,
        "<=": ours <= theirs,
        ">": ours > theirs,
        ">=": ours >= theirs,
        "!=": ours != theirs,
    }.get(comparison, ours == theirs)


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, found[1].split("."))) if found else ()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def version(name: str) -> str | None:
    """The version of a distribution that is installed; nothing if it is not."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def requirements(name: str, extra: str = "") -> list[Requirement]:
    """What an installed distribution requires, or one of its extras does."""
    everything = map(read, metadata.requires(name) or ())
    return [required for required in everything if required.applies and required.extra == _normal(extra)]


def missing(name: str, extra: str, seen: frozenset[tuple[str, str]] = frozenset()) -> list[str]:
    """What is not there, or not as wanted, of an extra and of the extras that it names."""
    lacking: list[str] = []
    if (name, extra) in seen:
        return lacking
    for required in requirements(name, extra):
        found = version(required.name)
        if found is None or not satisfies(found, required.wanted):
            lacking.append(required.name if found is None else required.name + required.wanted)
            continue
        for further in required.extras:
            lacking += missing(required.name, further, seen | {(name, extra)})
    return list(dict.fromkeys(lacking))


def extras(name: str) -> list[str]:
    """The extras of an installed distribution."""
    return metadata.metadata(name).get_all("Provides-Extra") or []


def _import(name: str) -> str | None:
    try:
        importlib.import_module(name)
    # Whatever is broken may raise anything, and is told.
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def report() -> dict[str, object]:
    """What `boardwire doctor` judges."""
    own = version("boardwire")
    told: dict[str, object] = {
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "version": own,
        "folders": [os.path.dirname(__file__)],
        "error": _import("boardwire"),
        "local": {"version": version("boardwire-local"), "error": _import("boardwire_local")},
    }
    if own is not None:
        told["requires"] = [
            {
                "name": required.name,
                "wanted": required.wanted,
                "found": (found := version(required.name)),
                "satisfied": found is not None and satisfies(found, required.wanted),
            }
            for required in requirements("boardwire")
        ]
        told["extras"] = {extra: missing("boardwire", extra) for extra in extras("boardwire")}
    if told["error"] is None:
        from boardwire._server import find_binary
        from boardwire.errors import StartError

        try:
            told["binary"] = str(find_binary())
        except StartError as error:
            told["binary_error"] = str(error)
    return told


if __name__ == "__main__":
    print(json.dumps(report()))
