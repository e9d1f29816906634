"""Boardwire as its users call it. Each function gives a step, which returns how many decisions it made.

An `address` is that of an environment: `local:`, or None for a private server.
"""

import gymnasium
import numpy as np

import boardwire
from boardwire.pettingzoo import aec_env
from policy import packed

#: Up to so many rows one choice after the other is faster than all by arrays.
FEW = 24
GAME = "boardwire/Faraway-v0"


def in_turns(env, policy):
    """An episode of an AEC environment, PettingZoo's own included."""

    def episode():
        env.reset()
        decisions = 0
        while env.agents:
            seen, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = seen["action_mask"] if "action_mask" in seen else info["action_mask"]
            env.step(int(policy.one(seen["observation"].reshape(-1), mask)))
            decisions += 1
        return decisions

    return episode


def batch(address, rows, policy):
    """`Batch.step`."""
    opened = boardwire.connect(address).open_batch(
        "faraway", environments=rows, autoreset="same_step", seed=7
    )
    shown = opened.reset()
    # An array of one action takes longer to make than to play.
    single = np.arange(256, dtype=np.uint8)[:, None]

    def one():
        nonlocal shown
        for _ in range(16):
            shown = opened.step(single[policy.one(shown.view[0], shown.legal(0))])
        return 16

    def few():
        nonlocal shown
        actions = [policy.one(view, shown.legal(row)) for row, view in enumerate(shown.view)]
        shown = opened.step(np.array(actions, np.uint8))
        return rows

    def many():
        nonlocal shown
        shown = opened.step(policy.many(shown.view, shown.packed_mask))
        return rows

    return one if rows == 1 else few if rows <= FEW else many


def single(address, policy):
    """The Gymnasium environment."""
    env = gymnasium.make(GAME, opponents="random", address=address).unwrapped

    def episode():
        seen, info = env.reset()
        decisions, over = 0, False
        while not over:
            seen, _, terminated, truncated, info = env.step(policy.one(seen, info["action_mask"]))
            decisions, over = decisions + 1, terminated or truncated
        return decisions

    return episode


def vector(address, rows, policy):
    """The vector environment."""
    envs = gymnasium.make_vec(GAME, rows, opponents="random", autoreset_mode="SameStep", address=address)
    seen, infos = envs.reset(seed=7)

    def step():
        nonlocal seen, infos
        seen, _, _, _, infos = envs.step(policy.many(seen, packed(infos["action_mask"])))
        return rows

    return step


def pettingzoo(address, policy):
    """The AEC environment."""
    return in_turns(aec_env("faraway", observation="features", address=address), policy)
