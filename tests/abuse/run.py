"""Does to the real server what nobody should, and looks whether an innocent client notices.

Every attack has a fresh server and, beside it, an innocent client in a process of its own that plays and is
measured. Afterwards memory and descriptors have returned, the log holds no panic, and the server ends when it
is told to. `run.py [--full] BINARY [NAME ...]`; called by `make abuse` and `make abuse-quick`.
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

#: Importing a module lists its attacks.
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
#: The longest round trip of an innocent client, in milliseconds. The quick form judges no speed.
WORST_MS = {False: 30_000.0, True: 5_000.0}
#: How long memory and descriptors may take to return.
RETURN_SECONDS = 30.0
#: The descriptors that the suite asks for, and those of them that are not for attacks.
DESCRIPTORS, SPARE_DESCRIPTORS = 4_096, 128


def check_normal_client(attack: Attack, seen: Measurements, *, full: bool) -> str:
    """Fails unless the client was answered throughout; gives the figures."""
    figures = f"innocent {len(seen.trips) + len(seen.checks):,} calls"
    figures += f", p50 {seen.p(0.5):.1f} p99 {seen.p(0.99):.1f} max {seen.p(1):.0f} ms"
    expect(not seen.errors, f"the innocent client was refused: {seen.errors}; {figures}")
    expect(bool(seen.stopped) == attack.ends, f"the innocent client lost its server: {seen.stopped or 'no'}")
    expect(seen.p(1) <= WORST_MS[full], f"the innocent client waited for too long: {figures}")
    return figures


def check_log(log: str) -> None:
    """Fails when the log holds a panic, or a mistake of the server."""
    for line in log.splitlines():
        expect("panic" not in line.lower() and " ERROR " not in line, f"the log says: {line}")


def run_on_server(attack: Attack, size: int, target: Target, *, full: bool) -> str:
    """Runs one attack on a server and judges what it has done; gives the figures."""
    with contextlib.closing(NormalClientProcess(target.unix)) as watch:
        before, descriptors = target.resident(), target.descriptors()
        target.wait_for_normal_client = watch.wait_until_lost
        start = time.monotonic()
        figures = attack.action(target, size)
        took = time.monotonic() - start
        if not attack.ends:
            peak, most = target.peak(), before + attack.slack
            with contextlib.suppress(Failed):
                wait_until(lambda: target.resident() <= most, RETURN_SECONDS, "memory did not return")
            after = target.resident()
            memory = f"memory {before:.0f}, {peak:.0f}, {after:.0f} MiB"
            expect(after <= most, f"memory did not return: {memory}; {figures}")
            wait_until(
                lambda: target.descriptors() <= descriptors + 2, RETURN_SECONDS, "descriptors did not return"
            )
            figures += f"; {memory}"
        figures += "; " + check_normal_client(attack, watch.finish(), full=full)
    if not attack.ends:
        figures += f"; stopped in {target.stop():.1f} s"
    return f"{took:.1f} s: {figures}"


def run(attack: Attack, binary: str, *, full: bool) -> bool:
    """Runs one attack; prints how it went, and gives whether the server stood it."""
    size = scaled(attack, full=full)
    flags = [str(flag) for flag in attack.flags(size)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        try:
            with running_server(binary, Path(folder), flags) as target:
                figures = run_on_server(attack, size, target, full=full)
            check_log(log.read_text(errors="replace"))
        except Exception as error:
            if not isinstance(error, Failed):
                traceback.print_exc()
            print(f"FAILED {attack.name} ({size:,}): {error}", flush=True)
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            print("".join(f"    {line}\n" for line in lines[-10:]), end="", flush=True)
            return False
    print(f"ok     {attack.name} ({size:,}), {figures}", flush=True)
    return True


def raise_descriptors() -> None:
    """Lets this process, and the servers that it starts, open as many descriptors as are permitted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))


def scaled(attack: Attack, *, full: bool) -> int:
    """The size of an attack: the one that was asked for, unless too few descriptors are permitted."""
    size = attack.full if full else attack.quick
    # Both sides of a connection are limited alike; the rest is for what else they have open.
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS
    if not attack.connects or size <= room:
        return size
    print(f"abuse: {attack.name} has {room:,} connections, not {size:,}: raise the limit of descriptors")
    return room


def main() -> int:
    """Runs the attacks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="the server")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks; all when left out")
    parser.add_argument("--full", action="store_true", help="at full size")
    options = parser.parse_args()
    unknown = set(options.names) - {attack.name for attack in ATTACKS}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: known are {', '.join(each.name for each in ATTACKS)}")
    raise_descriptors()
    start = time.monotonic()
    # A size of 0 leaves an attack out.
    known = [each for each in ATTACKS if (each.full if options.full else each.quick)]
    wanted = [each for each in known if not options.names or each.name in options.names]
    failed = [each.name for each in wanted if not run(each, options.binary, full=options.full)]
    print(
        f"abuse: {len(wanted) - len(failed)} of {len(wanted)} attacks stood, {time.monotonic() - start:.0f} s"
    )
    if failed:
        print(f"abuse: the server did not stand {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
