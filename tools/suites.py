"""Runs suites of tests one after the other, also after one that failed, and ends with one table.

`suites.py [--budget SECONDS] SUITE[=SECONDS[/GB]]...`: a suite is a target of the Makefile. One with numbers
is left out when fewer seconds of the budget or fewer GB of the disk are left. What a suite prints goes to the
terminal and to target/suites/SUITE.log. The exit code is 1 if a suite failed. The last line names the suites
left out.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "suites"
#: How cargo, pytest, Node and the abuse suite say how many tests passed, failed and were skipped.
COUNTS = {
    "passed": r"^test result: .* (\d+) passed;|\b(\d+) passed\b.* in [\d.]+s|^\S pass (\d+)|^abuse: (\d+) of",
    "failed": r"^test result: .* (\d+) failed;|\b(\d+) failed\b.* in [\d.]+s|^\S fail (\d+)",
    "skipped": r"^test result: .* (\d+) ignored;|\b(\d+) skipped\b.* in [\d.]+s|^\S skipped (\d+)",
}
#: What the first line of a failure begins with, from the most telling to the least.
FAILURES = (
    r"^(FAILED|ERROR):? |^✖ (?!failing)|^test .* FAILED$|^---- .* ----$",
    r"^error(\[|:)|^make: (?!\*\*\*)|: error: |Error: |^Traceback",
    r"^make(\[\d+\])?: \*\*\*",
)
#: Why tests were skipped: in pytest's summary, or for want of a tool.
REASON = re.compile(r"^SKIPPED \[\d+\] (?:\S+: )?(.*)|^skipped: (.*)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Result:
    """How a suite ended."""

    name: str
    code: int = 0
    seconds: float = 0
    lines: list[str] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """How many tests passed, failed or were skipped."""
        found = (match for line in self.lines for match in re.finditer(COUNTS[kind], line))
        return sum(int(next(filter(None, match.groups()))) for match in found)

    def first_failure(self) -> str:
        """The first line that says what failed."""
        for pattern in FAILURES:
            for line in self.lines:
                if re.search(pattern, line):
                    return line
        return self.lines[-1] if self.lines else "it printed nothing"

    def reasons(self) -> list[str]:
        """Why tests were skipped, each reason once."""
        found = filter(None, map(REASON.match, self.lines))
        return list(dict.fromkeys(next(filter(None, match.groups())) for match in found))


def run(name: str) -> Result:
    """Runs a suite, and shows and keeps what it prints."""
    print(f"== {name}", flush=True)
    result, start = Result(name), time.monotonic()
    command = ["make", "--no-print-directory", name]
    LOGS.mkdir(parents=True, exist_ok=True)
    with (
        (LOGS / f"{name}.log").open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as suite,
    ):
        assert suite.stdout
        for line in suite.stdout:
            print(line, end="", flush=True)
            log.write(line)
            result.lines.append(COLOURS.sub("", line).strip())
    result.code, result.seconds = suite.returncode, time.monotonic() - start
    return result


def table(results: list[Result]) -> str:
    """The table: one row for each suite, and below it what failed first and what was skipped."""
    rows: list[tuple[str, ...]] = [("suite", "", "passed", "failed", "skipped", "seconds")]
    notes = []
    for each in results:
        counts = [str(each.count(kind) or "") for kind in COUNTS]
        rows.append((each.name, "FAILED" if each.code else "ok", *counts, f"{each.seconds:.0f}"))
        notes += [f"{each.name} skipped: {reason}" for reason in each.reasons()]
        if each.code:
            notes.append(f"{each.name} FAILED: {each.first_failure()} (target/suites/{each.name}.log)")
    rows.append(("together", "", "", "", "", f"{sum(each.seconds for each in results):.0f}"))
    width = max(len(row[0]) for row in rows)
    lines = [f"{row[0]:{width}}  {row[1]:6}" + "".join(f"{cell:>9}" for cell in row[2:]) for row in rows]
    return "\n".join([*lines, *notes])


def main() -> int:
    """Runs the suites."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="+", metavar="SUITE[=SECONDS[/GB]]")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS")
    options = parser.parse_args()
    start = time.monotonic()
    results, left_out = [], []
    for suite in options.suites:
        name, _, needs = suite.partition("=")
        seconds, _, disk = needs.partition("/")
        left, free = options.budget - (time.monotonic() - start), shutil.disk_usage(ROOT).free / 1e9
        if float(seconds or 0) > left:
            left_out.append(f"{name} (needs {seconds} s, {left:.0f} s are left)")
        elif float(disk or 0) > free:
            left_out.append(f"{name} (needs {disk} GB, {free:.0f} GB are free)")
        else:
            results.append(run(name))
    print(f"\n{table(results)}\nleft out: {', '.join(left_out) or 'nothing'}", flush=True)
    return int(any(each.code for each in results))


if __name__ == "__main__":
    sys.exit(main())
