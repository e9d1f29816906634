"""Batches from Python against the real server and the echo server: every way, every size, both sockets.

Blocks alternate between the two. `decisions/s` is the whole loop, policy included; `against echo`
compares the time between request and answer alone (`halves`: the time of a loop, since it never only
waits). `batch.py WIRE [SOCKET]`.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from batches import WAYS, Batch

SIZES = (1, 16, 64, 256, 1024, 4096)
BLOCK_SECONDS = 0.12
PAIRS = int(os.environ.get("BOARDWIRE_BENCH_PAIRS", "11"))


def block(batch):
    """Plays for a while: decisions a second, and the seconds a call took."""
    batch.waited, decisions, calls, start = 0.0, 0, 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < BLOCK_SECONDS:
        decisions += batch.step()
        calls += 1
    return decisions / passed, batch.waited / calls


def compare(row, real, echo, rows):
    """Plays block by block against both, whoever goes first alternating, and prints three rows."""
    found = {real: [], echo: []}
    for pair in range(PAIRS + 1):
        for batch in (real, echo) if pair % 2 else (echo, real):
            found[batch].append(block(batch))
    # The first pair warmed up.
    reals, echoes = found[real][1:], found[echo][1:]
    for name, values, unit in (
        (row, [rate for rate, _ in reals], "decisions/s"),
        (f"{row}, echo", [rate for rate, _ in echoes], "decisions/s"),
        (
            f"{row}, against echo",
            [a / b for (_, a), (_, b) in zip(reals, echoes, strict=False)],
            "times its time",
        ),
    ):
        low, figure, high = statistics.quantiles(values, n=4)
        shown = {"row": name, "figure": figure, "unit": unit, "quartiles": [low, high], "rows": rows}
        print(json.dumps(shown), flush=True)


def main(wire, only=None):
    """Compares everything."""
    with subprocess.Popen(
        [wire, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as servers:
        addresses = json.loads(servers.stdout.readline())
        for socket in ("unix", "tcp"):
            for way in WAYS:
                for size in SIZES:
                    if (only and socket != only) or (way == "halves" and size == 1):
                        continue
                    real, echo = (Batch(addresses[server][socket], size, way) for server in ("real", "echo"))
                    compare(f"batch python {way} x{size} {socket}", real, echo, size)
                    real.close()
                    echo.close()
        servers.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
