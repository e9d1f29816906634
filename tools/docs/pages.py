"""Writes the pages of the documentation for Sphinx: `pages.py FOLDER`.

Pages are plain Markdown for the repository too, so their links name files of the repository. This script
changes each link to the page that shows the file: a page of `docs/`, a page in `PAGES_OUTSIDE_DOCS`,
or a generated page of a source file or folder. A link to a missing file stays unchanged, and Sphinx reports
it. A notebook becomes a page with its text and code. The script also writes the Python reference
and the table of contents.
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
#: The pages outside of `docs/`, with their places on the site.
PAGES_OUTSIDE_DOCS = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "DESIGN.md": "design.md",
    "SECURITY.md": "security.md",
    "client-py/examples/first_agent.ipynb": "first_agent.md",
    "tests/vectors/README.md": "vectors.md",
}
#: The table of contents. The pages `games/index`, `protocol` and `reference/index` list the pages of games,
#: protocol files and the Python reference.
CONTENTS = {
    "Tutorial": "tutorial first_agent",
    "How-to guides": "python agents language_models training data policies frameworks/sb3 frameworks/torchrl"
    " frameworks/cleanrl frameworks/rllib frameworks/open_spiel frameworks/dm_env_rpc own_game operations"
    " scaling",
    "Reference": "games/index protocol reference/index determinism vectors strength benchmarks glossary",
    "Explanation": "concepts comparison design",
    "Project": "contributing testing security changelog",
}
#: The pages of the Python reference. Together they list every public name of the package.
PYTHON = {
    "Clients": "connect register shared_client Client Address TLS Pem ServerInfo Limits BotSpec BotParameter "
    "PolicySpec CALL_SECONDS WAIT_SECONDS",
    "Matches and seats": "Match Seat Observation LegalAction Outcome ScoreLine Forfeit Reward IllegalActions"
    " MatchInfo MatchState CloseReason Invitation SeedOpening Clock ClockReading FairDeal",
    "Replays": "Replay Frame PlayedAction ActionCause",
    "Descriptions of games": "GameSpec Rules GameOption ActionSpec ViewField ValueKind Axis AxisOrder"
    " ComponentTable Column FeatureLayout Entities EntityLayout",
    "Batches": "Batch BatchPart BatchStep BatchColumn Autoreset NOBODY SelfPlay Turn",
    "Searches": "Search",
    "Learning": "Rollouts Rollout Decisions Policy Learner League advantages collect_ahead",
    "Action values": "ActionValueCollector ActionValues",
    "Evaluation": "evaluate Evaluation versus Versus",
    "Recordings": "record record_arena Recording RecordingFacts Steps",
}
#: Modules with their own page.
MODULES = [
    "errors",
    "aio",
    "envs",
    "pettingzoo",
    "sb3",
    "torch",
    "training",
    "rllib",
    "open_spiel",
    "dm_env_rpc",
    "openenv",
]
#: Classes that inherit most methods. Their pages include inherited members.
INHERITING = {"Client", "Match", "Seat", "Batch", "BatchPart", "Search"}
#: The languages of source files by suffix.
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
#: Generated or installed files and folders, which pages of folders omit.
GENERATED = {"gen", "dist", "node_modules", "package-lock.json", "__pycache__"}

FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
BLOCK = re.compile(r"(?:^//.*\n)*^(?:service|message|enum) (\w+) \{(?:\}|(?:\n.*)*?\n\})$", re.MULTILINE)


class Site:
    """The pages of the site in one folder."""

    def __init__(self, folder: Path) -> None:
        """Empties the folder."""
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        self.sources: set[str] = set()

    def write(self, page: str, text: str) -> None:
        """Writes a page."""
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, source: str) -> None:
        """Adds a file of `docs/` or a page of `PAGES_OUTSIDE_DOCS`."""
        path, page = ROOT / source, site_path(source)
        if path.suffix not in (".md", ".ipynb"):
            (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, self.folder / page)
            return
        if path.suffix == ".ipynb":
            # The page has a link to download the notebook.
            shutil.copy(path, self.folder / path.name)
            text = notebook(path)
        else:
            text = path.read_text()
        parts, end = [], 0
        for block in FENCED.finditer(text):
            parts += [self.site_links(text[end : block.start()], source), block[0]]
            end = block.end()
        self.write(page, "".join([*parts, self.site_links(text[end:], source)]))

    def list_below(self, page: str, pages: list[str]) -> None:
        """Lists pages below a page in the table of contents."""
        with (self.folder / page).open("a") as text:
            text.write("\n" + contents("", [f"/{name}" for name in pages]))

    def site_links(self, text: str, origin: str) -> str:
        """Returns a part of a page whose links name pages of the site instead of files."""

        def site_link(link: re.Match[str]) -> str:
            source = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[0]))
            if source.startswith("..") or not (ROOT / source).exists():
                return link[0]
            page = site_path(source)
            if page.startswith("sources/"):
                self.add_source(source)
            return posixpath.relpath(page, posixpath.dirname(site_path(origin)))

        return LINK.sub(site_link, text)

    def add_source(self, source: str) -> None:
        """Adds a page that shows a source file or all files of a folder."""
        if source in self.sources:
            return
        self.sources.add(source)
        path = ROOT / source
        if not path.is_dir():
            is_protocol = path.suffix == ".proto"
            title = f"# {path.name}" if is_protocol else f"---\norphan: true\n---\n# `{source}`"
            self.write(site_path(source), f"{title}\n\n{protocol(path) if is_protocol else code(path)}")
            return
        parts = [f"---\norphan: true\n---\n# `{source}`\n"]
        for folder, inner, names in os.walk(path):
            inner[:] = sorted(set(inner) - GENERATED)
            for file in (Path(folder, name) for name in sorted(set(names) - GENERATED)):
                parts.append(f"## `{file.relative_to(path).as_posix()}`\n\n{code(file)}")
        self.write(site_path(source), "\n".join(parts))


def site_path(source: str) -> str:
    """Returns the path on the site that shows a file of the repository."""
    if source in PAGES_OUTSIDE_DOCS:
        return PAGES_OUTSIDE_DOCS[source]
    if source == "docs" or source.startswith("docs/"):
        page = posixpath.relpath(source, "docs")
        page = posixpath.join(page, "README.md") if (ROOT / source).is_dir() else page
        return posixpath.normpath(page).replace("README.md", "index.md")
    return f"sources/{source}.md"


def code(path: Path) -> str:
    """Formats a file as a code block."""
    return f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n````\n"


def notebook(path: Path) -> str:
    """Formats a notebook as a page: title, download link, then its text and code blocks."""
    cells = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        cells.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, _, begin = cells[0].partition("\n")
    download = f"{{download}}`Download this page as a notebook <{path.name}>`."
    return "\n\n".join([title, download, begin.strip(), *cells[1:]]) + "\n"


def protocol(path: Path) -> str:
    """Formats a protocol file: its header comment, then services and messages with headings."""
    text = path.read_text()
    head = re.match(r"(?:^//.*\n)+", text, re.MULTILINE)
    comment = re.sub(r"^// ?", "", head[0], flags=re.MULTILINE) if head else ""
    blocks = [f"## {block[1]}\n\n```protobuf\n{block[0]}\n```\n" for block in BLOCK.finditer(text)]
    return "\n".join([comment, *blocks])


def contents(caption: str, pages: list[str]) -> str:
    """Formats a part of the table of contents."""
    head = ["```{toctree}", ":hidden:", f":caption: {caption}" if caption else ""]
    return "\n".join([*head, *pages, "```", ""])


def entry(name: str, module: str) -> str:
    """Returns the directive for a public name: its docstring, or the comment above a constant."""
    text = (PACKAGE / f"{module}.py").read_text()
    for kind, word in (("class", "class"), ("function", "def")):
        if re.search(rf"^{word} {name}\b", text, re.MULTILINE):
            members = "   :inherited-members:\n" if name in INHERITING else ""
            return f".. auto{kind}:: boardwire.{name}\n{members}"
    match = re.search(rf"((?:^#:.*\n)+)^{name} = (.*)$", text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"{__file__}: {name} in {module}.py needs a `#:` comment")
    comment = re.sub(r"^#: ?", "   ", match[1], flags=re.MULTILINE)
    return f".. py:data:: boardwire.{name}\n   :value: {match[2]}\n\n{comment}"


def reference(site: Site) -> list[str]:
    """Writes the Python reference; returns its pages."""
    modules: dict[str, str] = {}
    public: set[str] = set()
    for statement in ast.parse((PACKAGE / "__init__.py").read_text()).body:
        if isinstance(statement, ast.ImportFrom) and statement.module and statement.level:
            modules |= {alias.name: statement.module for alias in statement.names}
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            public = set(ast.literal_eval(statement.value))
    # The names after PYTHON are documented on the pages of modules, or need no page.
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
        # The classes of `aio` have the documentation of the blocking classes.
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
    for source in PAGES_OUTSIDE_DOCS:
        site.add(source)
    games = sorted(path.stem for path in (ROOT / "docs/rules").glob("*.md"))
    site.list_below("games/index.md", [f"{folder}/{game}" for game in games for folder in ("games", "rules")])
    files = sorted((ROOT / "proto/boardwire/v1").glob("*.proto"))
    protocols = [path.relative_to(ROOT).as_posix() for path in files]
    for source in protocols:
        site.add_source(source)
    site.list_below("protocol.md", [site_path(source).removesuffix(".md") for source in protocols])
    site.write("reference/index.md", "# Python reference\n\nThe public names of the package `boardwire`.\n")
    site.list_below("reference/index.md", reference(site))
    with (folder / "index.md").open("a") as index:
        index.writelines("\n" + contents(caption, pages.split()) for caption, pages in CONTENTS.items())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
