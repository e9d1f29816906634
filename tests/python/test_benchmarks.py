"""What people read of `make bench` is what `bench/report.py` makes of the figures that are kept."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

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


def without(start: str) -> dict[str, Any]:
    """The rows of results, as if the contestants whose names begin so had failed."""
    rows = {row["row"]: row for row in RESULTS["rows"]}
    for name, row in rows.items():
        if "version" in row and re.match(start, name):
            rows[name] = {"row": name, "figure": None, "unit": row["unit"], "failed": "not installed"}
    return rows


def test_the_table_of_the_readme_names_the_fastest_peer_that_has_a_figure(report: ModuleType) -> None:
    assert "pgx leduc_holdem x1024, policy compiled: " in report.front_table(without("pgx connect_four"))
    first = report.front_table(without("pgx|envpool")).splitlines()[2]
    assert first.endswith("| none measured |")
    assert "**" not in first
    assert "| failed | " in report.front_table(without("boardwire faraway x1024, local"))


def test_the_page_says_why_a_peer_has_no_figure(report: ModuleType) -> None:
    found = RESULTS | {"rows": list(without("pgx|rlcard").values())}
    assert "| rlcard uno | not installed |" in report.page(found)
