"""Boardwire as users call it. Each function returns a step function, which returns its number of decisions.

The argument `address` is `local:`, or None for a private server.
"""

import gymnasium
import numpy as np

import boardwire
from boardwire.pettingzoo import aec_env
from policy import packed

#: Up to this number of rows, single choices are faster than array operations.
FEW = 24
GAME = "boardwire/Faraway-v0"


def in_turns(env, policy):
    """An AEC environment of Boardwire or PettingZoo; a step is an episode."""

    def episode():
        env.reset()
        decisions = 0
        while env.agents:
            obs, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = obs["action_mask"] if "action_mask" in obs else info["action_mask"]
            env.step(int(policy.choose_one(obs["observation"].reshape(-1), mask)))
            decisions += 1
        return decisions

    return episode


def batch(address, rows, policy):
    """`Batch.step`."""
    opened = boardwire.connect(address).open_batch(
        "faraway", environments=rows, autoreset="same_step", seed=7
    )
    step = opened.reset()
    # A new array of one action takes longer than its step, so the arrays exist beforehand.
    single = np.arange(256, dtype=np.uint8)[:, None]

    def one():
        nonlocal step
        for _ in range(16):
            step = opened.step(single[policy.choose_one(step.view[0], step.legal(0))])
        return 16

    def few():
        nonlocal step
        actions = [policy.choose_one(view, step.legal(row)) for row, view in enumerate(step.view)]
        step = opened.step(np.array(actions, np.uint8))
        return rows

    def many():
        nonlocal step
        step = opened.step(policy.choose_many(step.view, step.packed_mask))
        return rows

    return one if rows == 1 else few if rows <= FEW else many


def single(address, policy):
    """The Gymnasium environment."""
    env = gymnasium.make(GAME, opponents="random", address=address).unwrapped

    def episode():
        obs, info = env.reset()
        decisions, over = 0, False
        while not over:
            obs, _, terminated, truncated, info = env.step(policy.choose_one(obs, info["action_mask"]))
            decisions, over = decisions + 1, terminated or truncated
        return decisions

    return episode


def vector(address, rows, policy):
    """The vector environment."""
    envs = gymnasium.make_vec(GAME, rows, opponents="random", autoreset_mode="SameStep", address=address)
    obs, infos = envs.reset(seed=7)

    def step():
        nonlocal obs, infos
        obs, _, _, _, infos = envs.step(policy.choose_many(obs, packed(infos["action_mask"])))
        return rows

    return step


def pettingzoo(address, policy):
    """The AEC environment."""
    return in_turns(aec_env("faraway", observation="features", address=address), policy)
