"""Trains PPO of RLlib by self-play: env runners on one machine or many, which may come and go.

Shows RLlib's new API stack over a game: one module with masks has all seats, every env runner a server of its
own. A server or a machine that is lost costs what its runner was playing, and no more. Prints how the trained
module fares against bots, over duplicate deals.

    python rllib_ppo.py faraway --iterations 40
    python rllib_ppo.py faraway --iterations 80 --resume
    python rllib_ppo.py faraway --cluster auto --runners 32 --address host1:50051 host2:50051

Ctrl-C ends early, and keeps what was done: the folder `runs/rllib-GAME` has a checkpoint, to go on from. What
fails leaves the checkpoint that was there.

To try: `--seats 3`; a bot at some seat, by `"opponents": {1: "greedy"}` in `env_config`; a module for each
seat, by `policy_mapping_fn`; IMPALA instead of PPO; killing a server or an env runner while it trains.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from tqdm import tqdm

import boardwire
from boardwire.rllib import BoardwireMultiAgentEnv, MaskedPPOModule, policy

#: The module that has all seats.
MODULE = "all"


def config(given: argparse.Namespace) -> PPOConfig:
    """How it is trained."""
    env_config: dict[str, Any] = {"game": given.game, "seats": given.seats, "skip_forced": True}
    env_config |= {"address": given.address} if given.address else {"server_args": ["--threads", "1"]}
    network = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"}
    spec = RLModuleSpec(module_class=MaskedPPOModule, model_config=network)
    return (
        PPOConfig()
        .environment(BoardwireMultiAgentEnv, env_config=env_config, disable_env_checking=True)
        .multi_agent(policies={MODULE}, policy_mapping_fn=lambda *_, **__: MODULE)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={MODULE: spec}))
        .env_runners(num_env_runners=given.runners, num_envs_per_env_runner=16)
        .training(
            gamma=1.0,
            lambda_=0.95,
            lr=3e-4,
            entropy_coeff=0.01,
            train_batch_size_per_learner=given.batch,
            minibatch_size=min(given.batch, 512),
            num_epochs=4,
        )
        .fault_tolerance(
            restart_failed_env_runners=True,
            restart_failed_sub_environments=True,
            delay_between_env_runner_restarts_s=1,
            env_runner_health_probe_timeout_s=5,
        )
    )


def train(given: argparse.Namespace, folder: Path) -> int:
    """Trains up to so many iterations, and leaves a checkpoint; gives how many decisions it learned from."""
    algorithm = config(given).build_algo()
    if given.resume:
        algorithm.restore_from_path(folder)
    decisions = 0
    bar = tqdm(total=given.iterations, initial=algorithm.iteration, unit="iteration")
    try:
        with bar:
            while algorithm.iteration < given.iterations:
                found = algorithm.train()
                decisions = int(found["env_runners"].get("num_env_steps_sampled_lifetime", decisions))
                runners = algorithm.env_runner_group.num_healthy_remote_env_runners()
                bar.set_postfix_str(f"{decisions:,} decisions, {runners} env runners")
                bar.update()
    except KeyboardInterrupt:
        print("ended early")
    algorithm.save_to_path(folder)
    algorithm.stop()
    return decisions


def main() -> None:
    """Trains and reports."""
    parser = argparse.ArgumentParser(description="Trains PPO of RLlib by self-play.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--seats", type=int, help="the fewest the game is played by when left out")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--batch", type=int, default=4096, help="decisions of an iteration")
    parser.add_argument("--runners", type=int, default=2, help="env runners, a core each")
    parser.add_argument("--address", nargs="+", help="servers to share; private ones when left out")
    parser.add_argument("--cluster", help="a cluster of Ray, such as auto; this machine when left out")
    parser.add_argument("--out", type=Path, help="the folder; runs/rllib-GAME when left out")
    parser.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    parser.add_argument("--deals", type=int, default=200, help="to measure with, each from every seat")
    given = parser.parse_args()
    folder = (given.out or Path("runs", f"rllib-{given.game}")).absolute()
    has_one = (folder / "rllib_checkpoint.json").exists()
    if has_one and not given.resume:
        raise SystemExit(f"{folder} is there: --resume goes on with it, --out takes another folder")
    if given.resume and not has_one:
        raise SystemExit(f"there is no checkpoint in {folder} to go on with")
    logging.getLogger("ray").setLevel(logging.ERROR)
    if given.cluster:
        ray.init(given.cluster, logging_level=logging.ERROR, log_to_driver=False)
    else:
        cores = max(given.runners, 1)
        ray.init(num_cpus=cores, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    decisions = train(given, folder)
    ray.shutdown()
    print(f"{decisions:,} decisions learned from; {folder} goes on with --resume")
    module = RLModule.from_checkpoint(folder / "learner_group" / "learner" / "rl_module" / MODULE)
    with boardwire.connect() as client:
        choose = policy(module, client.game(given.game, seats=given.seats))
        for bot in ("random", "greedy"):
            of: Any = {"seats": given.seats, "deals": given.deals, "reward": "win", "client": client}
            found = boardwire.evaluate(choose, given.game, opponents=bot, **of)
            print(f"wins against {bot}: {found}")


if __name__ == "__main__":
    main()
