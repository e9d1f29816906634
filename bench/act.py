"""One Python agent against the real server and the echo server, one decision at a time.

Reads where both listen as JSON from `wire hold` (the argument is that program), plays the same match against
each in turn by plain grpcio stubs, by single calls and on a stream, and prints a row a line as JSON. What
counts is the ratio of neighbouring blocks, since machines are noisy.
"""

import json
import queue
import random
import statistics
import subprocess
import sys
import time

import grpc
from raw import players

from boardwire_v1 import match_pb2
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1 import match_service_pb2_grpc as services

BLOCK_SECONDS = 0.15
PAIRS = 21
SEED = 7


class Agent:
    """An agent at seat 0 of a match of Faraway against a random bot."""

    def __init__(self, address, *, stream):
        """Connects to `address`; decides by single calls, or on a stream."""
        options = [("grpc.default_authority", "localhost")] if address.startswith("unix:") else []
        # A channel of its own for every agent: by default channels with equal arguments share a connection.
        self.channel = grpc.insecure_channel(
            address, options=[*options, ("grpc.use_local_subchannel_pool", 1)]
        )
        self.calls = services.MatchServiceStub(self.channel)
        created = self.calls.CreateMatch(
            pb.CreateMatchRequest(
                config=match_pb2.MatchConfig(game="faraway", players=players(["agent", "random"])),
                seed=SEED,
            )
        )
        joined = self.calls.JoinMatch(pb.JoinMatchRequest(code=created.invitations[0].code))
        self.match_id = created.match.id
        self.metadata = [("authorization", f"Bearer {joined.token}")]
        self.dice = random.Random(SEED)
        self.asked = queue.SimpleQueue() if stream else None
        if stream:
            self.answers = self.calls.Play(iter(self.asked.get, None), metadata=self.metadata)
        self.seen = self.ask("observe", pb.ObserveRequest(match_id=self.match_id, wait=True))

    def ask(self, name, request):
        """Sends one request, by whichever way, and returns the observation it is answered with."""
        if self.asked is None:
            call = getattr(self.calls, name.capitalize())
            return call(request, metadata=self.metadata).observation
        self.asked.put(pb.PlayRequest(**{name: request}))
        answer = next(self.answers)
        if answer.WhichOneof("answer") != name:
            raise RuntimeError(f"refused on the stream: {answer}")
        return getattr(answer, name).observation

    def act(self):
        """Makes a random decision; returns the seconds its round trip took."""
        mask = self.seen.mask
        legal = [i for i in range(8 * len(mask)) if mask[i // 8] >> i % 8 & 1]
        request = pb.ActRequest(
            match_id=self.match_id,
            episode=self.seen.episode,
            decision=self.seen.decision,
            action=self.dice.choice(legal),
            wait=True,
        )
        start = time.perf_counter()
        self.seen = self.ask("act", request)
        return time.perf_counter() - start

    def block(self):
        """Plays for a while; returns the mean seconds of a decision's round trip."""
        start, acting, acts = time.perf_counter(), 0.0, 0
        while not acts or time.perf_counter() - start < BLOCK_SECONDS:
            if self.seen.terminated or self.seen.truncated:
                self.seen = self.ask("reset", pb.ResetRequest(match_id=self.match_id, wait=True))
            else:
                acting += self.act()
                acts += 1
        return acting / acts

    def close(self):
        """Ends its stream and its connection."""
        if self.asked is not None:
            self.asked.put(None)
        self.channel.close()


def compare(row, real, echo):
    """Plays block by block against both, whoever goes first alternating, and prints three rows."""
    times = {real: [], echo: []}
    for pair in range(PAIRS + 1):
        for agent in (real, echo) if pair % 2 else (echo, real):
            times[agent].append(agent.block())
    # The first pair warmed up.
    reals, echoes = times[real][1:], times[echo][1:]
    rows = [
        (row, [1 / t for t in reals], "round trips/s"),
        (f"{row}, echo", [1 / t for t in echoes], "round trips/s"),
        (
            f"{row}, against echo",
            [a / b for a, b in zip(reals, echoes, strict=False)],
            "times its time",
        ),
    ]
    for name, values, unit in rows:
        low, figure, high = statistics.quantiles(values, n=4)
        print(
            json.dumps({"row": name, "figure": figure, "unit": unit, "quartiles": [low, high]}),
            flush=True,
        )


def main(wire):
    """Measures the two servers that the program `wire` holds."""
    with subprocess.Popen(
        [wire, "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as servers:
        addresses = json.loads(servers.stdout.readline())
        for socket in ("tcp", "unix"):
            for way in ("unary", "stream"):
                real, echo = (
                    Agent(addresses[server][socket], stream=way == "stream") for server in ("real", "echo")
                )
                compare(f"act python {way} {socket}", real, echo)
                real.close()
                echo.close()
        servers.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1])
