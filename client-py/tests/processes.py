"""What processes do, in a module that each of them can import."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import boardwire

FARAWAY = "boardwire/Faraway-v0"


def play(seat: boardwire.Seat) -> tuple[int, ...]:
    """Plays first legal actions to the end; gives the scores."""
    seen = seat.observe()
    while not seen.over:
        seen = seat.act(int(seen.mask.nonzero()[0][0]))
    return seen.scores


def by_address(address: str, seed: int) -> tuple[int, ...]:
    """Plays a match with a client of its own."""
    with boardwire.connect(address) as client:
        match = client.create_match("faraway", players=["agent", "random"], seed=seed)
        with match, match.join(0) as seat:
            return play(seat)


def by_batch(address: str, seed: int) -> bytes:
    """Plays steps of a batch of its own, its halves in turn; gives the last views."""
    with boardwire.connect(address) as client, client.open_batch("faraway", environments=8) as batch:
        mask = batch.reset(seed=seed).mask.copy()
        for _ in range(20):
            halves = batch.halves()
            for half in halves:
                half.send(mask[half.rows].argmax(axis=1))
            for half in halves:
                mask[half.rows] = half.recv().mask
        return batch.step(mask.argmax(axis=1)).view.tobytes()


def by_vector_env(address: str, seed: int) -> float:
    """Plays steps of a vector environment of its own; gives the sum of rewards."""
    envs = gymnasium.make_vec(FARAWAY, num_envs=4, opponents="random", address=address)
    _, infos = envs.reset(seed=seed)
    total = 0.0
    for _ in range(100):
        _, rewards, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        total += float(np.sum(rewards))
    envs.close()
    return total


def by_pettingzoo(address: str, seed: int) -> float:
    """Plays an episode of all seats; gives what the first was rewarded with."""
    from boardwire.pettingzoo import parallel_env

    env = parallel_env("faraway", address=address)
    seen, _ = env.reset(seed=seed)
    rewards: dict[str, float] = {}
    while env.agents:
        actions = {agent: int(shown["action_mask"].argmax()) for agent, shown in seen.items()}
        seen, rewards, _, _, _ = env.step(actions)
    env.close()
    return rewards["seat_0"]


class Samples:
    """What a loader of samples iterates over: it is made here, and read in the loader's workers."""

    def __init__(self, client: boardwire.Client, seed: int) -> None:
        """Describes a batch; the first iteration opens it."""
        self.client = client
        self.seed = seed

    def __iter__(self) -> Iterator[bytes]:
        """Views, step by step, for ever."""
        batch = self.client.open_batch("faraway", environments=4, opponents={1: "random"}, seed=self.seed)
        step = batch.reset()
        while True:
            yield step.view.tobytes()
            step = batch.step(step.mask.argmax(axis=1))


def env_worker(pipe: Connection, make: Callable[[], gymnasium.Env[Any, Any]]) -> None:
    """A worker as vector environments have one: makes an environment and obeys."""
    env = make()
    while True:
        command, argument = pipe.recv()
        if command == "close":
            env.close()
            return
        pipe.send(env.reset(seed=argument) if command == "reset" else env.step(argument))


def load(queue: SimpleQueue[Any], samples: Samples, count: int) -> None:
    """A loader's worker: reads so many samples into a queue."""
    for _, sample in zip(range(count), samples, strict=False):
        queue.put(sample)


def by_env(address: str, seed: int) -> float:
    """Plays an episode in an environment of its own."""
    env = gymnasium.make(FARAWAY, opponents="random", address=address)
    _, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(int(info["action_mask"].nonzero()[0][0]))
        total, over = total + float(reward), terminated or truncated
    env.close()
    return total


def in_child(work: Any) -> bytes:
    """What a forked child answers, through a pipe."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sending, repr(work()).encode())
        except BaseException as failure:
            os.write(sending, repr(failure).encode())
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def script(folder: Path, text: str) -> Path:
    """An executable that stands in for the server."""
    path = folder / "boardwire"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
