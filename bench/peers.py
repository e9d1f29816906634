"""Compares decisions a second: the peers in process or over their own wire, and Boardwire over its own.

Every contestant is a process of its own; they play in turn, in an order that reverses each round, so that a
slow minute of the machine hits all of them. A row is the median of the rounds. A peer that cannot be loaded,
fails or exceeds its time limit has a row that says so. `peers.py WIRE` prints a row a line as JSON.
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
#: To load, to compile, to warm up.
READY_SECONDS = 240
#: What a turn may take beyond its time: the last step of it.
LATE_SECONDS = 30
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
#: Our rows, and how the names of the peers begin that each is compared with.
RATIOS = {
    "boardwire faraway x1024, halves": "open_spiel hanabi, ",
    "boardwire faraway x1024, local": "",
    "boardwire faraway x1, local": "",
}


class Contestant:
    """A process that plays when told to."""

    def __init__(self, name, address):
        """Starts it, and waits until it is ready."""
        self.name, self.rates, self.lines, self.said = name, [], queue.SimpleQueue(), "without a word"
        command = [sys.executable, Path(__file__).with_name("contestants.py"), name, address]
        self.process = subprocess.Popen(command, stderr=subprocess.STDOUT, **PIPES)
        threading.Thread(target=self.read, daemon=True).start()
        self.about = self.answer(READY_SECONDS)

    def read(self):
        """Queues its lines; remembers the last one that is not JSON, such as an error."""
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(json.loads(line))
            else:
                self.said = line.strip()[:200] or self.said
        self.lines.put({"failed": f"ended: {self.said}"})

    def answer(self, limit):
        """The next line within a time limit; if it has failed, why."""
        try:
            found = self.lines.get(timeout=limit)
        except queue.Empty:
            found = {"failed": f"no answer within {limit} s"}
        if "failed" in found:
            self.process.kill()
        return found

    def play(self):
        """Plays a turn, unless it has failed."""
        if "failed" in self.about:
            return
        # If it has ended, its answer says so.
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{TURN_SECONDS}\n")
            self.process.stdin.flush()
        played = self.answer(TURN_SECONDS + LATE_SECONDS)
        if "failed" in played:
            self.about = played
        else:
            self.rates.append(played["decisions"] / played["seconds"])


def say(row, values, unit, **more):
    """Prints a row: the median of some values and their quartiles, no figure where there are no values."""
    low, figure, high = statistics.quantiles(values, n=4) if values else [None] * 3
    found = {"row": row, "figure": figure, "unit": unit, "quartiles": [low, high]}
    print(json.dumps(found | more), flush=True)


def main(wire):
    """Plays all rounds and prints all rows."""
    with subprocess.Popen([wire, "hold"], **PIPES) as servers:
        address = json.loads(servers.stdout.readline())["real"]["unix"]
        players = [Contestant(name, address) for name in contestants()]
        for turn in range(ROUNDS):
            for player in players if turn % 2 else reversed(players):
                player.play()
        for player in players:
            player.process.kill()
    for player in players:
        rates = None if "failed" in player.about else player.rates
        say(player.name, rates, "decisions/s", **player.about)
    rates = {player.name: player.rates for player in players if "failed" not in player.about}
    for ours, theirs in RATIOS.items():
        for name in rates if ours in rates else ():
            if name.startswith(theirs) and not name.startswith("boardwire "):
                ratios = [a / b for a, b in zip(rates[ours], rates[name], strict=True)]
                say(f"{ours}, against {name}", ratios, "times its rate")


if __name__ == "__main__":
    main(*sys.argv[1:])
