"""The notebook is committed as it should be, and does what it says."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples/first_agent.ipynb"
BOOK: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
CODE: dict[str, str] = {
    cell["id"]: "".join(cell["source"]) for cell in BOOK["cells"] if cell["cell_type"] == "code"
}
MARKDOWN = ["".join(cell["source"]) for cell in BOOK["cells"] if cell["cell_type"] == "markdown"]
#: What it takes to execute it: the extra `boardwire[notebook]`.
NEEDS = ["torch", "matplotlib", "tqdm", "ipykernel", "nbclient"]
MISSING = [package for package in NEEDS if importlib.util.find_spec(package) is None]
SECONDS = 300

executes = pytest.mark.skipif(bool(MISSING), reason=f"to execute the notebook takes {MISSING}")


def test_it_is_stored_so_that_its_differences_are_small() -> None:
    text = json.dumps(BOOK, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert NOTEBOOK.read_text(encoding="utf-8") == text
    assert (BOOK["nbformat"], BOOK["nbformat_minor"]) == (4, 5)
    assert BOOK["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    ids = [cell["id"] for cell in BOOK["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in ids), "ids are words, so that they stay as they are"


def test_it_is_stored_without_results() -> None:
    for cell in BOOK["cells"]:
        if cell["cell_type"] == "code":
            assert cell["execution_count"] is None
            assert cell["outputs"] == []
        assert cell["metadata"] == ({"tags": ["parameters"]} if cell["id"] == "parameters" else {})


@pytest.mark.parametrize("name", CODE)
def test_a_cell_compiles(name: str) -> None:
    compile(CODE[name], name, "exec")


def test_links_lead_to_files_of_the_repository() -> None:
    links = [link for text in MARKDOWN for link in re.findall(r"\]\(([^)#\s]+)", text)]
    assert links
    for link in links:
        assert (NOTEBOOK.parent / link).exists(), link


def shortened(minutes: float) -> Any:
    """The notebook with another time to train."""
    import nbformat

    book = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(book)
    (parameters,) = (cell for cell in book.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source, count = re.subn(
        r"^MINUTES = .*$", f"MINUTES = {minutes}", parameters.source, flags=re.MULTILINE
    )
    assert count == 1
    return book


def printed(book: Any, name: str, stream: str = "stdout") -> str:
    """What a cell has printed."""
    (cell,) = (cell for cell in book.cells if cell.id == name)
    return "".join(
        out.text for out in cell.outputs if out.output_type == "stream" and out.name in stream.split()
    )


def displayed(book: Any, name: str, kind: str) -> str:
    """What a cell displays of a kind."""
    (cell,) = (cell for cell in book.cells if cell.id == name)
    (found,) = (out.data[kind] for out in cell.outputs if kind in out.get("data", {}))
    assert isinstance(found, str)
    return found


def share(text: str, bot: str) -> float:
    """The share of matches won that a cell has printed."""
    found = re.search(rf"against {bot}: (\d\.\d+) \(\d\.\d+ to \d\.\d+\), \d+ matches", text)
    assert found is not None, text
    return float(found[1])


@executes
def test_it_plays_trains_and_draws_the_curve(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    book = shortened(0.15)
    NotebookClient(book, timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "your hand:" in printed(book, "observe")
    assert re.search(r"scores \(\d+, \d+\) places", printed(book, "finish"))
    assert "srcdoc=" in displayed(book, "show", "text/html")
    assert "hand" in printed(book, "fields")
    assert "episodes; the margins" in printed(book, "random-agents")
    before, after = printed(book, "measure"), printed(book, "train-loop")
    assert share(before, "random") < share(after, "random")
    assert share(before, "greedy") < share(after, "greedy")
    assert len(displayed(book, "draw-curve", "image/png")) > 10_000
    assert (tmp_path / "first_agent.onnx").stat().st_size
    assert re.search(r"scores \(\d+, \d+\) places", printed(book, "play-policy"))
    assert "policy:mine:argmax" in displayed(book, "play-policy", "text/html")
    # Of warnings only PyTorch's exporter has any to show.
    noise = {cell.id: printed(book, cell.id, "stderr") for cell in book.cells if cell.cell_type == "code"}
    assert {name for name, text in noise.items() if text} <= {"train-loop", "play-policy"}
    assert "Warning" not in noise["train-loop"]


@executes
def test_training_that_is_interrupted_keeps_what_was_learned(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    book = shortened(60)
    client = NotebookClient(book, timeout=SECONDS, resources={"metadata": {"path": str(tmp_path)}})

    def interrupt() -> None:
        """Presses the stop button when the bar shows that training has begun."""
        end = time.monotonic() + SECONDS
        while not re.search(r" [3-9]/3600", printed(book, "train-loop", "stderr")):
            assert time.monotonic() < end
            time.sleep(0.1)
        asyncio.run(client.km.interrupt_kernel())

    with ThreadPoolExecutor() as threads, client.setup_kernel():
        for number, cell in enumerate(book.cells):
            stopped = threads.submit(interrupt) if cell.id == "train-loop" else None
            client.execute_cell(cell, number)
            if stopped is not None:
                stopped.result()
    told = printed(book, "train-loop")
    assert "interrupted: the network keeps what it has learned" in told
    assert share(printed(book, "measure"), "random") < share(told, "random")
    assert re.search(r"scores \(\d+, \d+\) places", printed(book, "play-policy"))
