"""The server receives SIGTERM or SIGKILL under load."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

from attacks import attack
from boardwire_v1 import match_service_pb2 as pb
from calls import CALL_TIMEOUT, Seat, Stubs, bearer, check_served, format_counts, match_request, outcome
from connections import PREFACE, SETTINGS
from target import STOP_SECONDS, Target, expect, running_server, wait_until
from wire import framed, open_calls, raw_connection

PLAY = "/boardwire.v1.MatchService/Play"
LIST_MATCHES = "/boardwire.v1.MatchService/ListMatches"


class Load:
    """Running calls of all kinds on a server, and connections without calls."""

    def __init__(self, target: Target, size: int) -> None:
        """Starts about `size` calls of each kind."""
        self.stubs = [Stubs(target.address) for _ in range(4)]
        self.seats = [Seat(each, ["agent", "agent"]) for each in self.stubs]
        for seat in self.seats:
            seat.act(0)
        self.silent = [
            raw_connection(target, (b"", PREFACE, PREFACE + SETTINGS)[turn % 3]) for turn in range(size // 4)
        ]
        token = self.seats[0].tokens[0]
        self.streams = open_calls(target, size, lambda wire: wire.call(PLAY, token, end=False))
        self.unread = open_calls(
            target, size, lambda wire: wire.call(LIST_MATCHES, data=framed(b"")), unread=True
        )
        self.waiting = [
            stubs.matches.Observe.future(
                pb.ObserveRequest(match_id=seat.match_id, wait=True), metadata=bearer(seat.tokens[0])
            )
            for stubs, seat in zip(self.stubs, self.seats, strict=True)
            for _ in range(8)
        ]
        bots = match_request(["agent"] + ["greedy:1024"] * 5)
        self.working = [self.stubs[0].matches.CreateMatch.future(bots) for _ in range(size // 10)]
        for created in self.working:
            created.result(timeout=CALL_TIMEOUT)

    def ended(self) -> Counter[str]:
        """Returns the outcomes of the waiting calls."""
        return Counter(outcome(each) for each in self.waiting)

    def close(self) -> None:
        """Closes all connections."""
        for wire in self.streams + self.unread:
            wire.close()
        for connection in self.silent:
            connection.close()
        for each in self.stubs:
            each.close()


@attack(quick=100, full=1_000, ends=True)
def terminated(target: Target, size: int) -> str:
    """SIGTERM under load: waiting calls get an error, and the process ends in time with code 0."""
    load = Load(target, size)
    took = target.stop()
    ended = load.ended()
    expect(set(ended) == {"SHUTTING_DOWN"}, f"waiting calls ended as {format_counts(ended)}")
    load.close()
    return f"ended after {took:.1f} s, {format_counts(ended)}"


@attack(quick=100, full=1_000, ends=True)
def killed(target: Target, size: int) -> str:
    """SIGKILL under load: clients get errors, and the next server reuses the socket."""
    load = Load(target, size)
    start = time.monotonic()
    target.stop(signal.SIGKILL)
    ended = load.ended()
    took = time.monotonic() - start
    expect(all(each.startswith("UNAVAILABLE") for each in ended), f"calls ended as {format_counts(ended)}")
    expect(took < STOP_SECONDS, f"clients got errors after {took:.1f} s")
    load.close()
    socket = Path(target.unix.removeprefix("unix:"))
    expect(socket.exists(), "a killed server must leave its socket")
    target.wait_for_normal_client()
    with running_server(target.binary, socket.parent) as next_server:
        check_served(next_server)
        with Stubs(next_server.unix) as stubs:
            Seat(stubs).act()
        next_server.stop()
    wait_until(lambda: not socket.exists(), 30, "the socket was not removed")
    return f"clients got errors after {took:.1f} s"
