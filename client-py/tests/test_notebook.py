"""The format of the notebook, and what its cells print and draw."""

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
CONTENT: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
CODE: dict[str, str] = {
    cell["id"]: "".join(cell["source"]) for cell in CONTENT["cells"] if cell["cell_type"] == "code"
}
MARKDOWN = ["".join(cell["source"]) for cell in CONTENT["cells"] if cell["cell_type"] == "markdown"]
#: Packages of the extra `boardwire[notebook]`, which executing the notebook needs.
NEEDS = ["torch", "matplotlib", "tqdm", "ipykernel", "nbclient"]
MISSING = [package for package in NEEDS if importlib.util.find_spec(package) is None]
TIMEOUT = 300

needs_packages = pytest.mark.skipif(bool(MISSING), reason=f"executing the notebook needs {MISSING}")


def test_the_notebook_file_has_a_stable_layout() -> None:
    text = json.dumps(CONTENT, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert NOTEBOOK.read_text(encoding="utf-8") == text
    assert (CONTENT["nbformat"], CONTENT["nbformat_minor"]) == (4, 5)
    assert CONTENT["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    ids = [cell["id"] for cell in CONTENT["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in ids), (
        "cell ids must be words, so that they stay stable"
    )


def test_the_notebook_file_has_no_outputs() -> None:
    for cell in CONTENT["cells"]:
        if cell["cell_type"] == "code":
            assert cell["execution_count"] is None
            assert cell["outputs"] == []
        assert cell["metadata"] == ({"tags": ["parameters"]} if cell["id"] == "parameters" else {})


@pytest.mark.parametrize("name", CODE)
def test_a_cell_compiles(name: str) -> None:
    compile(CODE[name], name, "exec")


def test_links_lead_to_existing_files() -> None:
    links = [link for text in MARKDOWN for link in re.findall(r"\]\(([^)#\s]+)", text)]
    assert links
    for link in links:
        assert (NOTEBOOK.parent / link).exists(), link


def notebook_with_training_time(minutes: float) -> Any:
    """Reads the notebook and sets its training time."""
    import nbformat

    notebook = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(notebook)
    (parameters,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source, count = re.subn(
        r"^MINUTES = .*$", f"MINUTES = {minutes}", parameters.source, flags=re.MULTILINE
    )
    assert count == 1
    return notebook


def printed(notebook: Any, name: str, stream: str = "stdout") -> str:
    """Returns the text that a cell printed."""
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    return "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == stream)


def displayed(notebook: Any, name: str, mime_type: str) -> str:
    """Returns the output of a cell that has this MIME type."""
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    (data,) = (out.data[mime_type] for out in cell.outputs if mime_type in out.get("data", {}))
    assert isinstance(data, str)
    return data


def win_rate(text: str, bot: str) -> float:
    """Returns the win rate against a bot from the output of a cell."""
    match = re.search(rf"against {bot}: (\d\.\d+) \(\d\.\d+ to \d\.\d+\), \d+ matches", text)
    assert match is not None, text
    return float(match[1])


@needs_packages
def test_the_notebook_plays_trains_and_draws_the_curve(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    notebook = notebook_with_training_time(0.15)
    NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "seat 0 (you):" in printed(notebook, "observe")
    assert re.search(r"scores \(\d+, \d+\) places", printed(notebook, "finish"))
    assert "srcdoc=" in displayed(notebook, "show", "text/html")
    assert "hand" in printed(notebook, "fields")
    assert "episodes; the margins" in printed(notebook, "random-agents")
    before, after = printed(notebook, "measure"), printed(notebook, "train-loop")
    assert win_rate(before, "random") < win_rate(after, "random")
    assert win_rate(before, "greedy") < win_rate(after, "greedy")
    assert len(displayed(notebook, "draw-curve", "image/png")) > 10_000
    assert (tmp_path / "first_agent.onnx").stat().st_size
    assert re.search(r"scores \(\d+, \d+\) places", printed(notebook, "play-policy"))
    assert "policy:mine:argmax" in displayed(notebook, "play-policy", "text/html")
    # The progress bar and PyTorch's exporter write to stderr; no other cell does.
    stderr = {
        cell.id: printed(notebook, cell.id, "stderr") for cell in notebook.cells if cell.cell_type == "code"
    }
    assert {name for name, text in stderr.items() if text} <= {"train-loop", "play-policy"}
    assert "Warning" not in stderr["train-loop"]


@needs_packages
def test_interrupted_training_keeps_the_network(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    notebook = notebook_with_training_time(60)
    client = NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(tmp_path)}})

    def interrupt() -> None:
        """Interrupts the kernel when the progress bar shows that training has started."""
        deadline = time.monotonic() + TIMEOUT
        while not re.search(r" [3-9]/3600", printed(notebook, "train-loop", "stderr")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        asyncio.run(client.km.interrupt_kernel())

    with ThreadPoolExecutor() as threads, client.setup_kernel():
        for number, cell in enumerate(notebook.cells):
            stopped = threads.submit(interrupt) if cell.id == "train-loop" else None
            client.execute_cell(cell, number)
            if stopped is not None:
                stopped.result()
    output = printed(notebook, "train-loop")
    assert "interrupted: the network keeps what it has learned" in output
    # A few seconds of training need not improve the network.
    assert 0 < win_rate(output, "random") < 1
    assert re.search(r"scores \(\d+, \d+\) places", printed(notebook, "play-policy"))
