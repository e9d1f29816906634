"""What the server tells Prometheus of itself."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import time
import urllib.request
from collections.abc import Callable

import numpy as np
import pytest

import boardwire

#: Everything that is told, as docs/operations.md lists it.
METRICS = {
    "boardwire_decisions_total",
    "boardwire_request_seconds",
    "boardwire_refusals_total",
    "boardwire_matches",
    "boardwire_batches",
    "boardwire_environments",
    "boardwire_connections",
    "boardwire_pool_queue",
    "boardwire_journal_lag_lines",
    "boardwire_held_up_seconds",
}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def scraped(address: str) -> dict[str, float]:
    """What Prometheus would be told: values by name and labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def becomes(address: str, wanted: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """Waits until what is told is as wanted."""
    due = time.monotonic() + 60
    while not wanted(told := scraped(address)):
        assert time.monotonic() < due, told
        time.sleep(0.1)
    return told


def test_prometheus_is_told_what_happens() -> None:
    address = f"127.0.0.1:{free_port()}"
    with boardwire.connect(server_args=["--metrics", address]) as client:
        match = client.create_match("faraway", players=["agent", "random"])
        seat = match.join(0)
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(int(seen.mask.nonzero()[0][0]))
        with pytest.raises(boardwire.errors.NotFound):
            client.game("chess")
        assert match.replay().frames
        batch = client.open_batch("rauha", environments=7, opponents={1: "random"}, seed=1)
        step = batch.reset()
        for _ in range(3):
            step = batch.step(np.asarray(step.mask.argmax(axis=1), dtype=np.uint8))
        told = becomes(address, lambda told: told.get("boardwire_environments") == 7)
        assert told["boardwire_matches"] == 1
        assert told["boardwire_batches"] == 1
        assert told["boardwire_connections"] >= 1
        assert told["boardwire_journal_lag_lines"] == 0
        assert told['boardwire_refusals_total{reason="GAME_UNKNOWN"}'] == 1
        assert told['boardwire_decisions_total{game="rauha"}'] == 21
        assert told['boardwire_decisions_total{game="faraway"}'] == seen.ply
        acts = [
            value for name, value in told.items() if re.match("boardwire_request_seconds_count.*Act", name)
        ]
        assert sum(acts) == seen.decision
        methods = {
            found[1] for name in told if (found := re.search('_seconds_count{method="([A-Za-z]+)"', name))
        }
        assert {"Act", "CreateMatch", "GetReplay", "JoinMatch", "Observe", "StepBatch"} <= methods
        names = {name.split("{")[0] for name in told}
        kinds = ("_bucket", "_sum", "_count")
        assert {name.removesuffix(next(filter(name.endswith, kinds), "")) for name in names} == METRICS


def test_half_requests_keep_no_scraper_waiting() -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    args = ["--metrics", address, "--max-connections-per-caller", "64", "--handshake-timeout", "1"]
    with boardwire.connect(server_args=args), contextlib.ExitStack() as halves:
        for _ in range(200):
            half = halves.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            half.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n")
        # Their places are free again when they have had their time.
        due = time.monotonic() + 60
        while True:
            try:
                assert "boardwire_connections" in scraped(address)
                break
            except OSError:
                assert time.monotonic() < due
                time.sleep(0.1)


def test_metrics_are_served_under_the_names_of_the_server_alone() -> None:
    address = f"127.0.0.1:{free_port()}"
    with boardwire.connect(server_args=["--metrics", address, "--page-host", "boards"]):
        for host, status in (("boards", 200), ("localhost", 200), ("evil.example", 421)):
            connection = http.client.HTTPConnection(address, timeout=60)
            with contextlib.closing(connection):
                connection.request("GET", "/metrics", headers={"host": host})
                assert connection.getresponse().status == status, host


def test_metrics_are_for_this_machine() -> None:
    with pytest.raises(boardwire.errors.StartError, match="can be reached from other machines"):
        boardwire.connect(server_args=["--metrics", "0.0.0.0:0"])
