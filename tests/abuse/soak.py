"""Plays millions of decisions and checks that memory of server and client does not grow.

It opens batches, steps them whole and by halves, and closes them. Between batches it plays matches.
`make soak` calls `soak.py BINARY [DECISIONS]`. It prints a line after each tenth and fails if memory grows in
two runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import boardwire
from target import Target, resident, running_server

ROWS = 1024
#: The number of steps of one batch.
STEPS = 96
#: The number of matches played between two batches: enough to detect a leak per match.
MATCHES = 10
#: The allowed growth in MiB from the maximum of the first three tenths to the minimum of the last three.
SLACK_MIB = 6.0
#: The number of matches before the first measurement. After them the server stores its maximum of closed
#: matches.
WARM_UP = 1500


def play_match(client: boardwire.Client) -> int:
    """Plays a match of Faraway against a random bot; returns the number of decisions."""
    decisions = 0
    with client.create_match("faraway", players=["agent", "random"]) as match:
        seat = match.join(0)
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(int(obs.mask.argmax()))
            decisions += 1
        seat.close()
    return decisions


def play_batch(client: boardwire.Client, halves: bool) -> int:
    """Opens a batch, steps it whole or by halves, and closes it; returns the number of decisions."""
    with client.open_batch("faraway", environments=ROWS, autoreset="same_step") as batch:
        mask = batch.reset().mask
        if not halves:
            for _ in range(STEPS):
                mask = batch.step(mask.argmax(axis=1)).mask
        else:
            parts = batch.halves()
            for part in parts:
                part.send(mask[part.rows].argmax(axis=1))
            for _ in range(STEPS - 1):
                for part in parts:
                    part.send(part.recv().mask.argmax(axis=1))
            for part in parts:
                part.recv()
    return STEPS * ROWS


def soak(client: boardwire.Client, target: Target, decisions_wanted: int) -> list[tuple[float, float]]:
    """Plays; returns the resident memory of server and client in MiB after each tenth."""
    for _ in range(WARM_UP):
        play_match(client)
    decisions, opened, start = 0, 0, time.perf_counter()
    sizes_by_tenth: list[tuple[float, float]] = []
    while len(sizes_by_tenth) < 10:
        decisions += play_batch(client, halves=opened % 2 == 1)
        decisions += sum(play_match(client) for _ in range(MATCHES))
        opened += 1
        if decisions >= decisions_wanted * (len(sizes_by_tenth) + 1) / 10:
            sizes_by_tenth.append((target.resident(), resident(os.getpid())))
            rate = decisions / (time.perf_counter() - start)
            sizes = "server {:.1f} MiB, client {:.1f} MiB".format(*sizes_by_tenth[-1])
            print(
                f"{decisions:>12,} decisions, {opened * MATCHES} matches, {rate:,.0f} /s: {sizes}",
                flush=True,
            )
    return sizes_by_tenth


def growth(sizes_by_tenth: list[tuple[float, float]]) -> list[str]:
    """Returns a text for each side whose memory grew more than `SLACK_MIB`."""
    grown = []
    for side, sizes in zip(("server", "client"), zip(*sizes_by_tenth, strict=True), strict=True):
        before, after = max(sizes[:3]), min(sizes[-3:])
        if after > before + SLACK_MIB:
            grown.append(f"the {side} from {before:.1f} to {after:.1f} MiB")
    return grown


def main(binary: str, decisions_wanted: str = "10000000") -> None:
    """Starts a server, plays, and fails if memory grows in two runs.

    A leak grows in each run. An allocator can grow once by up to 8 MiB.
    """
    # The allocator returns free memory to the system immediately.
    os.environ["MIMALLOC_PURGE_DELAY"] = "0"
    grown: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(binary, Path(folder)) as target,
        boardwire.connect(target.unix) as client,
    ):
        for _ in range(2):
            grown = growth(soak(client, target, int(float(decisions_wanted))))
            if not grown:
                break
            print("soak: memory grew: " + ", ".join(grown), flush=True)
    if grown:
        raise SystemExit("soak: memory grew in two runs: it leaks")
    print("soak: memory stayed flat")


if __name__ == "__main__":
    main(*sys.argv[1:])
