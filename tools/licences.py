"""Writes the licences of all that a wheel's binary is made of: licences.py CRATE TARGET FILE.

TARGET is Rust's name of the platform that it is built for. Each text stands once, below the names of the
crates that it is of. What has no text of its own among its sources is named with what its manifest says.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: Files that have such a text.
NAMED = re.compile(r"(?i)(un)?licen[cs]e|copying|notice|copyright")


def built(crate: str, metadata: dict[str, Any]) -> set[str]:
    """The ids of the packages that a crate is made of, itself included, without what builds or tests it."""
    edges = {
        node["id"]: [
            edge["pkg"] for edge in node["deps"] if any(kind["kind"] is None for kind in edge["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    (first,) = (package["id"] for package in metadata["packages"] if package["name"] == crate)
    found, queue = {first}, [first]
    while queue:
        new = set(edges[queue.pop()]) - found
        found |= new
        queue += new
    return found


def is_ours(path: Path) -> bool:
    """Whether it is for what is built: no tests, and no second licence that one may choose, as zstd's GPL."""
    is_choice = path.name == "COPYING" and (path.parent / "LICENSE").exists()
    return not is_choice and "tests" not in path.parts


def texts(package: dict[str, Any]) -> list[str]:
    """The texts of a package's licence, and of what it carries of others, which lies anywhere below it."""
    folder = Path(package["manifest_path"]).parent
    # Of ours the licence beside the manifest is the wheel's own.
    inside = folder.rglob("src/**/*" if package["source"] is None else "*")
    files = sorted(path for path in inside if NAMED.match(path.name) and path.is_file() and is_ours(path))
    found = [path.read_text(errors="replace").replace("\r\n", "\n").strip() for path in files]
    # What it carries twice has the same text twice.
    return list(dict.fromkeys(found))


def report(crate: str, target: str) -> str:
    """All texts, and whose they are."""
    command = [
        "cargo",
        "metadata",
        "--format-version=1",
        "--locked",
        f"--filter-platform={target}",
    ]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    metadata = json.loads(told.stdout)
    wanted = built(crate, metadata)
    whose: dict[str, list[str]] = defaultdict(list)
    for package in sorted(metadata["packages"], key=lambda package: package["name"]):
        if package["id"] not in wanted:
            continue
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        found = texts(package)
        if package["source"] is not None and not found:
            found = [f"Its sources hold no text of a licence; its manifest says {package['license']}."]
        for text in found:
            whose[text].append(name)
    parts = ["\n".join([*names, "", text]) for text, names in whose.items()]
    rule = "\n\n" + "-" * 80 + "\n\n"
    return rule.join([f"{crate} holds code of these packages, under their own licences.", *parts]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(report(sys.argv[1], sys.argv[2]))
