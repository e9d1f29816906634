"""Tianshou: a DQN learns one seat of a game against random bots, which play in the server.

The environments are Gymnasium's, of one agent: every row of the replay buffer is a decision of the learner,
and the next row of an episode is its next one. A DQN needs that, since its targets are what it expects of the
rows that follow; those of `PettingZooEnv` are of all seats in turn. Each environment is a match of its own:
this is the slowest of the ways to train, for those whose code is Tianshou's.

    python tianshou_dqn.py                       # three minutes, after which it wins 64 % against random
    python tianshou_dqn.py rauha --epochs 20

The network is kept as `runs/tianshou/GAME.pt`; Ctrl-C ends the training early, keeps it and measures it.

To try: more epochs, other rates, targets of more than three steps; `--opponent greedy`; `SubprocVectorEnv`,
whose processes step at the same time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import boardwire
from boardwire.envs import BoardwireEnv


def environment(given: argparse.Namespace) -> Any:
    """A match of the learner against bots, with the mask where Tianshou looks for it."""
    env = BoardwireEnv(
        given.game,
        opponents=given.opponent,
        observation="features",
        mask="observation",
        reward="win",
        illegal_actions="reject",
        skip_forced=True,
    )
    named = {"obs": "observation", "mask": "action_mask"}
    space: Any = env.observation_space
    return TransformObservation(
        env,
        lambda shown: {name: shown[ours] for name, ours in named.items()},
        spaces.Dict({name: space[ours] for name, ours in named.items()}),
    )


def algorithm(env: Any, net: Any, given: argparse.Namespace) -> Any:
    """A DQN."""
    return DQN(
        policy=DiscreteQLearningPolicy(
            model=net,
            action_space=env.action_space,
            observation_space=env.observation_space,
            eps_training=0.1,
        ),
        optim=AdamOptimizerFactory(lr=given.rate),
        # The only reward comes at the end.
        gamma=1.0,
        n_step_return_horizon=3,
        target_update_freq=200,
    )


def train(envs: Any, tests: Any, learner: Any, given: argparse.Namespace) -> None:
    """Collects and learns, in turn; Tianshou shows its progress."""
    buffer = VectorReplayBuffer(50_000, given.environments)
    collector = Collector(learner, envs, buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=given.environments * 32)
    learner.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            test_collector=Collector(learner, tests),
            max_epochs=given.epochs,
            epoch_num_steps=given.epoch,
            collection_step_num_env_steps=given.environments * 8,
            update_step_num_gradient_steps_per_sample=0.1,
            batch_size=256,
            test_step_num_episodes=given.environments,
        )
    )


def measure(net: Any, spec: boardwire.GameSpec, given: argparse.Namespace) -> str:
    """Lets the best actions play the same deals from every seat against a bot."""

    def policy(asked: boardwire.Decisions) -> Any:
        with torch.no_grad():
            worth, _ = net(spec.features(asked.view))
            return np.where(asked.mask > 0, worth.numpy(), -np.inf).argmax(axis=1)

    found = boardwire.evaluate(policy, spec.game.id, opponents=given.opponent, deals=given.deals)
    return f"wins against {given.opponent}: {found}"


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Trains a DQN.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--opponent", default="random", help="the bot it learns against")
    add("--epochs", type=int, default=5)
    add("--epoch", type=int, default=8000, help="decisions in an epoch")
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
    np.random.seed(given.seed)  # noqa: NPY002 - Tianshou draws from it
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    envs, tests = (DummyVectorEnv([lambda: environment(given)] * given.environments) for _ in range(2))
    envs.seed(given.seed)
    env = environment(given)
    spec = env.unwrapped.game_spec
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
