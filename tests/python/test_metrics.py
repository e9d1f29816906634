"""Metrics of the server for Prometheus."""

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

#: All metrics in docs/operations.md.
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
    """Returns an unused port."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def scrape(address: str) -> dict[str, float]:
    """Scrapes a server and returns the values by name and labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as response:
        text = response.read().decode()
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def wait_until(address: str, condition: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """Scrapes a server until a condition is true, and returns the values."""
    deadline = time.monotonic() + 60
    while not condition(values := scrape(address)):
        assert time.monotonic() < deadline, values
        time.sleep(0.1)
    return values


def test_metrics_count_what_happens() -> None:
    address = f"127.0.0.1:{free_port()}"
    with boardwire.connect(server_args=["--metrics", address]) as client:
        match = client.create_match("faraway", players=["agent", "random"])
        seat = match.join(0)
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(int(obs.mask.nonzero()[0][0]))
        with pytest.raises(boardwire.errors.NotFound):
            client.game("chess")
        assert match.replay().frames
        batch = client.open_batch("rauha", environments=7, opponents={1: "random"}, seed=1)
        step = batch.reset()
        for _ in range(3):
            step = batch.step(np.asarray(step.mask.argmax(axis=1), dtype=np.uint8))
        values = wait_until(address, lambda values: values.get("boardwire_environments") == 7)
        assert values["boardwire_matches"] == 1
        assert values["boardwire_batches"] == 1
        assert values["boardwire_connections"] >= 1
        assert values["boardwire_journal_lag_lines"] == 0
        assert values['boardwire_refusals_total{reason="GAME_UNKNOWN"}'] == 1
        assert values['boardwire_decisions_total{game="rauha"}'] == 21
        assert values['boardwire_decisions_total{game="faraway"}'] == obs.ply
        acts = [
            value for name, value in values.items() if re.match("boardwire_request_seconds_count.*Act", name)
        ]
        assert sum(acts) == obs.decision
        methods = {
            method[1] for name in values if (method := re.search('_seconds_count{method="([A-Za-z]+)"', name))
        }
        assert {"Act", "CreateMatch", "GetReplay", "JoinMatch", "Observe", "StepBatch"} <= methods
        names = {name.split("{")[0] for name in values}
        suffixes = ("_bucket", "_sum", "_count")
        assert {name.removesuffix(next(filter(name.endswith, suffixes), "")) for name in names} == METRICS


def test_incomplete_requests_do_not_block_a_scrape() -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    args = ["--metrics", address, "--max-connections-per-caller", "64", "--handshake-timeout", "1"]
    with boardwire.connect(server_args=args), contextlib.ExitStack() as connections:
        for _ in range(200):
            incomplete = connections.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            incomplete.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n")
        # The server closes the incomplete requests after the handshake timeout.
        deadline = time.monotonic() + 60
        while True:
            try:
                assert "boardwire_connections" in scrape(address)
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)


def test_metrics_reject_other_host_names() -> None:
    address = f"127.0.0.1:{free_port()}"
    with boardwire.connect(server_args=["--metrics", address, "--page-host", "boards"]):
        for host, status in (("boards", 200), ("localhost", 200), ("evil.example", 421)):
            connection = http.client.HTTPConnection(address, timeout=60)
            with contextlib.closing(connection):
                connection.request("GET", "/metrics", headers={"host": host})
                assert connection.getresponse().status == status, host


def test_metrics_reject_addresses_for_other_machines() -> None:
    with pytest.raises(boardwire.errors.StartError, match="can be reached from other machines"):
        boardwire.connect(server_args=["--metrics", "0.0.0.0:0"])
