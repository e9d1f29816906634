"""The version: written in Cargo.toml, and everywhere else what follows from it.

`version.py` sees that all places agree, and that Cargo.toml has no keywords that crates.io refuses, which
nothing else would find before a publication; `version.py 1.2.3` writes another version to all places.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ("Cargo.toml", r'(?<=^\[workspace\.package\]\nversion = ")([^"]+)')
#: Where the version stands beside its home, and the pattern of all its places there.
ELSEWHERE = (
    # Crates that are published name the versions of those that they use.
    ("Cargo.toml", r'^boardwire-\w+ = \{ version = "([^"]+)'),
    ("CITATION.cff", r"(?<=^version: )(\S+)"),
)
#: The newest heading of the changelog, which another version is written to, and the newest that is a version:
#: changes since a release stand above it.
NEWEST = ("CHANGELOG.md", r"\A# Changelog\n\n## (\S+)")
RELEASED = ("CHANGELOG.md", r"\A# Changelog\n\n(?:## Unreleased\n(?:(?!## ).*\n)*)?## (\S+)")
#: The keywords of all crates; crates.io takes so many, each of this pattern.
KEYWORDS = r"^keywords = \[(.*)\]$"
MOST_KEYWORDS, KEYWORD = 5, r"[A-Za-z0-9][A-Za-z0-9_+-]{0,19}"


def places(name: str, pattern: str) -> list[re.Match[str]]:
    """Where a file has the version."""
    found = list(re.finditer(pattern, (ROOT / name).read_text(), re.MULTILINE))
    if not found:
        raise SystemExit(f"{__file__}: {name} has no version where one is looked for")
    return found


def write(name: str, pattern: str, version: str) -> None:
    """Writes the version to a file."""
    text, parts, end = (ROOT / name).read_text(), [], 0
    for place in places(name, pattern):
        parts += [text[end : place.start(1)], version]
        end = place.end(1)
    (ROOT / name).write_text("".join([*parts, text[end:]]))


def refused_keywords() -> list[str]:
    """The keywords of Cargo.toml that crates.io would refuse."""
    listed = re.findall(KEYWORDS, (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    if len(listed) != 1:
        raise SystemExit(f"{__file__}: Cargo.toml has no line of keywords where one is looked for")
    keywords = re.findall(r'"([^"]*)"', listed[0])
    return [word for i, word in enumerate(keywords) if i >= MOST_KEYWORDS or not re.fullmatch(KEYWORD, word)]


def main(version: str | None = None) -> None:
    """Compares all places and looks at the keywords, or writes the version to all places."""
    if version is not None:
        if not re.fullmatch(r"\d+\.\d+\.\d+", version):
            raise SystemExit(f"{__file__}: {version} is no version such as 1.2.3")
        for name, pattern in (HOME, *ELSEWHERE, NEWEST):
            write(name, pattern, version)
        print("`cargo update --workspace` writes it to Cargo.lock; the changelog's words are yours")
        return
    (home,) = places(*HOME)
    wrong = [
        f"{name} says {place[1]}"
        for name, pattern in (*ELSEWHERE, RELEASED)
        for place in places(name, pattern)
        if place[1] != home[1]
    ]
    if wrong:
        raise SystemExit(f"the version is {home[1]} in Cargo.toml, but {', '.join(wrong)}")
    if refused := refused_keywords():
        raise SystemExit(
            f"crates.io takes {MOST_KEYWORDS} keywords of at most 20 letters, digits, _, + and -,"
            f" and refuses these of Cargo.toml: {', '.join(refused)}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
