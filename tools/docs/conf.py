"""The configuration of Sphinx for the site. `pages.py` writes the pages."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

from sphinx.application import Sphinx

project = "Boardwire"
copyright = "the Boardwire maintainers. The games' names belong to their publishers"
version = release = version_of("boardwire")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Highlighting may fail on code that the highlighter does not know. Other checks compile or test the code.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Boardwire {version}"
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4

# Docstrings use single backticks for code.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_mock_imports = [
    "matplotlib",
    "minari",
    "open_spiel",
    "pyarrow",
    "pyspiel",
    "ray",
    "sb3_contrib",
    "stable_baselines3",
    "tensorboard",
    "torch",
    "tqdm",
]
# Signatures show these aliases, not the types behind them.
ALIASES = ["Autoreset", "Decisions", "IllegalActions", "Learner", "Policy", "Reward"]
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
    """Converts fenced code in a docstring to a directive of reStructuredText."""
    inside = False
    for number, line in enumerate(lines):
        mark = re.fullmatch(r"( *)```(\w*)", line)
        if mark:
            inside = not inside
            lines[number] = f"{mark[1]}.. code-block:: {mark[2]}\n" if inside else ""
        elif inside:
            lines[number] = f"   {line}"
    lines[:] = "\n".join(lines).split("\n")


def public_names(text: str) -> str:
    """Replaces internal names of types in a signature by their public names."""
    # Private names of classes, and the names of asynchronous types, stay out of the reference.
    text = re.sub(r"\bAsyncIterator\b", "Iterator", text)
    text = re.sub(r"\b_(Batch|Match|Part|Search|Seat)\b", r"\1", text)
    return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)


def clean_signature(
    _app: Sphinx,
    kind: str,
    _name: str,
    value: Any,
    _options: object,
    arguments: str | None,
    result: str | None,
) -> tuple[str, str | None] | None:
    """Removes the constructor signature of classes that only the package instantiates."""
    if kind == "class" and (value.__init__.__doc__ or "").startswith("Is called by"):
        return "", None
    if arguments is None:
        return None
    return public_names(arguments), public_names(result or "") or None


def setup(app: Sphinx) -> None:
    """Connects the handlers; Sphinx calls it."""
    # The priority puts it before napoleon, which parses the sections of docstrings.
    app.connect("autodoc-process-docstring", without_fences, priority=400)
    app.connect("autodoc-process-signature", clean_signature)
