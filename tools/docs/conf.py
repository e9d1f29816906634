"""How Sphinx makes the site of the pages that `pages.py` lays out."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

from sphinx.application import Sphinx

project = "Boardwire"
copyright = "the Boardwire maintainers. The games' names belong to their publishers"
version = release = version_of("boardwire")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Source files are compiled or tested elsewhere; here the colouring need not know every word of theirs.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Boardwire {version}"
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4

# Docstrings are written with single backticks.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_mock_imports = [
    "minari",
    "open_spiel",
    "pyarrow",
    "pyspiel",
    "ray",
    "sb3_contrib",
    "stable_baselines3",
    "torch",
]
# By these names, not by what they stand for.
ALIASES = ["Autoreset", "Decisions", "IllegalActions", "Learner", "Policy", "Reward", "RolloutPolicy"]
autodoc_type_aliases = {name: name for name in [*ALIASES, "ArrayLike", "NDArray"]}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
napoleon_attr_annotations = False
napoleon_use_ivar = True
napoleon_use_rtype = False


def without_fences(
    _app: Sphinx, _kind: str, _name: str, _value: object, _options: object, lines: list[str]
) -> None:
    """Makes fenced code of a docstring what reStructuredText has for it."""
    inside = False
    for number, line in enumerate(lines):
        fence = re.fullmatch(r"( *)```(\w*)", line)
        if fence:
            inside = not inside
            lines[number] = f"{fence[1]}.. code-block:: {fence[2]}\n" if inside else ""
        elif inside:
            lines[number] = f"   {line}"
    lines[:] = "\n".join(lines).split("\n")


def named(text: str) -> str:
    """A signature by the names of types that its readers know."""
    # Methods are written once, as coroutines; the reference shows those that block.
    text = re.sub(r"\bAsyncIterator\b", "Iterator", text)
    text = re.sub(r"\b_(Batch|Match|Part|Search|Seat)\b", r"\1", text)
    return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)


def as_called(
    _app: Sphinx,
    kind: str,
    _name: str,
    value: Any,
    _options: object,
    arguments: str | None,
    returned: str | None,
) -> tuple[str, str | None] | None:
    """Leaves out how classes are made that only the package makes."""
    if kind == "class" and (value.__init__.__doc__ or "").startswith("Is called by"):
        return "", None
    if arguments is None:
        return None
    return named(arguments), named(returned or "") or None


def setup(app: Sphinx) -> None:
    """Is called by Sphinx."""
    # Before the extension that reads sections of docstrings.
    app.connect("autodoc-process-docstring", without_fences, priority=400)
    app.connect("autodoc-process-signature", as_called)
