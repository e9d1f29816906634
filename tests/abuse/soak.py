"""Plays millions of decisions, after which server and client must hold no more memory than at the beginning.

Batches are opened, stepped as a whole and by halves, and closed. Between them matches are played and closed.
`make soak` calls `soak.py BINARY [DECISIONS]`, which prints a line a tenth and fails when resident memory has
grown twice.
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
#: Steps of one batch.
STEPS = 96
#: Matches between two batches: enough to see what each of them leaves behind.
MATCHES = 10
#: What the least of the last three tenths may be above the most of the first three, in MiB.
SLACK_MIB = 6.0
#: Matches before anything is measured: by then the server remembers as many closed matches as it ever does.
WARM_UP = 1500


def play_match(client: boardwire.Client) -> int:
    """Plays a match of Faraway against a random bot and closes it; returns how many decisions it took."""
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
    """Opens a batch, steps it as a whole or by halves, and closes it; returns how many decisions it took."""
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


def soak(client: boardwire.Client, target: Target, wanted: int) -> list[tuple[float, float]]:
    """Plays; returns the resident memory of server and client, in MiB, after every tenth."""
    for _ in range(WARM_UP):
        play_match(client)
    decisions, opened, start = 0, 0, time.perf_counter()
    found: list[tuple[float, float]] = []
    while len(found) < 10:
        decisions += play_batch(client, halves=opened % 2 == 1)
        decisions += sum(play_match(client) for _ in range(MATCHES))
        opened += 1
        if decisions >= wanted * (len(found) + 1) / 10:
            found.append((target.resident(), resident(os.getpid())))
            rate = decisions / (time.perf_counter() - start)
            sizes = "server {:.1f} MiB, client {:.1f} MiB".format(*found[-1])
            print(
                f"{decisions:>12,} decisions, {opened * MATCHES} matches, {rate:,.0f} /s: {sizes}",
                flush=True,
            )
    return found


def leaks(found: list[tuple[float, float]]) -> list[str]:
    """Says which side has grown: its least of the last three tenths exceeds its most of the first three."""
    grown = []
    for side, sizes in zip(("server", "client"), zip(*found, strict=True), strict=True):
        before, after = max(sizes[:3]), min(sizes[-3:])
        if after > before + SLACK_MIB:
            grown.append(f"the {side} from {before:.1f} to {after:.1f} MiB")
    return grown


def main(binary: str, wanted: str = "10000000") -> None:
    """Starts a server, plays, and judges.

    It plays for as long again when memory seems to have grown: a leak continues, while an allocator takes a
    step of up to 8 MiB now and then.
    """
    # Gives free memory back to the system at once.
    os.environ["MIMALLOC_PURGE_DELAY"] = "0"
    grown: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(binary, Path(folder)) as target,
        boardwire.connect(target.unix) as client,
    ):
        for _ in range(2):
            grown = leaks(soak(client, target, int(float(wanted))))
            if not grown:
                break
            print("soak: memory grew: " + ", ".join(grown), flush=True)
    if grown:
        raise SystemExit("soak: memory grew twice: it leaks")
    print("soak: memory stayed flat")


if __name__ == "__main__":
    main(*sys.argv[1:])
