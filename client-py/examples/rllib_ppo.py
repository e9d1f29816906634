"""RLlib trains PPO by self-play, with env runners on one machine or many, which may fail and restart.

It uses RLlib's new API stack. One module with action masks plays all seats, and every env runner has its own
server. If a server or a machine is lost, its runner loses only the running episodes. Prints how often the
trained module wins against bots, over duplicate deals.

    python rllib_ppo.py faraway --iterations 40
    python rllib_ppo.py faraway --iterations 80 --resume
    python rllib_ppo.py faraway --cluster auto --runners 32 --address host1:50051 host2:50051

Ctrl-C ends the training early and saves a checkpoint in `runs/rllib-GAME`, from which `--resume` continues.
A failed training does not change the checkpoint.

To try: `--seats 3`; a bot at some seat, by `"opponents": {1: "greedy"}` in `env_config`; a module for each
seat, by `policy_mapping_fn`; IMPALA instead of PPO; killing a server or an env runner during the training.
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

#: The module that plays all seats.
MODULE = "all"


def config(args: argparse.Namespace) -> PPOConfig:
    """Returns the configuration of the training."""
    env_config: dict[str, Any] = {"game": args.game, "seats": args.seats, "skip_forced": True}
    env_config |= {"address": args.address} if args.address else {"server_args": ["--threads", "1"]}
    network = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu"}
    spec = RLModuleSpec(module_class=MaskedPPOModule, model_config=network)
    return (
        PPOConfig()
        .environment(BoardwireMultiAgentEnv, env_config=env_config, disable_env_checking=True)
        .multi_agent(policies={MODULE}, policy_mapping_fn=lambda *_, **__: MODULE)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={MODULE: spec}))
        .env_runners(num_env_runners=args.runners, num_envs_per_env_runner=16)
        .training(
            gamma=1.0,
            lambda_=0.95,
            lr=3e-4,
            entropy_coeff=0.01,
            train_batch_size_per_learner=args.batch,
            minibatch_size=min(args.batch, 512),
            num_epochs=4,
        )
        .fault_tolerance(
            restart_failed_env_runners=True,
            restart_failed_sub_environments=True,
            delay_between_env_runner_restarts_s=1,
            env_runner_health_probe_timeout_s=5,
        )
    )


def train(args: argparse.Namespace, folder: Path) -> int:
    """Trains up to `--iterations` and saves a checkpoint; returns the number of decisions."""
    algorithm = config(args).build_algo()
    if args.resume:
        algorithm.restore_from_path(folder)
    decisions = 0
    bar = tqdm(total=args.iterations, initial=algorithm.iteration, unit="iteration")
    try:
        with bar:
            while algorithm.iteration < args.iterations:
                result = algorithm.train()
                decisions = int(result["env_runners"].get("num_env_steps_sampled_lifetime", decisions))
                runners = algorithm.env_runner_group.num_healthy_remote_env_runners()
                bar.set_postfix_str(f"{decisions:,} decisions, {runners} env runners")
                bar.update()
    except KeyboardInterrupt:
        print("ended early")
    algorithm.save_to_path(folder)
    algorithm.stop()
    return decisions


def main() -> None:
    """Trains a module and prints its results against bots."""
    parser = argparse.ArgumentParser(description="Trains PPO of RLlib by self-play.")
    parser.add_argument("game", nargs="?", default="faraway")
    parser.add_argument("--seats", type=int, help="number of seats; default: the minimum of the game")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--batch", type=int, default=4096, help="decisions per iteration")
    parser.add_argument("--runners", type=int, default=2, help="env runners; each needs a core")
    parser.add_argument("--address", nargs="+", help="addresses of shared servers; default: private servers")
    parser.add_argument("--cluster", help="address of a Ray cluster, such as auto; default: this machine")
    parser.add_argument("--out", type=Path, help="folder of the checkpoint; default: runs/rllib-GAME")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in the folder")
    parser.add_argument("--deals", type=int, default=200, help="deals per measurement, from every seat")
    args = parser.parse_args()
    folder = (args.out or Path("runs", f"rllib-{args.game}")).absolute()
    has_checkpoint = (folder / "rllib_checkpoint.json").exists()
    if has_checkpoint and not args.resume:
        raise SystemExit(f"{folder} exists: continue it with --resume, or choose a folder with --out")
    if args.resume and not has_checkpoint:
        raise SystemExit(f"--resume: there is no checkpoint in {folder}")
    logging.getLogger("ray").setLevel(logging.ERROR)
    if args.cluster:
        ray.init(args.cluster, logging_level=logging.ERROR, log_to_driver=False)
    else:
        cores = max(args.runners, 1)
        ray.init(num_cpus=cores, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    decisions = train(args, folder)
    ray.shutdown()
    print(f"learned from {decisions:,} decisions; --resume continues from {folder}")
    module = RLModule.from_checkpoint(folder / "learner_group" / "learner" / "rl_module" / MODULE)
    with boardwire.connect() as client:
        choose = policy(module, client.game(args.game, seats=args.seats))
        for bot in ("random", "greedy"):
            settings: Any = {"seats": args.seats, "deals": args.deals, "reward": "win", "client": client}
            result = boardwire.evaluate(choose, args.game, opponents=bot, **settings)
            print(f"wins against {bot}: {result}")


if __name__ == "__main__":
    main()
