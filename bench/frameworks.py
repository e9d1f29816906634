"""Measures the decisions per second of the loops of frameworks over a batch.

`.venv-train/bin/python bench/frameworks.py [SECONDS]` prints a table. Each loop plays random legal actions in
256 matches of Faraway against random, with features as observations.
"""

import sys
import time
import warnings

import gymnasium
import numpy as np
import torch

import boardwire.sb3

GAME, ROWS = "boardwire/Faraway-v0", 256


def legal(mask, random):
    """Returns random legal actions."""
    return (random.random(mask.shape, np.float32) * mask).argmax(axis=1)


def vector(random):
    """Gymnasium's `make_vec`."""
    envs = gymnasium.make_vec(GAME, ROWS, opponents="random", autoreset_mode="SameStep")
    _, infos = envs.reset()
    while True:
        *_, infos = envs.step(legal(infos["action_mask"], random))
        yield ROWS


def sb3(random):
    """`boardwire.sb3.VecEnv`, with the masks as `MaskablePPO` requests them."""
    from sb3_contrib.common.maskable.utils import get_action_masks

    envs = boardwire.sb3.VecEnv("faraway", ROWS, opponents="random")
    envs.reset()
    while True:
        envs.step(legal(get_action_masks(envs), random))
        yield ROWS


def torchrl(_):
    """TorchRL's `GymWrapper` and `ActionMask` in the mode `Disabled`, with TorchRL's random actions."""
    from torchrl.envs import ActionMask, GymWrapper

    envs = gymnasium.make_vec(GAME, ROWS, opponents="random", mask="observation", autoreset_mode="Disabled")
    env = GymWrapper(envs, categorical_action_encoding=True).append_transform(ActionMask())
    state = env.reset()
    while True:
        _, state = env.step_and_maybe_reset(env.rand_action(state))
        yield ROWS


def main(seconds=5):
    """Measures one loop after the other."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for loop in (vector, sb3, torchrl):
        steps = loop(np.random.default_rng(1))
        next(steps)
        decisions, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            decisions += next(steps)
        print(f"{decisions / elapsed:12,.0f}  {loop.__doc__}", flush=True)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
