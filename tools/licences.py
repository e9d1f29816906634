"""Writes the licences of all crates in the binary of a wheel: licences.py CRATE TARGET FILE.

TARGET is the target triple of the wheel. The file contains each licence text once, below the names of its
crates. If the sources of a crate contain no licence text, the file gives the licence from its manifest.
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
#: Names of files with a licence text.
NAMED = re.compile(r"(?i)(un)?licen[cs]e|copying|notice|copyright")


def built(crate: str, metadata: dict[str, Any]) -> set[str]:
    """Returns the ids of a crate and its dependencies, without build and development dependencies."""
    edges = {
        node["id"]: [
            edge["pkg"] for edge in node["deps"] if any(kind["kind"] is None for kind in edge["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    (first,) = (package["id"] for package in metadata["packages"] if package["name"] == crate)
    ids, queue = {first}, [first]
    while queue:
        new = set(edges[queue.pop()]) - ids
        ids |= new
        queue += new
    return ids


def applies(path: Path) -> bool:
    """Returns whether a licence applies to the binary: not of tests, and no alternative like zstd's GPL."""
    is_alternative = path.name == "COPYING" and (path.parent / "LICENSE").exists()
    return not is_alternative and "tests" not in path.parts


def texts(package: dict[str, Any]) -> list[str]:
    """Returns the licence texts of a package and of the third-party code that it contains."""
    folder = Path(package["manifest_path"]).parent
    # Our crates count only third-party code in `src`: the wheel contains our own licence.
    candidates = folder.rglob("src/**/*" if package["source"] is None else "*")
    files = sorted(path for path in candidates if NAMED.match(path.name) and path.is_file() and applies(path))
    contents = [path.read_text(errors="replace").replace("\r\n", "\n").strip() for path in files]
    # Removes duplicate texts.
    return list(dict.fromkeys(contents))


def report(crate: str, target: str) -> str:
    """Returns all licence texts with the names of their packages."""
    command = [
        "cargo",
        "metadata",
        "--format-version=1",
        "--locked",
        f"--filter-platform={target}",
    ]
    result = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    metadata = json.loads(result.stdout)
    needed = built(crate, metadata)
    owners: dict[str, list[str]] = defaultdict(list)
    for package in sorted(metadata["packages"], key=lambda package: package["name"]):
        if package["id"] not in needed:
            continue
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        package_texts = texts(package)
        if package["source"] is not None and not package_texts:
            package_texts = [f"Its sources contain no licence text; its manifest says {package['license']}."]
        for text in package_texts:
            owners[text].append(name)
    parts = ["\n".join([*names, "", text]) for text, names in owners.items()]
    rule = "\n\n" + "-" * 80 + "\n\n"
    return rule.join([f"{crate} contains code of these packages, under their own licences.", *parts]) + "\n"


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(report(sys.argv[1], sys.argv[2]))
