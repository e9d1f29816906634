"""Generates `boardwire.aio` from the blocking modules of the client. `make aio` runs this script.

In the blocking modules, `result_of(call)` marks a blocking call, and `each_of(generator)` a blocking
generator. `in_thread(function, ...)` is a call that `boardwire.aio` makes in a thread. The script turns a
function with a mark into an asynchronous one, and the mark into `await` or `async for`. A test checks that
the generated modules are up to date.
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
#: The modules with blocking calls.
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
#: Names that differ in asynchronous code.
NAMES = {
    "Iterator": "AsyncIterator",
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
}
HEAD = '''"""{summary}

Generated from boardwire/_{module}.py by client-py/tools/aio.py.
"""
'''


class AsyncTransformer(ast.NodeTransformer):
    """Turns blocking code into asynchronous code."""

    def __init__(self) -> None:
        """Starts outside of any function."""
        self._is_async = [False]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Makes a function asynchronous if it contains a mark."""
        self._is_async.append(node.name in NAMES)
        node.name = NAMES.get(node.name, node.name)
        self.generic_visit(node)
        if not self._is_async.pop():
            return node
        parts: dict[str, Any] = {name: getattr(node, name, None) for name in node._fields}
        return ast.AsyncFunctionDef(**parts, lineno=0)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replaces the mark `result_of` by `await`."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "result_of":
            self._is_async[-1] = True
            return ast.Await(node.args[0])
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Turns a loop over `each_of` into `async for`."""
        self.generic_visit(node)
        generator = _marked_generator(node.iter)
        if generator is None:
            return node
        self._is_async[-1] = True
        return ast.AsyncFor(node.target, generator, node.body, node.orelse, lineno=0)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Turns a comprehension over `each_of` into an asynchronous one."""
        self.generic_visit(node)
        generator = _marked_generator(node.iter)
        if generator is not None:
            node.iter, node.is_async = generator, 1
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """Marks the function of an asynchronous list comprehension; a generator needs no `await`."""
        self.generic_visit(node)
        self._is_async[-1] |= any(part.is_async for part in node.generators)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replaces a name that differs in asynchronous code."""
        node.id = NAMES.get(node.id, node.id)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Imports modules that are not generated from the blocking client, and drops the marks."""
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


def _marked_generator(node: ast.expr) -> ast.expr | None:
    """Returns the generator that `each_of` marks, or None."""
    is_marked = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "each_of"
    return node.args[0] if is_marked and isinstance(node, ast.Call) else None


def generated(module: str) -> str:
    """Returns the source of the asynchronous module of the same name."""
    tree = ast.parse((SOURCE / f"_{module}.py").read_text())
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    tree.body = tree.body[1:]
    text = ast.unparse(ast.fix_missing_locations(AsyncTransformer().visit(tree)))
    return HEAD.format(summary=summary, module=module) + text


def make(folder: Path) -> None:
    """Writes the generated modules to a folder, formatted like the rest of the package."""
    with tempfile.TemporaryDirectory() as temporary:
        for module in MODULES:
            (Path(temporary) / f"_{module}.py").write_text(generated(module))
        # In the package, ruff excludes the generated modules, so it formats them here.
        ruff = [sys.executable, "-m", "ruff"]
        settings = ["--config", str(SOURCE.parents[1] / "pyproject.toml"), temporary]
        subprocess.run([*ruff, "check", "--quiet", "--fix-only", "--select=I", *settings], check=True)
        subprocess.run([*ruff, "format", "--quiet", *settings], check=True)
        for module in MODULES:
            shutil.copyfile(Path(temporary) / f"_{module}.py", folder / f"_{module}.py")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=SOURCE / "aio")
    make(parser.parse_args().out)
