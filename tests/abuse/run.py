"""Attacks a real server and measures a normal client beside each attack.

Each attack has a new server and a normal client in its own process. After the attack, memory and descriptors
must return to their earlier values. The log must contain no panic, and the server must end on SIGTERM.
`make abuse` and `make abuse-quick` call `run.py [--full] BINARY [NAME ...]`.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

import batching
import bots
import connections
import creating
import memory
import messages
import mutating
import proxy
import reading
import shutdown
import streaming
import timing
from attacks import ATTACKS, Attack
from normal_client import Measurements, NormalClientProcess
from target import Failed, Target, expect, running_server, wait_until

#: The import of a module registers its attacks.
MODULES = (
    memory,
    creating,
    streaming,
    connections,
    messages,
    mutating,
    reading,
    batching,
    bots,
    timing,
    proxy,
    shutdown,
)
#: The longest allowed round trip of the normal client, in milliseconds, by `--full`.
WORST_MS = {False: 30_000.0, True: 5_000.0}
#: The time for memory and descriptors to return.
RETURN_SECONDS = 30.0
#: The soft limit of descriptors that the suite sets, and the descriptors reserved for other uses.
DESCRIPTORS, SPARE_DESCRIPTORS = 4_096, 128


def check_normal_client(attack: Attack, measured: Measurements, *, full: bool) -> str:
    """Fails if the normal client had an error or waited too long; returns its results."""
    results = f"normal client {len(measured.trips) + len(measured.checks):,} calls"
    median, p99, slowest = (measured.quantile_ms(q) for q in (0.5, 0.99, 1))
    results += f", p50 {median:.1f} p99 {p99:.1f} max {slowest:.0f} ms"
    expect(not measured.errors, f"the normal client got errors: {measured.errors}; {results}")
    expect(
        bool(measured.stopped) == attack.ends,
        f"the normal client lost its server: {measured.stopped or 'no'}",
    )
    expect(slowest <= WORST_MS[full], f"the normal client waited too long: {results}")
    return results


def check_log(log: str) -> None:
    """Fails if the log contains a panic or an internal error."""
    for line in log.splitlines():
        expect("panic" not in line.lower() and " ERROR " not in line, f"the log says: {line}")


def run_on_server(attack: Attack, size: int, target: Target, *, full: bool) -> str:
    """Runs one attack on a server, checks its effects, and returns the results."""
    with contextlib.closing(NormalClientProcess(target.unix)) as watch:
        before, descriptors = target.resident(), target.descriptors()
        target.wait_for_normal_client = watch.wait_until_lost
        start = time.monotonic()
        results = attack.action(target, size)
        took = time.monotonic() - start
        if not attack.ends:
            peak, maximum = target.peak(), before + attack.slack
            with contextlib.suppress(Failed):
                wait_until(lambda: target.resident() <= maximum, RETURN_SECONDS, "memory did not return")
            after = target.resident()
            memory = f"memory {before:.0f}, {peak:.0f}, {after:.0f} MiB"
            expect(after <= maximum, f"memory did not return: {memory}; {results}")
            wait_until(
                lambda: target.descriptors() <= descriptors + 2, RETURN_SECONDS, "descriptors did not return"
            )
            results += f"; {memory}"
        results += "; " + check_normal_client(attack, watch.finish(), full=full)
    if not attack.ends:
        results += f"; stopped in {target.stop():.1f} s"
    return f"{took:.1f} s: {results}"


def run(attack: Attack, binary: str, *, full: bool) -> bool:
    """Runs one attack, prints its results, and returns whether the server passed."""
    size = scaled(attack, full=full)
    flags = [str(flag) for flag in attack.flags(size)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        try:
            with running_server(binary, Path(folder), flags) as target:
                results = run_on_server(attack, size, target, full=full)
            check_log(log.read_text(errors="replace"))
        except Exception as error:
            if not isinstance(error, Failed):
                traceback.print_exc()
            print(f"FAILED {attack.name} ({size:,}): {error}", flush=True)
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            print("".join(f"    {line}\n" for line in lines[-10:]), end="", flush=True)
            return False
    print(f"ok     {attack.name} ({size:,}), {results}", flush=True)
    return True


def raise_descriptors() -> None:
    """Raises the soft limit of descriptors for this process and the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


def scaled(attack: Attack, *, full: bool) -> int:
    """Returns the size of an attack, reduced if the limit of descriptors is too low."""
    size = attack.full if full else attack.quick
    # Both sides of a connection have the same limit.
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS
    if not attack.connects or size <= room:
        return size
    print(
        f"abuse: {attack.name} has {room:,} connections instead of {size:,}: raise the limit of descriptors"
    )
    return room


def main() -> int:
    """Runs the selected attacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="the server")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks; default: all")
    parser.add_argument("--full", action="store_true", help="run at full size")
    options = parser.parse_args()
    unknown = set(options.names) - {attack.name for attack in ATTACKS}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: available: {', '.join(each.name for each in ATTACKS)}")
    raise_descriptors()
    start = time.monotonic()
    available = [each for each in ATTACKS if (each.full if options.full else each.quick)]
    selected = [each for each in available if not options.names or each.name in options.names]
    failed = [each.name for each in selected if not run(each, options.binary, full=options.full)]
    passed, seconds = len(selected) - len(failed), time.monotonic() - start
    print(f"abuse: {passed} of {len(selected)} attacks passed, {seconds:.0f} s")
    if failed:
        print(f"abuse: failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
