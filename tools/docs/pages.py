"""Lays out the pages of the documentation for Sphinx: `pages.py FOLDER`.

Pages are plain Markdown that is read in the repository as well, so a link names a file of the repository.
Here each link becomes one to the page that shows the file: that of `docs/`, that of `ELSEWHERE`, or one that
is made of a source file or folder. A link to what is not there stays as it is, and Sphinx refuses it. A
notebook becomes a page of its text and its code. The pages of the Python reference and the table of contents
are made here too.
"""

from __future__ import annotations

import ast
import json
import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client-py/src/boardwire"
#: Pages of the repository that are not in `docs/`, and where the site has them.
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "DESIGN.md": "design.md",
    "SECURITY.md": "security.md",
    "client-py/examples/first_agent.ipynb": "first_agent.md",
    "tests/vectors/README.md": "vectors.md",
}
#: The table of contents. The pages of games, protocol files and the Python reference are listed on the pages
#: `games/index`, `protocol` and `reference/index`.
CONTENTS = {
    "Tutorial": "tutorial first_agent",
    "How-to guides": "python agents training data policies frameworks/sb3 frameworks/torchrl"
    " frameworks/cleanrl frameworks/rllib frameworks/open_spiel frameworks/dm_env_rpc operations scaling",
    "Reference": "games/index protocol reference/index determinism vectors strength benchmarks glossary",
    "Explanation": "concepts comparison design",
    "Project": "contributing testing security changelog",
}
#: The Python reference, page by page. Together they have every public name of the package.
PYTHON = {
    "Clients": "connect shared_client Client Address TLS Pem ServerInfo Limits CALL_SECONDS WAIT_SECONDS",
    "Matches and seats": "Match Seat Observation LegalAction Outcome ScoreLine Forfeit Reward IllegalActions"
    " MatchInfo MatchState CloseReason Invitation SeedOpening Clock ClockReading FairDeal",
    "Replays": "Replay Frame PlayedAction ActionCause",
    "Descriptions of games": "GameSpec GameOption ActionSpec ViewField ValueKind Axis AxisOrder"
    " ComponentTable Column FeatureLayout Entities EntityLayout",
    "Batches": "Batch BatchPart BatchStep BatchColumn Autoreset NOBODY SelfPlay Turn",
    "Searches": "Search RolloutPolicy",
    "Learning": "Rollouts Rollout Decisions Policy Learner League advantages",
    "Evaluation": "evaluate Evaluation versus Versus",
    "Recordings": "record record_arena Recording RecordingFacts Steps",
}
#: Modules with a page of their own.
MODULES = ["errors", "aio", "envs", "pettingzoo", "sb3", "torch", "rllib", "open_spiel", "dm_env_rpc"]
#: Classes most of whose methods are those of their bases.
HEIRS = {"Client", "Match", "Seat", "Batch", "BatchPart", "Search"}
#: Source files are shown in these languages.
LANGUAGES = {
    ".cpp": "cpp",
    ".go": "go",
    ".hpp": "cpp",
    ".java": "java",
    ".json": "json",
    ".md": "markdown",
    ".proto": "protobuf",
    ".py": "python",
    ".rs": "rust",
    ".toml": "toml",
    ".ts": "typescript",
}
#: What lies beside sources and was not written.
MADE = {"gen", "dist", "node_modules", "package-lock.json", "__pycache__"}

FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
BLOCK = re.compile(r"(?:^//.*\n)*^(?:service|message|enum) (\w+) \{(?:\}|(?:\n.*)*?\n\})$", re.MULTILINE)


class Site:
    """The pages in one folder."""

    def __init__(self, folder: Path) -> None:
        """Begins with an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.sources: set[str] = set()

    def write(self, page: str, text: str) -> None:
        """Writes a page."""
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, place: str) -> None:
        """Adds a file of `docs/`, or a page from elsewhere."""
        path, page = ROOT / place, shown(place)
        if path.suffix not in (".md", ".ipynb"):
            (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, self.folder / page)
            return
        if path.suffix == ".ipynb":
            # To be downloaded from its page.
            shutil.copy(path, self.folder / path.name)
            text = notebook(path)
        else:
            text = path.read_text()
        parts, end = [], 0
        for block in FENCED.finditer(text):
            parts += [self.linked(text[end : block.start()], place), block[0]]
            end = block.end()
        self.write(page, "".join([*parts, self.linked(text[end:], place)]))

    def list_below(self, page: str, pages: list[str]) -> None:
        """Lists pages below a page in the table of contents."""
        with (self.folder / page).open("a") as text:
            text.write("\n" + contents("", [f"/{each}" for each in pages]))

    def linked(self, text: str, here: str) -> str:
        """A part of a page with links to the pages that show what it names."""

        def moved(link: re.Match[str]) -> str:
            place = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[0]))
            if place.startswith("..") or not (ROOT / place).exists():
                return link[0]
            page = shown(place)
            if page.startswith("sources/"):
                self.add_source(place)
            return posixpath.relpath(page, posixpath.dirname(shown(here)))

        return LINK.sub(moved, text)

    def add_source(self, place: str) -> None:
        """Adds a page that shows a source file, or the files of a folder."""
        if place in self.sources:
            return
        self.sources.add(place)
        path = ROOT / place
        if not path.is_dir():
            is_protocol = path.suffix == ".proto"
            title = f"# {path.name}" if is_protocol else f"---\norphan: true\n---\n# `{place}`"
            self.write(shown(place), f"{title}\n\n{protocol(path) if is_protocol else code(path)}")
            return
        parts = [f"---\norphan: true\n---\n# `{place}`\n"]
        for folder, inner, names in os.walk(path):
            inner[:] = sorted(set(inner) - MADE)
            for file in (Path(folder, name) for name in sorted(set(names) - MADE)):
                parts.append(f"## `{file.relative_to(path).as_posix()}`\n\n{code(file)}")
        self.write(shown(place), "\n".join(parts))


def shown(place: str) -> str:
    """The page, or other file of the site, that shows a file of the repository."""
    if place in ELSEWHERE:
        return ELSEWHERE[place]
    if place == "docs" or place.startswith("docs/"):
        page = posixpath.relpath(place, "docs")
        page = posixpath.join(page, "README.md") if (ROOT / place).is_dir() else page
        return posixpath.normpath(page).replace("README.md", "index.md")
    return f"sources/{place}.md"


def code(path: Path) -> str:
    """A file as a block of code."""
    return f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n````\n"


def notebook(path: Path) -> str:
    """A notebook as a page: its title, where to get it, then its text, and its code as blocks."""
    cells = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        cells.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, _, begin = cells[0].partition("\n")
    download = f"{{download}}`Download this page as a notebook <{path.name}>`."
    return "\n\n".join([title, download, begin.strip(), *cells[1:]]) + "\n"


def protocol(path: Path) -> str:
    """A file of the protocol: its story, then services and messages, each below its name."""
    text = path.read_text()
    head = re.match(r"(?:^//.*\n)+", text, re.MULTILINE)
    story = re.sub(r"^// ?", "", head[0], flags=re.MULTILINE) if head else ""
    blocks = [f"## {block[1]}\n\n```protobuf\n{block[0]}\n```\n" for block in BLOCK.finditer(text)]
    return "\n".join([story, *blocks])


def contents(caption: str, pages: list[str]) -> str:
    """A part of the table of contents."""
    head = ["```{toctree}", ":hidden:", f":caption: {caption}" if caption else ""]
    return "\n".join([*head, *pages, "```", ""])


def entry(name: str, module: str) -> str:
    """What the reference says of a name of a module: its docstring, or the comment above it."""
    text = (PACKAGE / f"{module}.py").read_text()
    for kind, word in (("class", "class"), ("function", "def")):
        if re.search(rf"^{word} {name}\b", text, re.MULTILINE):
            heirs = "   :inherited-members:\n" if name in HEIRS else ""
            return f".. auto{kind}:: boardwire.{name}\n{heirs}"
    found = re.search(rf"((?:^#:.*\n)+)^{name} = (.*)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{__file__}: nothing is said of {name} in {module}.py")
    story = re.sub(r"^#: ?", "   ", found[1], flags=re.MULTILINE)
    return f".. py:data:: boardwire.{name}\n   :value: {found[2]}\n\n{story}"


def reference(site: Site) -> list[str]:
    """Writes the Python reference and gives its pages."""
    modules: dict[str, str] = {}
    public: set[str] = set()
    for statement in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.level:
            modules |= {alias.name: statement.module for alias in statement.names}
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            public = set(ast.literal_eval(statement.value))
    # These have pages as modules, or are on one.
    listed = {*" ".join(PYTHON.values()).split(), "BoardwireError", "__version__", "aio", "errors"}
    if listed != public:
        raise SystemExit(f"{__file__}: PYTHON and boardwire.__all__ differ in {sorted(listed ^ public)}")
    pages = []
    for title, names in PYTHON.items():
        page = f"reference/{title.lower().replace(' ', '-')}"
        parts = [f"## {name}\n\n```{{eval-rst}}\n{entry(name, modules[name])}```\n" for name in names.split()]
        site.write(f"{page}.md", "\n".join([f"# {title}\n", *parts]))
        pages.append(page)
    for module in MODULES:
        # The classes of `aio` are those of the package, awaited.
        members = "   :no-members:\n" if module == "aio" else ""
        text = f"# boardwire.{module}\n\n```{{eval-rst}}\n.. automodule:: boardwire.{module}\n{members}```\n"
        site.write(f"reference/{module}.md", text)
        pages.append(f"reference/{module}")
    return pages


def main(folder: Path) -> None:
    """Writes all pages."""
    site = Site(folder)
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.is_file():
            site.add(path.relative_to(ROOT).as_posix())
    for place in ELSEWHERE:
        site.add(place)
    games = sorted(path.stem for path in (ROOT / "docs/rules").glob("*.md"))
    site.list_below("games/index.md", [f"{folder}/{game}" for game in games for folder in ("games", "rules")])
    files = sorted((ROOT / "proto/boardwire/v1").glob("*.proto"))
    protocols = [path.relative_to(ROOT).as_posix() for path in files]
    for place in protocols:
        site.add_source(place)
    site.list_below("protocol.md", [shown(place).removesuffix(".md") for place in protocols])
    site.write("reference/index.md", "# Python reference\n\nThe public names of the package `boardwire`.\n")
    site.list_below("reference/index.md", reference(site))
    with (folder / "index.md").open("a") as index:
        index.writelines("\n" + contents(caption, pages.split()) for caption, pages in CONTENTS.items())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
