"""A seat of a match, and a batch, with plain grpcio stubs. `waited` is the total seconds of their calls."""

import queue
import time

import grpc
import numpy as np
from raw import players

from boardwire_v1 import batch_pb2, batch_pb2_grpc, match_pb2, match_service_pb2, match_service_pb2_grpc

SEED = 7
LARGEST = 64 << 20


class Caller:
    """A connection that sends its calls as unary calls or on a stream."""

    def __init__(self, address, stub, policy):
        """Connects to a service at `address`."""
        options = [
            # By default channels with equal arguments share a connection.
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", LARGEST),
            ("grpc.max_send_message_length", LARGEST),
            ("grpc.default_authority", "localhost"),
        ]
        self.channel = grpc.insecure_channel(address, options=options)
        self.calls, self.policy = stub(self.channel), policy
        self.waited, self.requests, self.metadata = 0.0, None, None

    def begin(self, token, stream):
        """Uses a token for later calls, and sends them on a stream unless `stream` is None."""
        self.metadata = [("authorization", f"Bearer {token}")]
        if stream:
            self.requests = queue.SimpleQueue()
            self.responses = stream(iter(self.requests.get, None), metadata=self.metadata)

    def receive(self, name):
        """Returns the next response on the stream."""
        response = next(self.responses)
        if response.WhichOneof("answer") != name:
            raise RuntimeError(f"expected {name} on the stream; got {response}")
        return getattr(response, name)

    def close(self):
        """Ends the stream and the connection."""
        if self.requests:
            self.requests.put(None)
        self.channel.close()


class Agent(Caller):
    """Seat 0 of a match of Faraway against a random bot."""

    def __init__(self, address, call_type, policy):
        """Creates a match and joins it; `call_type` is `unary` or `stream`."""
        super().__init__(address, match_service_pb2_grpc.MatchServiceStub, policy)
        config = match_pb2.MatchConfig(game="faraway", players=players(["agent", "random"]))
        created = self.calls.CreateMatch(match_service_pb2.CreateMatchRequest(config=config, seed=SEED))
        join = match_service_pb2.JoinMatchRequest(code=created.invitations[0].code)
        self.match_id = created.match.id
        self.begin(self.calls.JoinMatch(join).token, self.calls.Play if call_type == "stream" else None)
        self.obs = self.ask("observe")

    def ask(self, name, **fields):
        """Sends a request and returns the observation of its response."""
        make = getattr(match_service_pb2, f"{name.capitalize()}Request")
        request = make(match_id=self.match_id, wait=True, **fields)
        start = time.perf_counter()
        if self.requests:
            self.requests.put(match_service_pb2.PlayRequest(**{name: request}))
            response = self.receive(name)
        else:
            response = getattr(self.calls, name.capitalize())(request, metadata=self.metadata)
        self.waited += time.perf_counter() - start
        return response.observation

    def step(self):
        """Makes a decision, or starts the next episode; returns the number of decisions, 1 or 0."""
        obs = self.obs
        if obs.terminated or obs.truncated:
            self.obs = self.ask("reset")
            return 0
        legal = np.unpackbits(np.frombuffer(obs.mask, np.uint8), bitorder="little")
        action = int(self.policy.choose_one(obs.view, legal))
        self.obs = self.ask("act", episode=obs.episode, decision=obs.decision, action=action)
        return 1


class Batch(Caller):
    """An agent at both seats of every environment of a batch."""

    def __init__(self, address, call_type, environments, policy):
        """Opens a batch of Faraway and resets it."""
        super().__init__(address, batch_pb2_grpc.BatchServiceStub, policy)
        config = batch_pb2.BatchConfig(
            game="faraway",
            line_ups=[batch_pb2.LineUp(players=players(["agent", "agent"]))],
            environments=environments,
            seed=SEED,
            autoreset=batch_pb2.AUTORESET_MODE_SAME_STEP,
        )
        opened = self.calls.OpenBatch(batch_pb2.OpenBatchRequest(config=config, max_message_bytes=LARGEST))
        self.ids, self.environments = {"batch_id": opened.batch.id}, environments
        self.begin(opened.token, None if call_type == "unary" else self.calls.RunBatch)
        step = self.calls.ResetBatch(batch_pb2.ResetBatchRequest(**self.ids), metadata=self.metadata).step
        self.actions = self.choose(step, environments)
        half = environments // 2
        self.halves = [(0, half), (half, environments - half)] if call_type == "halves" else []
        for first, count in self.halves:
            self.send(self.actions[first : first + count], first, count)

    def choose(self, step, count):
        """Converts the columns to arrays, and chooses an action for each row."""
        views = np.frombuffer(step.view, np.uint8).reshape(count, -1)
        masks = np.frombuffer(step.mask, np.uint8).reshape(count, -1)
        np.frombuffer(step.reward, np.float32).reshape(count, -1)
        np.frombuffer(step.flags, np.uint8)
        return self.policy.choose_many(views, masks).tobytes()

    def send(self, actions, first=0, count=0):
        """Sends actions on the stream for `count` environments from `first`; a count of 0 means all."""
        step = batch_pb2.StepBatchRequest(**self.ids, actions=actions, first=first, count=count)
        self.requests.put(batch_pb2.RunBatchRequest(step=step))

    def step(self):
        """Makes a decision in every environment; returns the number of decisions."""
        start = time.perf_counter()
        if self.halves:
            # The policy decides for one half while the server steps the other.
            for first, count in self.halves:
                self.send(self.choose(self.receive("step"), count), first, count)
            self.waited += time.perf_counter() - start
            return self.environments
        if self.requests:
            self.send(self.actions)
            step = self.receive("step")
        else:
            request = batch_pb2.StepBatchRequest(**self.ids, actions=self.actions)
            step = self.calls.StepBatch(request, metadata=self.metadata).step
        self.waited += time.perf_counter() - start
        self.actions = self.choose(step, self.environments)
        return self.environments

    def close(self):
        """Closes the batch and the connection."""
        self.calls.CloseBatch(batch_pb2.CloseBatchRequest(**self.ids), metadata=self.metadata)
        super().close()
