"""What the frameworks' own loops make of a batch: decisions a second, by who asks for them.

`.venv-train/bin/python bench/frameworks.py` prints a table. Everybody plays random legal actions in Faraway
against random, 256 matches at a time where they are one batch, 16 where each is a match of its own, with
features as observations. The first row is the batch alone, so the others tell what a framework adds.
"""

import argparse
import time
import warnings

import gymnasium
import numpy as np
import torch

import boardwire
import boardwire.envs
import boardwire.sb3
from boardwire.pettingzoo import parallel_env

GAME, AT_ONCE, APART = "faraway", 256, 16


def legal(mask, random):
    """Random legal actions."""
    return (random.random(mask.shape, np.float32) * mask).argmax(axis=1)


def batch(random):
    """The batch alone, with features."""
    client = boardwire.connect()
    served = client.open_batch(GAME, environments=AT_ONCE, opponents={1: "random"}, autoreset="same_step")
    shown = served.reset()
    while True:
        served.spec.features(shown.view)
        shown = served.step(legal(shown.mask, random))
        yield AT_ONCE


def gymnasium_vector(random):
    """Gymnasium's `make_vec`."""
    envs = gymnasium.make_vec(
        "boardwire/Faraway-v0", AT_ONCE, opponents="random", observation="features", autoreset_mode="SameStep"
    )
    _, infos = envs.reset()
    while True:
        *_, infos = envs.step(legal(infos["action_mask"], random))
        yield AT_ONCE


def sb3_steps(envs, random):
    """Steps of a `VecEnv` with the masks as `MaskablePPO` asks for them."""
    from sb3_contrib.common.maskable.utils import get_action_masks

    envs.reset()
    while True:
        envs.step(legal(get_action_masks(envs), random))
        yield envs.num_envs


def sb3(random):
    """`boardwire.sb3.VecEnv`."""
    yield from sb3_steps(boardwire.sb3.VecEnv(GAME, AT_ONCE, opponents="random"), random)


def sb3_dummy(random):
    """SB3's `DummyVecEnv` over single environments."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    def make():
        return gymnasium.make("boardwire/Faraway-v0", opponents="random", observation="features")

    yield from sb3_steps(DummyVecEnv([make] * APART), random)


def maskable_ppo(random):
    """The collection of `MaskablePPO`, with its network and without learning."""
    from sb3_contrib import MaskablePPO

    envs = boardwire.sb3.VecEnv(GAME, AT_ONCE, opponents="random")
    model = MaskablePPO("MlpPolicy", envs, n_steps=16, device="cpu")
    _, callback = model._setup_learn(10**9)
    while True:
        model.collect_rollouts(envs, callback, model.rollout_buffer, 16)
        yield 16 * AT_ONCE


def torchrl_vector(random):
    """TorchRL's `GymWrapper` and `ActionMask` in the mode `Disabled`, random actions of its own."""
    from torchrl.envs import ActionMask, GymWrapper

    envs = gymnasium.make_vec(
        "boardwire/Faraway-v0",
        AT_ONCE,
        opponents="random",
        observation="features",
        mask="observation",
        autoreset_mode="Disabled",
    )
    env = GymWrapper(envs, categorical_action_encoding=True).append_transform(ActionMask())
    shown = env.reset()
    while True:
        _, shown = env.step_and_maybe_reset(env.rand_action(shown))
        yield AT_ONCE


def torchrl_pettingzoo(random):
    """TorchRL's `PettingZooWrapper` over one `parallel_env`: the decisions that seats owe."""
    from torchrl.envs import PettingZooWrapper

    env = PettingZooWrapper(parallel_env(GAME, observation="features"), use_mask=True)
    shown = env.reset()
    while True:
        # A seat that waits gives an action, too, which decides nothing.
        owed = int(shown["seat", "info", "pending"].sum())
        _, shown = env.step_and_maybe_reset(env.rand_action(shown))
        yield owed


def main():
    """Measures one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    everybody = [batch, gymnasium_vector, sb3, sb3_dummy, maskable_ppo]
    for loop in (*everybody, torchrl_vector, torchrl_pettingzoo):
        steps = loop(np.random.default_rng(1))
        next(steps)
        made, began = 0, time.perf_counter()
        while (took := time.perf_counter() - began) < given.seconds:
            made += next(steps)
        print(f"{made / took:12,.0f}  {loop.__doc__}", flush=True)


if __name__ == "__main__":
    main()
