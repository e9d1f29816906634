"""Measures seats and batches from Python with plain grpcio stubs, on the real server and on the echo server.

Blocks alternate between the two servers, since the speed of a machine varies. A ratio compares neighbouring
blocks. `decisions/s` is the whole loop with the policy. `against echo` compares the time between request and
response. For `halves` it compares the time of a loop, since requests and decisions overlap.
`echo.py WIRE` prints one row per line as JSON.
"""

import json
import os
import subprocess
import sys
import time

from peers import PIPES, print_row
from policy import RandomLegal
from stubs import Agent, Batch

BLOCK_SECONDS = 0.15
PAIRS = int(os.environ.get("BOARDWIRE_BENCH_PAIRS", "15"))


def block(player):
    """Plays for `BLOCK_SECONDS`; returns the decisions per second and the seconds per call."""
    player.waited, decisions, calls, start = 0.0, 0, 0, time.perf_counter()
    while (seconds := time.perf_counter() - start) < BLOCK_SECONDS:
        decisions += player.step()
        calls += 1
    return decisions / seconds, player.waited / calls


def compare(row, kind, addresses, *arguments):
    """Plays blocks on both servers in alternating order, and prints two rows."""
    players = [kind(address, *arguments, RandomLegal()) for address in addresses]
    blocks = {player: [] for player in players}
    # The first pair is a warm-up.
    for pair in range(PAIRS + 1):
        for player in players if pair % 2 else reversed(players):
            blocks[player].append(block(player))
    real, echo = (blocks[player][1:] for player in players)
    print_row(row, [rate for rate, _ in real], "decisions/s")
    ratios = [a / b for (_, a), (_, b) in zip(real, echo, strict=True)]
    print_row(f"{row}, against echo", ratios, "times its time")
    for player in players:
        player.close()


def main(wire):
    """Compares all call types, batch sizes and sockets."""
    with subprocess.Popen([wire, "hold"], **PIPES) as servers:
        endpoints = json.loads(servers.stdout.readline())
        for socket in ("tcp", "unix"):
            addresses = [endpoints[server][socket] for server in ("real", "echo")]
            for call in ("unary", "stream"):
                compare(f"act python {call} {socket}", Agent, addresses, call)
            for call in ("unary", "stream", "halves"):
                # Halves need two environments; the page has no row of 64 on TCP.
                for size in (1, 16, 64, 256, 1024):
                    if (call, size) != ("halves", 1) and (socket, size) != ("tcp", 64):
                        compare(f"batch python {call} x{size} {socket}", Batch, addresses, call, size)


if __name__ == "__main__":
    main(*sys.argv[1:])
