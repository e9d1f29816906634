"""A soak: millions of decisions, after which server and client hold no more memory than at its beginning.

Batches are opened, stepped by calls and on streams, and closed; between them matches are played and
closed. Called by `make soak`; prints one line a tenth, fails when resident memory has grown, and grown
again. `soak.py BINARY [DECISIONS]`.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from raw import players

from batches import WAYS, Batch, connect
from boardwire_v1 import match_pb2
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1 import match_service_pb2_grpc as services

ROWS = 1024
#: Steps of one batch.
STEPS = 96
#: Matches between two batches: enough that what each of them left behind would be seen.
MATCHES = 10
#: What the least of the last three tenths may be above the most of the first three, in MiB.
SLACK_MIB = 6.0
#: Matches before anything is measured: the thousand closed ones that a server remembers are reached by then.
WARM_UP = 1500
#: Gives free memory back to the system as far as nothing else lies beside it.
ALLOCATOR = {"MIMALLOC_PURGE_DELAY": "0"}


def resident(pid):
    """Resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} tells no VmRSS")


def play_match(calls):
    """Plays a match of Faraway against a random bot and closes it; gives how many decisions it took."""
    created = calls.CreateMatch(
        pb.CreateMatchRequest(
            config=match_pb2.MatchConfig(game="faraway", players=players(["agent", "random"]))
        )
    )
    joined = calls.JoinMatch(pb.JoinMatchRequest(code=created.invitations[0].code))
    match_id, metadata = created.match.id, [("authorization", f"Bearer {joined.token}")]
    seen = calls.Observe(pb.ObserveRequest(match_id=match_id, wait=True), metadata=metadata).observation
    decisions = 0
    while not (seen.terminated or seen.truncated):
        action = next(i for i in range(8 * len(seen.mask)) if seen.mask[i // 8] >> i % 8 & 1)
        act = pb.ActRequest(
            match_id=match_id, episode=seen.episode, decision=seen.decision, action=action, wait=True
        )
        seen = calls.Act(act, metadata=metadata).observation
        decisions += 1
    calls.CloseMatch(
        pb.CloseMatchRequest(match_id=match_id), metadata=[("authorization", f"Bearer {created.host_token}")]
    )
    return decisions


def soak(address, server, wanted):
    """Plays; gives the resident memory of both sides, in MiB, after every tenth."""
    channel = connect(address)
    matches = services.MatchServiceStub(channel)
    for _ in range(WARM_UP):
        play_match(matches)
    decisions, opened, start, found = 0, 0, time.perf_counter(), []
    while len(found) < 10:
        batch = Batch(address, ROWS, WAYS[opened % len(WAYS)])
        decisions += sum(batch.step() for _ in range(STEPS))
        batch.close()
        decisions += sum(play_match(matches) for _ in range(MATCHES))
        opened += 1
        if decisions >= wanted * (len(found) + 1) / 10:
            found.append((resident(server), resident(os.getpid())))
            rate = decisions / (time.perf_counter() - start)
            sizes = "server {:.1f} MiB, client {:.1f} MiB".format(*found[-1])
            print(
                f"{decisions:>12,} decisions, {opened * MATCHES} matches, {rate:,.0f} /s: {sizes}",
                flush=True,
            )
    channel.close()
    return found


def grown(sizes):
    """The most of the first three tenths and the least of the last three, if that is more; else nothing."""
    before, after = max(sizes[:3]), min(sizes[-3:])
    return (before, after) if after > before + SLACK_MIB else None


def leaks(found):
    """What has grown, in words."""
    return [
        "the {} from {:.1f} to {:.1f} MiB".format(side, *most)
        for side, sizes in zip(("server", "client"), zip(*found, strict=True), strict=True)
        if (most := grown(sizes))
    ]


def main(binary, wanted="10000000"):
    """Starts a server, plays, and judges.

    A server that seems to have grown is looked at for as long again: what leaks goes on growing, while an
    allocator takes a step of up to 8 MiB now and then, and no other one so soon.
    """
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/soak"
        command = [binary, "serve", "--exit-with-stdin", "--log-level", "warn", "--listen", address]
        environment = os.environ | ALLOCATOR
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as server:
            server.stdout.readline()
            for _ in range(2):
                found = leaks(soak(address, server.pid, int(float(wanted))))
                if not found:
                    break
                print("soak: memory grew: " + ", ".join(found), flush=True)
            server.stdin.close()
    if found:
        raise SystemExit("soak: memory grew twice: it leaks")
    print("soak: memory stayed flat")


if __name__ == "__main__":
    main(*sys.argv[1:])
