"""A client that has done nothing: plays by unary calls, asks for the server's health, and measures both.

A process of its own, so that what it measures is the server and not its neighbours in Python. Prints a line
when it has been answered for the first time, one when it plays no longer, and at the end of its standard
input what it has seen, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from boardwire_v1 import match_service_pb2 as pb
from calls import Seat, Stubs, bearer, legal, method, reason

#: Between two decisions: it plays all the time and leaves the processors to others.
PAUSE_SECONDS = 0.004
#: A health check is made once in so many decisions.
BETWEEN_CHECKS = 5
#: What it answers while the server is well.
SERVING = b"\x08\x01"


@dataclass
class Measurements:
    """What an innocent client has seen."""

    trips: list[float] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: The reason by which the server said that it stops.
    stopped: str = ""

    def p(self, part: float) -> float:
        """A quantile of all round trips, in milliseconds."""
        trips = sorted(self.trips + self.checks)
        return 1000 * trips[min(len(trips) - 1, int(part * len(trips)))] if trips else 0.0


class NormalClient:
    """Plays one match after the other."""

    def __init__(self, address: str) -> None:
        """Joins a match."""
        self.measured = Measurements()
        self.stubs = Stubs(address)
        self.check = method(self.stubs.channel, "/grpc.health.v1.Health/Check")
        self.seat = Seat(self.stubs)
        self.metadata = bearer(self.seat.tokens[0])
        request = pb.ObserveRequest(match_id=self.seat.match_id, wait=True)
        self.now = self.stubs.matches.Observe(request, metadata=self.metadata, timeout=60).observation

    def timed(self, into: list[float], call: Any, request: Any, **options: Any) -> Any:
        """Makes a call and writes down how long it took."""
        start = time.perf_counter()
        response = call(request, timeout=60, **options)
        into.append(time.perf_counter() - start)
        return response

    def decide(self) -> None:
        """Makes one decision, or begins the next episode."""
        now, match_id = self.now, self.seat.match_id
        if now.terminated or now.truncated:
            request = pb.ResetRequest(match_id=match_id, wait=True)
            response = self.timed(
                self.measured.trips, self.stubs.matches.Reset, request, metadata=self.metadata
            )
        else:
            act = pb.ActRequest(
                match_id=match_id,
                episode=now.episode,
                decision=now.decision,
                action=legal(now.mask)[0],
                wait=True,
            )
            response = self.timed(self.measured.trips, self.stubs.matches.Act, act, metadata=self.metadata)
        self.now = response.observation

    def play(self, over: threading.Event) -> None:
        """Plays until told that it is over, or the server stops."""
        turn = 0
        while not over.wait(PAUSE_SECONDS):
            turn += 1
            try:
                self.decide()
                if turn % BETWEEN_CHECKS == 0:
                    health = self.timed(self.measured.checks, self.check, b"")
                    # A server that stops says so before it ends connections.
                    if health != SERVING:
                        self.measured.stopped = f"the health check said {health!r}"
                        return
            except grpc.RpcError as error:
                if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE:
                    self.measured.stopped = reason(error)
                else:
                    self.measured.errors.append(reason(error))
                return


class NormalClientProcess:
    """The other side: an innocent client in a process of its own."""

    def __init__(self, address: str) -> None:
        """Starts it, and waits until it has been answered."""
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "playing\n":
            raise RuntimeError("the innocent client did not start")

    def wait_until_lost(self) -> None:
        """Waits until it has noticed that the server is gone; else it would reconnect to the next."""
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "over\n":
            raise RuntimeError("the innocent client did not end")

    def finish(self) -> Measurements:
        """Ends it; gives what it has seen."""
        output, _ = self.process.communicate(timeout=90)
        return Measurements(**json.loads(output.splitlines()[-1]))

    def close(self) -> None:
        """Leaves nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def main(address: str) -> None:
    """Plays until the end of standard input."""
    client, over = NormalClient(address), threading.Event()
    client.decide()
    print("playing", flush=True)

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    client.play(over)
    print("over", flush=True)
    # The one who asked decides when it is over.
    over.wait()
    print(json.dumps(vars(client.measured)))


if __name__ == "__main__":
    main(*sys.argv[1:])
