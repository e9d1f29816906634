"""Seats and batches from Python against the real server and against the echo server, by plain grpcio stubs.

Blocks alternate between the two servers, since machines are noisy: the ratio of neighbouring blocks counts.
`decisions/s` is the whole loop, policy included. `against echo` compares the time between request and
response (`halves`: the time of a loop, since it never only waits).
`echo.py WIRE` prints a row a line as JSON.
"""

import json
import os
import subprocess
import sys
import time

from peers import PIPES, say
from policy import RandomLegal
from stubs import Agent, Batch

BLOCK_SECONDS = 0.15
PAIRS = int(os.environ.get("BOARDWIRE_BENCH_PAIRS", "15"))


def block(player):
    """Plays for a while; returns the decisions a second, and the seconds of a call."""
    player.waited, decisions, calls, start = 0.0, 0, 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < BLOCK_SECONDS:
        decisions += player.step()
        calls += 1
    return decisions / passed, player.waited / calls


def compare(row, kind, addresses, *arguments):
    """Plays block by block against both servers, in alternating order, and prints two rows."""
    players = [kind(address, *arguments, RandomLegal()) for address in addresses]
    found = {player: [] for player in players}
    # The first pair warms up.
    for pair in range(PAIRS + 1):
        for player in players if pair % 2 else reversed(players):
            found[player].append(block(player))
    real, echo = (found[player][1:] for player in players)
    say(row, [rate for rate, _ in real], "decisions/s")
    ratios = [a / b for (_, a), (_, b) in zip(real, echo, strict=True)]
    say(f"{row}, against echo", ratios, "times its time")
    for player in players:
        player.close()


def main(wire):
    """Compares all ways, sizes and sockets."""
    with subprocess.Popen([wire, "hold"], **PIPES) as servers:
        found = json.loads(servers.stdout.readline())
        for socket in ("tcp", "unix"):
            addresses = [found[server][socket] for server in ("real", "echo")]
            for way in ("unary", "stream"):
                compare(f"act python {way} {socket}", Agent, addresses, way)
            for way in ("unary", "stream", "halves"):
                # Halves need two environments; the page has no row of 64 on TCP.
                for size in (1, 16, 64, 256, 1024):
                    if (way, size) != ("halves", 1) and (socket, size) != ("tcp", 64):
                        compare(f"batch python {way} x{size} {socket}", Batch, addresses, way, size)


if __name__ == "__main__":
    main(*sys.argv[1:])
