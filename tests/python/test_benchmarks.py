"""What people read of `make bench` is what `bench/report.py` makes of the figures that are kept."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
RESULTS = json.loads((BENCH / "results.json").read_text())


@pytest.fixture(scope="module")
def report() -> ModuleType:
    """`bench/report.py`, which is no package."""
    spec = importlib.util.spec_from_file_location("report", BENCH / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_of_the_figures(report: ModuleType) -> None:
    assert report.PAGE.read_text() == report.page(RESULTS), "run: bench/run --report"


def test_the_table_of_the_readme_is_made_of_the_figures(report: ModuleType) -> None:
    assert report.README.read_text() == report.readme(RESULTS), "run: bench/run --report"
