"""Batches of environments by plain grpcio stubs.

The ways are single calls, one stream, or one stream with two halves under way.

A step is what an agent does between two decisions: columns are made arrays, the policy chooses, the
actions are sent. Both seats are agents', so every decision of the game is one of ours.
"""

import queue
import time

import grpc
import numpy as np
from raw import players

from boardwire_v1 import batch_pb2, batch_pb2_grpc
from boardwire_v1 import batch_pb2 as pb
from policy import RandomLegal

SEED = 7
WAYS = ("unary", "stream", "halves")
LARGEST = 64 << 20


def connect(address):
    """A channel of its own, whose messages may be as large as the server's."""
    options = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_receive_message_length", LARGEST),
        ("grpc.max_send_message_length", LARGEST),
    ]
    if address.startswith("unix:"):
        options.append(("grpc.default_authority", "localhost"))
    return grpc.insecure_channel(address, options=options)


class Batch:
    """An agent in every environment of a batch. `waited` adds up the seconds between request and answer."""

    def __init__(self, address, environments, way, game="faraway"):
        """Opens a batch of a game for two, and looks at it."""
        self.channel = connect(address)
        self.calls = batch_pb2_grpc.BatchServiceStub(self.channel)
        opened = self.calls.OpenBatch(
            pb.OpenBatchRequest(
                config=batch_pb2.BatchConfig(
                    game=game,
                    line_ups=[batch_pb2.LineUp(players=players(["agent", "agent"]))],
                    environments=environments,
                    seed=SEED,
                    autoreset=batch_pb2.AUTORESET_MODE_SAME_STEP,
                ),
                max_message_bytes=LARGEST,
            )
        )
        self.batch, self.policy, self.waited, self.environments = (
            opened.batch,
            RandomLegal(),
            0.0,
            environments,
        )
        self.metadata = [("authorization", f"Bearer {opened.token}")]
        shown = self.calls.ResetBatch(
            pb.ResetBatchRequest(batch_id=self.batch.id), metadata=self.metadata
        ).step
        self.asked = None
        if way == "unary":
            self.step = self.step_by_call
            self.actions = self.choose(shown, environments)
            return
        self.asked = queue.SimpleQueue()
        self.answers = self.calls.RunBatch(iter(self.asked.get, None), metadata=self.metadata)
        if way == "stream":
            self.step = self.step_by_stream
            self.actions = self.choose(shown, environments)
            return
        self.step = self.step_by_halves
        # The second half's actions are chosen while the first half's are being played.
        half = max(environments // 2, 1)
        self.runs = [(0, half), (half, environments - half)] if environments > 1 else [(0, 1)]
        actions = self.choose(shown, environments)
        for first, count in self.runs:
            self.send(actions[first : first + count], first, count)

    def choose(self, shown, count):
        """The rows as arrays, and an action for each."""
        views = np.frombuffer(shown.view, np.uint8).reshape(count, -1)
        masks = np.frombuffer(shown.mask, np.uint8).reshape(count, -1)
        np.frombuffer(shown.reward, np.float32).reshape(count, -1)
        np.frombuffer(shown.flags, np.uint8)
        return self.policy.many(views, masks).tobytes()

    def request(self, actions, first, count):
        """A request to step a run of environments."""
        return pb.StepBatchRequest(batch_id=self.batch.id, actions=actions, first=first, count=count)

    def send(self, actions, first, count):
        """Sends one on the stream."""
        self.asked.put(pb.RunBatchRequest(step=self.request(actions, first, count)))

    def receive(self):
        """The next answer on the stream."""
        answer = next(self.answers)
        if answer.WhichOneof("answer") != "step":
            raise RuntimeError(f"refused on the stream: {answer}")
        return answer.step

    def step_by_call(self):
        """A decision in every environment, by a call."""
        request = self.request(self.actions, 0, 0)
        start = time.perf_counter()
        shown = self.calls.StepBatch(request, metadata=self.metadata).step
        self.waited += time.perf_counter() - start
        self.actions = self.choose(shown, self.environments)
        return self.environments

    def step_by_stream(self):
        """The same on the stream."""
        start = time.perf_counter()
        self.send(self.actions, 0, 0)
        shown = self.receive()
        self.waited += time.perf_counter() - start
        self.actions = self.choose(shown, self.environments)
        return self.environments

    def step_by_halves(self):
        """The same, half by half."""
        start = time.perf_counter()
        for first, count in self.runs:
            shown = self.receive()
            self.send(self.choose(shown, count), first, count)
        self.waited += time.perf_counter() - start
        return self.environments

    def close(self):
        """Ends the stream, the batch and the connection."""
        if self.asked is not None:
            self.asked.put(None)
        self.calls.CloseBatch(pb.CloseBatchRequest(batch_id=self.batch.id), metadata=self.metadata)
        self.channel.close()
