"""Runs test suites one after the other, also after a failure, and prints one table at the end.

`suites.py [--budget SECONDS] SUITE[=SECONDS[/GB]]...`: a suite is a target of the Makefile. The script skips
a suite with numbers if fewer seconds of the budget or fewer GB of the disk are left. It aborts a suite at the
end of the budget. The output of a suite goes to the terminal and to target/suites/SUITE.log. The exit code is
1 if a suite failed. The last line names the suites left out. If BOARDWIRE_EVERY_SUITE is set, the exit code
is also 1 if a suite was left out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "suites"
#: Patterns for the counts of passed, failed and skipped tests from cargo, pytest, Node and the abuse suite.
COUNTS = {
    "passed": r"^test result: .* (\d+) passed;|\b(\d+) passed\b.* in [\d.]+s|^\S pass (\d+)|^abuse: (\d+) of",
    "failed": r"^test result: .* (\d+) failed;|\b(\d+) (?:failed|errors?)\b(?=.* in [\d.]+s)|^\S fail (\d+)",
    "skipped": r"^test result: .* (\d+) ignored;|\b(\d+) skipped\b.* in [\d.]+s|^\S skipped (\d+)",
}
#: Patterns of the first line of a failure, from the most specific to the least.
FAILURES = (
    r"^(FAILED|ERROR):? |^Fatal Python error|^✖ (?!failing)|^test .* FAILED$|^---- .* ----$",
    r"^error(\[|:)|^make: (?!\*\*\*)|: error: |Error: |^Traceback",
    r"^make(\[\d+\])?: \*\*\*",
)
#: The reason for skipped tests: from the summary of pytest, or a missing tool.
REASON = re.compile(r"^SKIPPED \[\d+\] (?:\S+: )?(.*)|^skipped: (.*)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Result:
    """The result of a suite."""

    name: str
    code: int = 0
    seconds: float = 0
    lines: list[str] = field(default_factory=list)

    def count(self, kind: str) -> int:
        """Returns the number of passed, failed or skipped tests."""
        matches = (match for line in self.lines for match in re.finditer(COUNTS[kind], line))
        return sum(int(next(filter(None, match.groups()))) for match in matches)

    def first_failure(self) -> str:
        """Returns the first line that names a failure."""
        for pattern in FAILURES:
            for line in self.lines:
                if re.search(pattern, line):
                    return line
        return self.lines[-1] if self.lines else "no output"

    def reasons(self) -> list[str]:
        """Returns the reasons for skipped tests, each once."""
        matches = filter(None, map(REASON.match, self.lines))
        return list(dict.fromkeys(next(filter(None, match.groups())) for match in matches))


def end(suite: subprocess.Popen[str], by: signal.Signals) -> None:
    """Ends the processes that a suite still has by a signal."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(suite.pid, by)


def run(name: str, seconds: float) -> Result:
    """Runs a suite for at most some seconds; prints and saves its output."""
    print(f"== {name}", flush=True)
    result, start = Result(name), time.monotonic()
    command = ["make", "--no-print-directory", name]
    LOGS.mkdir(parents=True, exist_ok=True)
    with (
        (LOGS / f"{name}.log").open("w") as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as suite,
        contextlib.ExitStack() as at_end,
    ):
        at_end.callback(end, suite, signal.SIGTERM)
        # At this signal Python prints all threads.
        limit = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end, [suite, signal.SIGABRT])
        at_end.callback(limit.cancel)
        limit.start()
        assert suite.stdout
        for line in suite.stdout:
            print(line, end="", flush=True)
            log.write(line)
            result.lines.append(COLOURS.sub("", line).strip())
        suite.wait()
    result.code, result.seconds = suite.returncode, time.monotonic() - start
    return result


def table(results: list[Result]) -> str:
    """Returns the table: one row per suite, then the first failures and the reasons for skipped tests."""
    rows: list[tuple[str, ...]] = [("suite", "", "passed", "failed", "skipped", "seconds")]
    notes = []
    for result in results:
        counts = [str(result.count(kind) or "") for kind in COUNTS]
        rows.append((result.name, "FAILED" if result.code else "ok", *counts, f"{result.seconds:.0f}"))
        notes += [f"{result.name} skipped: {reason}" for reason in result.reasons()]
        if result.code:
            notes.append(f"{result.name} FAILED: {result.first_failure()} (target/suites/{result.name}.log)")
    rows.append(("total", "", "", "", "", f"{sum(result.seconds for result in results):.0f}"))
    width = max(len(row[0]) for row in rows)
    lines = [f"{row[0]:{width}}  {row[1]:6}" + "".join(f"{cell:>9}" for cell in row[2:]) for row in rows]
    return "\n".join([*lines, *notes])


def main() -> int:
    """Runs the suites; returns the exit code."""
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
        remaining, free = options.budget - (time.monotonic() - start), shutil.disk_usage(ROOT).free / 1e9
        if float(seconds or 0) > remaining:
            left_out.append(f"{name} (needs {seconds} s, {remaining:.0f} s are left)")
        elif float(disk or 0) > free:
            left_out.append(f"{name} (needs {disk} GB, {free:.0f} GB are free)")
        else:
            results.append(run(name, remaining))
    print(f"\n{table(results)}\nleft out: {', '.join(left_out) or 'nothing'}", flush=True)
    is_incomplete = bool(left_out and os.environ.get("BOARDWIRE_EVERY_SUITE"))
    return int(is_incomplete or any(result.code for result in results))


if __name__ == "__main__":
    sys.exit(main())
