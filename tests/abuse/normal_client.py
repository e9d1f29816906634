"""A normal client beside an attack: it plays with unary calls, checks health, and measures both.

It runs in its own process, so that it measures the server and not other Python threads. It prints a line
after its first response and a line when it stops to play. At the end of stdin it prints its measurements as
JSON.
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

#: The pause between two decisions.
PAUSE_SECONDS = 0.004
#: The number of decisions between two health checks.
DECISIONS_PER_CHECK = 5
#: The response to a health check of a healthy server.
SERVING = b"\x08\x01"


@dataclass
class Measurements:
    """Durations and errors of the normal client."""

    trips: list[float] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: The reason of the error or health check that announced the stop of the server.
    stopped: str = ""

    def quantile_ms(self, q: float) -> float:
        """Returns a quantile of all round trips in milliseconds."""
        trips = sorted(self.trips + self.checks)
        return 1000 * trips[min(len(trips) - 1, int(q * len(trips)))] if trips else 0.0


class NormalClient:
    """Plays episodes and measures each call."""

    def __init__(self, address: str) -> None:
        """Creates a match and joins it."""
        self.measured = Measurements()
        self.stubs = Stubs(address)
        self.check = method(self.stubs.channel, "/grpc.health.v1.Health/Check")
        self.seat = Seat(self.stubs)
        self.metadata = bearer(self.seat.tokens[0])
        request = pb.ObserveRequest(match_id=self.seat.match_id, wait=True)
        self.obs = self.stubs.matches.Observe(request, metadata=self.metadata, timeout=60).observation

    def timed(self, into: list[float], call: Any, request: Any, **options: Any) -> Any:
        """Makes a call and records its duration."""
        start = time.perf_counter()
        response = call(request, timeout=60, **options)
        into.append(time.perf_counter() - start)
        return response

    def decide(self) -> None:
        """Makes one decision or starts the next episode."""
        obs, match_id = self.obs, self.seat.match_id
        if obs.terminated or obs.truncated:
            request = pb.ResetRequest(match_id=match_id, wait=True)
            response = self.timed(
                self.measured.trips, self.stubs.matches.Reset, request, metadata=self.metadata
            )
        else:
            act = pb.ActRequest(
                match_id=match_id,
                episode=obs.episode,
                decision=obs.decision,
                action=legal(obs.mask)[0],
                wait=True,
            )
            response = self.timed(self.measured.trips, self.stubs.matches.Act, act, metadata=self.metadata)
        self.obs = response.observation

    def play(self, over: threading.Event) -> None:
        """Plays until the event is set or the server stops."""
        turn = 0
        while not over.wait(PAUSE_SECONDS):
            turn += 1
            try:
                self.decide()
                if turn % DECISIONS_PER_CHECK == 0:
                    health = self.timed(self.measured.checks, self.check, b"")
                    # A stopping server reports it before it closes connections.
                    if health != SERVING:
                        self.measured.stopped = f"the health check returned {health!r}"
                        return
            except grpc.RpcError as error:
                if isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.UNAVAILABLE:
                    self.measured.stopped = reason(error)
                else:
                    self.measured.errors.append(reason(error))
                return


class NormalClientProcess:
    """A normal client in its own process."""

    def __init__(self, address: str) -> None:
        """Starts the process and waits for its first response."""
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "playing\n":
            raise RuntimeError("the normal client did not start")

    def wait_until_lost(self) -> None:
        """Waits until it notices the end of the server. Otherwise it would connect to the next server."""
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "over\n":
            raise RuntimeError("the normal client did not end")

    def finish(self) -> Measurements:
        """Ends the client and returns its measurements."""
        output, _ = self.process.communicate(timeout=90)
        return Measurements(**json.loads(output.splitlines()[-1]))

    def close(self) -> None:
        """Kills the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def main(address: str) -> None:
    """Plays until the end of stdin."""
    client, over = NormalClient(address), threading.Event()
    client.decide()
    print("playing", flush=True)

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    client.play(over)
    print("over", flush=True)
    # The parent process decides when to print.
    over.wait()
    print(json.dumps(vars(client.measured)))


if __name__ == "__main__":
    main(*sys.argv[1:])
