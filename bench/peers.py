"""Compares decisions a second: the peers in process or over their own wire, and Boardwire over its own.

Every contestant is a process of its own; they play in turn, round after round, in an order that reverses
each round, so that a slow minute of the machine is everybody's. A row is the median of the rounds. A peer
that cannot be loaded, fails or exceeds its time limit has a row that says so. Prints a row a line as
JSON.
"""

import json
import os
import selectors
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUNDS = int(os.environ.get("BOARDWIRE_BENCH_ROUNDS", "7"))
TURN_SECONDS = 0.5
#: To load, to compile, to warm up.
READY_SECONDS = 240
#: What a turn may take beyond its time: the last step of it.
LATE_SECONDS = 30

PEERS = {
    "open_spiel hanabi": ["open_spiel", "hanabi"],
    "open_spiel hanabi, state tensors": ["open_spiel-tensor", "hanabi"],
    "open_spiel hanabi, rl_environment": ["open_spiel-rl", "hanabi"],
    "open_spiel leduc_poker": ["open_spiel", "leduc_poker"],
    "open_spiel connect_four": ["open_spiel", "connect_four"],
    "pettingzoo leduc_holdem_v4": ["pettingzoo", "leduc_holdem_v4"],
    "pettingzoo connect_four_v3": ["pettingzoo", "connect_four_v3"],
    "rlcard leduc-holdem": ["rlcard", "leduc-holdem"],
    "rlcard uno": ["rlcard", "uno"],
    "envpool LeducHoldem x1024": ["envpool", "LeducHoldem-v1"],
    "envpool ConnectFour x1024": ["envpool", "ConnectFour-v1"],
    "envpool SparrowMahjong x1024": ["envpool", "SparrowMahjong-v1"],
    "envpool LeducHoldem x1024, asynchronously": ["envpool-async", "LeducHoldem-v1"],
    "envpool ConnectFour x1024, asynchronously": ["envpool-async", "ConnectFour-v1"],
    "envpool SparrowMahjong x1024, asynchronously": ["envpool-async", "SparrowMahjong-v1"],
    "pgx leduc_holdem x1024": ["pgx", "leduc_holdem"],
    "pgx connect_four x1024": ["pgx", "connect_four"],
    "pgx sparrow_mahjong x1024": ["pgx", "sparrow_mahjong"],
    "pgx leduc_holdem x1024, policy compiled": ["pgx-compiled", "leduc_holdem"],
    "pgx sparrow_mahjong x1024, policy compiled": ["pgx-compiled", "sparrow_mahjong"],
}
BEST, SINGLE = "boardwire faraway x1024, halves", "boardwire faraway x1, stream"
LOCAL_BEST, LOCAL_SINGLE = "boardwire faraway x1024, local", "boardwire faraway x1, local"
#: What users call, without a server and with one.
LOCAL = {
    f"boardwire faraway x{rows}, {way}": ["boardwire-batch", address, str(rows)]
    for way, address in (("local", "local:"), ("private server", "private"))
    for rows in (1, 16, 64, 1024)
}
USERS = {
    "gymnasium": ["boardwire-gymnasium"],
    "pettingzoo aec": ["boardwire-pettingzoo"],
    "make_vec x16": ["boardwire-vector", "16"],
    "make_vec x1024": ["boardwire-vector", "1024"],
}
LOCAL |= {
    f"boardwire faraway {what}, {way}": [words[0], address, *words[1:]]
    for what, words in USERS.items()
    for way, address in (("local", "local:"), ("private server", "private"))
}


class Failed(Exception):
    """Why a contestant has no figure."""


class Contestant:
    """A process that plays when told to."""

    def __init__(self, name, words):
        """Starts it."""
        self.name, self.rates, self.failed, self.about = name, [], None, {}
        command = [sys.executable, str(HERE / "contestants.py"), *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE
        )
        # What it says on the side is kept out of the way of full pipes.
        self.pending = b""
        try:
            self.about = self.answer(READY_SECONDS)
            if "failed" in self.about:
                raise Failed(self.about["failed"])
        except Failed as why:
            self.fail(why)

    def answer(self, limit):
        """The next line as JSON, within a time limit."""
        end = time.monotonic() + limit
        with selectors.DefaultSelector() as ready:
            for stream in (self.process.stdout, self.process.stderr):
                ready.register(stream, selectors.EVENT_READ)
            said = b""
            while True:
                events = ready.select(max(end - time.monotonic(), 0))
                if not events:
                    raise Failed(f"no answer within {limit} s")
                for key, _ in events:
                    chunk = os.read(key.fd, 65536)
                    if key.fileobj is self.process.stderr:
                        said = (said + chunk)[-4096:]
                        if not chunk:
                            ready.unregister(key.fileobj)
                        continue
                    if not chunk:
                        lines = said.decode(errors="replace").strip().splitlines()
                        raise Failed(f"ended: {lines[-1][:200] if lines else 'without a word'}")
                    self.pending += chunk
                # Libraries greet on standard output.
                while b"\n" in self.pending:
                    line, self.pending = self.pending.split(b"\n", 1)
                    if line.startswith(b"{"):
                        return json.loads(line)

    def play(self):
        """Plays a turn."""
        if self.failed:
            return
        try:
            self.process.stdin.write(f"{TURN_SECONDS}\n".encode())
            self.process.stdin.flush()
            played = self.answer(TURN_SECONDS + LATE_SECONDS)
            self.rates.append(played["decisions"] / played["seconds"])
        except (Failed, OSError) as why:
            self.fail(why)

    def fail(self, why):
        """Ends it without a figure."""
        self.failed = str(why)
        self.process.kill()

    def close(self):
        """Ends it."""
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def say(row, values, unit, **more):
    """Prints a row."""
    low, figure, high = statistics.quantiles(values, n=4)
    print(
        json.dumps({"row": row, "figure": figure, "unit": unit, "quartiles": [low, high], **more}), flush=True
    )


def main(wire):
    """Plays all rounds and prints all rows."""
    servers = subprocess.Popen([wire, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    catch = subprocess.Popen(
        [sys.executable, str(HERE / "catch_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    address = json.loads(servers.stdout.readline())["real"]["unix"]
    names = {
        BEST: ["boardwire", "halves", "1024", "faraway", address],
        "boardwire faraway x1024, stream": ["boardwire", "stream", "1024", "faraway", address],
        "boardwire faraway x1024, unary": ["boardwire", "unary", "1024", "faraway", address],
        SINGLE: ["boardwire-single", address],
        **LOCAL,
        **PEERS,
        "dm-env-rpc catch, its own server": ["dm-env-rpc", catch.stdout.readline().strip() or "127.0.0.1:1"],
    }
    all_of_them = [Contestant(name, words) for name, words in names.items()]
    for turn in range(ROUNDS):
        for contestant in all_of_them if turn % 2 else reversed(all_of_them):
            contestant.play()
    by_name = {contestant.name: contestant for contestant in all_of_them}
    for name, contestant in by_name.items():
        if contestant.failed:
            failed = {"row": name, "figure": None, "unit": "decisions/s", "failed": contestant.failed}
            print(json.dumps(failed), flush=True)
        else:
            say(name, contestant.rates, "decisions/s", **contestant.about)
    for ours in (BEST, LOCAL_BEST, LOCAL_SINGLE):
        for name, contestant in by_name.items():
            if contestant.about.get("library") != "boardwire" and not (
                contestant.failed or by_name[ours].failed
            ):
                ratios = [a / b for a, b in zip(by_name[ours].rates, contestant.rates, strict=False)]
                say(f"{ours}, against {name}", ratios, "times its rate")
    for contestant in all_of_them:
        contestant.close()
    for process in (servers, catch):
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1])
