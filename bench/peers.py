"""Compares decisions per second of Boardwire and its peers, each in process or over its own protocol.

Every contestant is a process. They take turns in an order that reverses each round, so that a slow minute of
the machine affects all of them. A row is the median of the rounds. If a peer cannot be loaded, fails or
exceeds its time limit, its row says so. `peers.py WIRE` prints one row per line as JSON.
"""

import contextlib
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from contestants import contestants

ROUNDS = int(os.environ.get("BOARDWIRE_BENCH_ROUNDS", "7"))
TURN_SECONDS = 0.5
#: The time limit to load, compile and warm up.
READY_SECONDS = 240
#: The extra time limit of a turn, for its last step.
LATE_SECONDS = 30
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
#: Our rows. Each is compared with the rows of peers that have this prefix.
RATIOS = {
    "boardwire faraway x1024, halves": "open_spiel hanabi, ",
    "boardwire faraway x1024, local": "",
    "boardwire faraway x1, local": "",
}


class Contestant:
    """The process of a contestant."""

    def __init__(self, name, address):
        """Starts the process, and waits until it is ready."""
        self.name, self.rates, self.lines, self.last_output = name, [], queue.SimpleQueue(), "no output"
        command = [sys.executable, Path(__file__).with_name("contestants.py"), name, address]
        self.process = subprocess.Popen(command, stderr=subprocess.STDOUT, **PIPES)
        threading.Thread(target=self.read, daemon=True).start()
        self.facts = self.next_line(READY_SECONDS)

    def read(self):
        """Queues the lines of the process; keeps the last one that is not JSON, such as an error."""
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(json.loads(line))
            else:
                self.last_output = line.strip()[:200] or self.last_output
        self.lines.put({"failed": f"ended: {self.last_output}"})

    def next_line(self, limit):
        """Returns the next line within a time limit, or the reason of the failure."""
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            line = {"failed": f"no response within {limit} s"}
        if "failed" in line:
            self.process.kill()
        return line

    def play(self):
        """Plays a turn, unless the contestant has failed."""
        if "failed" in self.facts:
            return
        # If the process has ended, the next line says so.
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{TURN_SECONDS}\n")
            self.process.stdin.flush()
        result = self.next_line(TURN_SECONDS + LATE_SECONDS)
        if "failed" in result:
            self.facts = result
        else:
            self.rates.append(result["decisions"] / result["seconds"])


def print_row(row, values, unit, **extra):
    """Prints a row: the median and the quartiles of values; without values, the figure is null."""
    low, figure, high = statistics.quantiles(values, n=4) if values else [None] * 3
    fields = {"row": row, "figure": figure, "unit": unit, "quartiles": [low, high]}
    print(json.dumps(fields | extra), flush=True)


def main(wire):
    """Plays all rounds and prints all rows."""
    with subprocess.Popen([wire, "hold"], **PIPES) as servers:
        address = json.loads(servers.stdout.readline())["real"]["unix"]
        players = [Contestant(name, address) for name in contestants()]
        for number in range(ROUNDS):
            for player in players if number % 2 else reversed(players):
                player.play()
        for player in players:
            player.process.kill()
    for player in players:
        rates = None if "failed" in player.facts else player.rates
        print_row(player.name, rates, "decisions/s", **player.facts)
    rates = {player.name: player.rates for player in players if "failed" not in player.facts}
    for ours, theirs in RATIOS.items():
        for name in rates if ours in rates else ():
            if name.startswith(theirs) and not name.startswith("boardwire "):
                ratios = [a / b for a, b in zip(rates[ours], rates[name], strict=True)]
                print_row(f"{ours}, against {name}", ratios, "times its rate")


if __name__ == "__main__":
    main(*sys.argv[1:])
