"""An agent at a seat by plain grpcio stubs, one decision at a time, by single calls or on a stream."""

import queue
import random
import time

import grpc
from raw import players

from boardwire_v1 import match_pb2
from boardwire_v1 import match_service_pb2 as pb
from boardwire_v1 import match_service_pb2_grpc as services

SEED = 7


class Agent:
    """Seat 0 of a match of Faraway against a random bot; `waited` adds up the seconds of its calls."""

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
        self.dice, self.waited = random.Random(SEED), 0.0
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

    def step(self):
        """Makes a random decision, or begins the next episode; returns how many decisions that is."""
        if self.seen.terminated or self.seen.truncated:
            self.seen = self.ask("reset", pb.ResetRequest(match_id=self.match_id, wait=True))
            return 0
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
        self.waited += time.perf_counter() - start
        return 1

    def close(self):
        """Ends its stream and its connection."""
        if self.asked is not None:
            self.asked.put(None)
        self.channel.close()
