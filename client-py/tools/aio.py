"""Makes `boardwire.aio` from the modules of the client that block, by `make aio`.

In these `result_of(call)` marks what blocks, `each_of(generator)` a generator that does, and
`aside(function, ...)` what a thread does for an event loop. A function with such a mark in it becomes one
that is awaited, and the mark an `await`. A test proves the result fresh.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "boardwire"
#: The modules in which something waits.
MODULES = (
    "batch",
    "batch_stream",
    "catalog",
    "client",
    "connection",
    "local",
    "match",
    "search",
    "seat",
    "server",
    "stream",
)
#: Names that are others where things are awaited.
NAMES = {
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
HEAD = '''"""{summary}

Generated from boardwire/_{module}.py by client-py/tools/aio.py.
"""
'''


class Awaiting(ast.NodeTransformer):
    """Turns what blocks into what is awaited."""

    def __init__(self) -> None:
        """Has seen no mark."""
        self._waits = [False]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function, which is awaited if it waits."""
        self._waits.append(node.name in NAMES)
        node.name = NAMES.get(node.name, node.name)
        self.generic_visit(node)
        if not self._waits.pop():
            return node
        parts: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
        return ast.AsyncFunctionDef(**parts, lineno=0)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call, which may be a mark."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "result_of":
            self._waits[-1] = True
            return ast.Await(node.args[0])
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop, which may be over a generator that waits."""
        self.generic_visit(node)
        inner = _each(node.iter)
        if inner is None:
            return node
        self._waits[-1] = True
        return ast.AsyncFor(node.target, inner, node.body, node.orelse, lineno=0)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """The same in a comprehension, whose function waits then unless it makes a generator."""
        self.generic_visit(node)
        inner = _each(node.iter)
        if inner is not None:
            node.iter, node.is_async = inner, 1
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """A list, which its function waits for."""
        self.generic_visit(node)
        self._waits[-1] |= any(part.is_async for part in node.generators)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name, which may be another here."""
        node.id = NAMES.get(node.id, node.id)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """An import: what is not made here is the client's own."""
        if node.level == 0:
            for name in node.names:
                name.name = NAMES.get(name.name, name.name)
            return node
        module = (node.module or "").removeprefix("_")
        if module == "waiting":
            node.names = [name for name in node.names if name.name not in ("result_of", "each_of")]
            return node if node.names else None
        if module not in MODULES:
            node.level = 2
        return node


def _each(node: ast.expr) -> ast.expr | None:
    """What `each_of` marks."""
    is_mark = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "each_of"
    return node.args[0] if is_mark and isinstance(node, ast.Call) else None


def made(module: str) -> str:
    """The module of the same name in which things are awaited."""
    tree = ast.parse((SOURCE / f"_{module}.py").read_text())
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    tree.body = tree.body[1:]
    text = ast.unparse(ast.fix_missing_locations(Awaiting().visit(tree)))
    return HEAD.format(summary=summary, module=module) + text


def make(folder: Path) -> None:
    """Writes the modules into a folder, formatted as the others are."""
    with tempfile.TemporaryDirectory() as aside:
        for module in MODULES:
            (Path(aside) / f"_{module}.py").write_text(made(module))
        # Where they belong ruff passes them over.
        ruff = [sys.executable, "-m", "ruff"]
        settings = ["--config", str(SOURCE.parents[1] / "pyproject.toml"), aside]
        subprocess.run([*ruff, "check", "--quiet", "--fix-only", "--select=I", *settings], check=True)
        subprocess.run([*ruff, "format", "--quiet", *settings], check=True)
        for module in MODULES:
            shutil.copyfile(Path(aside) / f"_{module}.py", folder / f"_{module}.py")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=SOURCE / "aio")
    make(parser.parse_args().out)
