"""Tianshou: a DQN at one seat learns against Tianshou's random agent at the others, by its PettingZooEnv.

`aec_env` shows the decision of one seat after the other, with its mask, and Tianshou's dispatcher gives each
to the seat's own algorithm. Each environment is a match of its own here, so this is the slowest of the ways
to train; it is for those whose code is Tianshou's.

    python tianshou_dqn.py                       # some minutes
    python tianshou_dqn.py rauha --epochs 20

The network is kept as `runs/tianshou/GAME.pt`; Ctrl-C ends the training early, keeps it and measures it.

To try: more epochs and other rates, since as it stands it does not get better in its five epochs; DQNs at all
seats, which learn from each other; `SubprocVectorEnv`, whose processes step at the same time.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import boardwire
from boardwire.pettingzoo import aec_env


def algorithm(env: Any, net: Any, given: argparse.Namespace) -> Any:
    """A DQN with the first seat, and random agents with the others."""
    learner = DQN(
        policy=DiscreteQLearningPolicy(
            model=net,
            action_space=env.action_space,
            observation_space=env.observation_space["observation"],
            eps_training=0.1,
        ),
        optim=AdamOptimizerFactory(lr=given.rate),
        gamma=1.0,
        n_step_return_horizon=3,
        target_update_freq=200,
    )
    others = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space) for _ in env.agents[1:]]
    return MultiAgentOffPolicyAlgorithm(algorithms=[learner, *others], env=env)


def train(envs: Any, tests: Any, both: Any, given: argparse.Namespace) -> None:
    """Collects and learns, in turn; Tianshou shows its progress."""
    buffer = VectorReplayBuffer(50_000, given.environments)
    collector = Collector(both, envs, buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=given.environments * 32)
    both.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            test_collector=Collector(both, tests),
            max_epochs=given.epochs,
            epoch_num_steps=given.epoch,
            collection_step_num_env_steps=given.environments * 8,
            update_step_num_gradient_steps_per_sample=0.1,
            batch_size=256,
            test_step_num_episodes=given.environments,
            # How well the first seat does.
            multi_agent_return_reduction=lambda rewards: rewards[:, 0],
        )
    )


def measure(net: Any, spec: boardwire.GameSpec, given: argparse.Namespace) -> str:
    """Lets the best actions play the same deals from every seat against a bot."""

    def policy(asked: boardwire.Decisions) -> Any:
        with torch.no_grad():
            worth, _ = net(spec.features(asked.view))
            return np.where(asked.mask > 0, worth.numpy(), -np.inf).argmax(axis=1)

    found = boardwire.evaluate(policy, spec.game.id, opponents="random", deals=given.deals)
    return f"wins against random: {found}"


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Trains a DQN.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--epochs", type=int, default=5)
    add("--epoch", type=int, default=8000, help="decisions of all seats in an epoch")
    add("--environments", type=int, default=16)
    add("--rate", type=float, default=1e-3)
    add("--hidden", type=int, default=128)
    add("--deals", type=int, default=200, help="deals of a measurement")
    add("--threads", type=int, default=1, help="of PyTorch: so small a network gains nothing by more")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/tianshou"), help="the folder")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and keeps a network."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    # It says at every step that rewards are of several agents.
    logging.getLogger("tianshou").setLevel(logging.ERROR)
    np.random.seed(given.seed)  # noqa: NPY002 - Tianshou draws from it
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)

    def make() -> Any:
        return PettingZooEnv(aec_env(given.game, observation="features", reward="win"))

    envs, tests = (DummyVectorEnv([make] * given.environments) for _ in range(2))
    envs.seed(given.seed)
    env = make()
    spec = env.env.game_spec
    net = Net(
        state_shape=(len(spec.layout.names),),
        action_shape=(len(spec.actions),),
        hidden_sizes=(given.hidden, given.hidden),
    )
    print(f"before learning, {measure(net, spec, given)}", flush=True)
    try:
        train(envs, tests, algorithm(env, net, given), given)
    except KeyboardInterrupt:
        print("ended early")
    torch.save(net.state_dict(), given.out / f"{given.game}.pt")
    print(f"after learning, {measure(net, spec, given)}")
    print(f"the network is {given.out / given.game}.pt")
    for each in (env, envs, tests):
        each.close()


if __name__ == "__main__":
    main()
