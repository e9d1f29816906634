"""The benchmark page and the README agree with the stored results."""

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
    """The module `bench/report.py`."""
    spec = importlib.util.spec_from_file_location("report", BENCH / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_page_is_fresh(report: ModuleType) -> None:
    assert report.PAGE.read_text() == report.page(RESULTS), "run: bench/run --report"


def test_the_table_of_the_readme_is_fresh(report: ModuleType) -> None:
    assert report.README.read_text() == report.readme(RESULTS), "run: bench/run --report"


def without(pattern: str) -> dict[str, Any]:
    """Returns the results, with failures for the programs whose names match."""
    rows = {row["row"]: row for row in RESULTS["rows"]}
    for name, row in rows.items():
        if "version" in row and re.match(pattern, name):
            rows[name] = {"row": name, "figure": None, "unit": row["unit"], "failed": "not installed"}
    return rows


def test_the_table_of_the_readme_names_the_fastest_measured_program(report: ModuleType) -> None:
    assert "pgx leduc_holdem x1024, policy compiled: " in report.front_table(without("pgx connect_four"))
    first = report.front_table(without("pgx|envpool")).splitlines()[2]
    assert first.endswith("| none measured |")
    assert "**" not in first
    assert "| failed | " in report.front_table(without("boardwire faraway x1024, local"))


def test_the_benchmark_page_says_why_a_program_has_no_result(report: ModuleType) -> None:
    results = RESULTS | {"rows": list(without("pgx|rlcard").values())}
    assert "| rlcard uno | not installed |" in report.page(results)
