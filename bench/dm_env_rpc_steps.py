"""Steps a second over dm_env_rpc: our gateway beside a small server, and beside our own client.

    python bench/dm_env_rpc_steps.py [SECONDS]

Everybody plays random actions, legal ones in Faraway for two against `random`. `DmEnvAdaptor` unpacks and
checks what it is sent; `Connection` is the stream below it. Catch is `catch_server.py`, whose observation is
a board of 50 floats: what the package itself costs. Our own client plays matches, a message a decision, too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import connection, dm_env_adaptor, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb

import boardwire
from boardwire.dm_env_rpc import serve

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
CATCH = [sys.executable, str(Path(__file__).with_name("catch_server.py"))]
WORLD = {"game": "faraway", "seed": 7}
RANDOM = np.random.default_rng(7)


def legal(mask: Any) -> int:
    """A random legal action."""
    return int(RANDOM.choice(mask.nonzero()[0]))


def adaptor(channel: grpc.Channel, observed: list[str] | None = None) -> Iterator[None]:
    """Steps of `DmEnvAdaptor` in a world of ours."""
    link = connection.Connection(channel)
    env, _ = dm_env_adaptor.create_and_join_world(link, WORLD, {}, requested_observations=observed)
    shown = env.reset()
    while True:
        # The step after the last one begins the next episode, and ignores its action.
        shown = env.step({"action": 0 if shown.last() else legal(shown.observation["action_mask"])})
        yield


def stream(channel: grpc.Channel) -> Iterator[None]:
    """The same by `Connection` alone."""
    link = connection.Connection(channel)
    settings = {name: tensor_utils.pack_tensor(value) for name, value in WORLD.items()}
    world = link.send(pb.CreateWorldRequest(settings=settings)).world_name
    specs = link.send(pb.JoinWorldRequest(world_name=world)).specs
    mask = next(uid for uid, spec in specs.observations.items() if spec.name == "action_mask")
    (action,), chosen = specs.actions, 0
    while True:
        actions = {action: tensor_utils.pack_tensor(np.int32(chosen))}
        answer = link.send(pb.StepRequest(requested_observations=[mask], actions=actions))
        shown = tensor_utils.unpack_tensor(answer.observations[mask])
        chosen = legal(shown) if shown.any() else 0
        yield


def catch(channel: grpc.Channel) -> Iterator[None]:
    """Steps of `DmEnvAdaptor` in Catch."""
    env, _ = dm_env_adaptor.create_and_join_world(connection.Connection(channel), {}, {})
    while True:
        env.step({"paddle": int(RANDOM.integers(3))})
        yield


def seat(client: boardwire.Client) -> Iterator[None]:
    """Decisions of our own client, on a stream."""
    while True:
        match = client.create_match("faraway", players=["agent", "random"], seed=7)
        with match.join(0) as own:
            seen = own.observe()
            while not seen.over:
                seen = own.act(legal(seen.mask), wait=True)
                yield
        match.close()


def rate(steps: Iterator[None]) -> float:
    """How many are made in a second."""
    made, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < SECONDS:
        next(steps)
        made += 1
    return made / took


def main() -> None:
    """Measures one after the other and prints a table."""
    with (
        boardwire.connect() as client,
        subprocess.Popen(CATCH, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served,
    ):
        assert served.stdout is not None
        gateway, port = serve(client, "127.0.0.1:0")
        with (
            grpc.insecure_channel(f"127.0.0.1:{port}") as ours,
            grpc.insecure_channel(served.stdout.readline().strip()) as theirs,
        ):
            print("| | steps a second |\n| --- | ---: |")
            for what, steps in (
                ("`DmEnvAdaptor`, all observations", adaptor(ours)),
                ("`DmEnvAdaptor`, the mask alone", adaptor(ours, ["action_mask"])),
                ("`Connection`, the mask alone", stream(ours)),
                ("`DmEnvAdaptor`, Catch of a server in Python", catch(theirs)),
                ("our own client, a match on a stream", seat(client)),
            ):
                print(f"| {what} | {rate(steps):,.0f} |", flush=True)
        gateway.stop(None).wait()


if __name__ == "__main__":
    main()
