"""Seats and batches from Python against the real server and against the echo server, by plain grpcio stubs.

Blocks alternate between the two servers, since machines are noisy: the ratio of neighbouring blocks counts.
`decisions/s` is the whole loop, policy included. `against echo` compares the time between request and
response (`halves`: the time of a loop, since it never only waits).
`echo.py WIRE` prints a row a line as JSON.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from act import Agent
from batches import WAYS, Batch

SIZES = (1, 16, 64, 256, 1024, 4096)
BLOCK_SECONDS = 0.15
PAIRS = int(os.environ.get("BOARDWIRE_BENCH_PAIRS", "15"))


def block(player):
    """Plays for a while; returns the decisions a second, and the seconds of a call."""
    player.waited, decisions, calls, start = 0.0, 0, 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < BLOCK_SECONDS:
        decisions += player.step()
        calls += 1
    return decisions / passed, player.waited / calls


def compare(row, real, echo):
    """Plays block by block against both, in alternating order, and prints three rows."""
    found = {real: [], echo: []}
    for pair in range(PAIRS + 1):
        for player in (real, echo) if pair % 2 else (echo, real):
            found[player].append(block(player))
    # The first pair warmed up.
    reals, echoes = found[real][1:], found[echo][1:]
    ratios = [a / b for (_, a), (_, b) in zip(reals, echoes, strict=True)]
    for name, values, unit in (
        (row, [rate for rate, _ in reals], "decisions/s"),
        (f"{row}, echo", [rate for rate, _ in echoes], "decisions/s"),
        (f"{row}, against echo", ratios, "times its time"),
    ):
        low, figure, high = statistics.quantiles(values, n=4)
        print(json.dumps({"row": name, "figure": figure, "unit": unit, "quartiles": [low, high]}), flush=True)
    real.close()
    echo.close()


def main(wire):
    """Compares all ways, sizes and sockets."""
    with subprocess.Popen(
        [wire, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as servers:
        addresses = json.loads(servers.stdout.readline())
        for socket in ("tcp", "unix"):
            both = [addresses[server][socket] for server in ("real", "echo")]
            for way in ("unary", "stream"):
                compare(f"act python {way} {socket}", *(Agent(each, stream=way == "stream") for each in both))
            for way in WAYS:
                for size in SIZES[way == "halves" :]:
                    compare(
                        f"batch python {way} x{size} {socket}", *(Batch(each, size, way) for each in both)
                    )
        servers.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
