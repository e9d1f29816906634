"""Functions that tests run in other processes; every process can import this module."""

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
    """Plays first legal actions to the end and returns the scores."""
    obs = seat.observe()
    while not obs.over:
        obs = seat.act(int(obs.mask.nonzero()[0][0]))
    return obs.scores


def play_match(address: str, seed: int) -> tuple[int, ...]:
    """Plays a match with its own client and returns the scores."""
    with boardwire.connect(address) as client:
        match = client.create_match("faraway", players=["agent", "random"], seed=seed)
        with match, match.join(0) as seat:
            return play(seat)


def play_batch(address: str, seed: int) -> bytes:
    """Steps its own batch by halves and returns the last views."""
    with boardwire.connect(address) as client, client.open_batch("faraway", environments=8) as batch:
        mask = batch.reset(seed=seed).mask.copy()
        for _ in range(20):
            halves = batch.halves()
            for half in halves:
                half.send(mask[half.rows].argmax(axis=1))
            for half in halves:
                mask[half.rows] = half.recv().mask
        return batch.step(mask.argmax(axis=1)).view.tobytes()


def play_vector_env(address: str, seed: int) -> float:
    """Steps its own vector environment and returns the sum of rewards."""
    envs = gymnasium.make_vec(FARAWAY, num_envs=4, opponents="random", address=address)
    _, infos = envs.reset(seed=seed)
    total = 0.0
    for _ in range(100):
        _, rewards, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        total += float(np.sum(rewards))
    envs.close()
    return total


def play_pettingzoo(address: str, seed: int) -> float:
    """Plays an episode of all seats and returns the reward of the first seat."""
    from boardwire.pettingzoo import parallel_env

    env = parallel_env("faraway", address=address)
    observations, _ = env.reset(seed=seed)
    rewards: dict[str, float] = {}
    while env.agents:
        actions = {agent: int(obs["action_mask"].argmax()) for agent, obs in observations.items()}
        observations, rewards, _, _, _ = env.step(actions)
    env.close()
    return rewards["seat_0"]


class Samples:
    """The samples of a data loader. The parent creates it; the loader's workers iterate over it."""

    def __init__(self, client: boardwire.Client, seed: int) -> None:
        """Stores the settings of a batch. The first iteration opens the batch."""
        self.client = client
        self.seed = seed

    def __iter__(self) -> Iterator[bytes]:
        """Yields the views of each step, without end."""
        batch = self.client.open_batch("faraway", environments=4, opponents={1: "random"}, seed=self.seed)
        step = batch.reset()
        while True:
            yield step.view.tobytes()
            step = batch.step(step.mask.argmax(axis=1))


def env_worker(pipe: Connection, make: Callable[[], gymnasium.Env[Any, Any]]) -> None:
    """Creates an environment and executes commands, like a worker of a vector environment."""
    env = make()
    while True:
        command, argument = pipe.recv()
        if command == "close":
            env.close()
            return
        pipe.send(env.reset(seed=argument) if command == "reset" else env.step(argument))


def load_samples(queue: SimpleQueue[Any], samples: Samples, count: int) -> None:
    """Puts `count` samples into a queue, like a worker of a data loader."""
    for _, sample in zip(range(count), samples, strict=False):
        queue.put(sample)


def play_env(address: str, seed: int) -> float:
    """Plays an episode in its own environment and returns the sum of rewards."""
    env = gymnasium.make(FARAWAY, opponents="random", address=address)
    _, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(int(info["action_mask"].nonzero()[0][0]))
        total, over = total + float(reward), terminated or truncated
    env.close()
    return total


def in_child(work: Any) -> bytes:
    """Runs `work` in a forked child and returns the `repr` of its result or exception."""
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
    with os.fdopen(receiving, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return result


def fake_server(folder: Path, text: str) -> Path:
    """Writes a shell script that replaces the server binary, and returns its path."""
    path = folder / "boardwire"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
