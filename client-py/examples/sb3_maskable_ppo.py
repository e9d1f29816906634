"""Stable-Baselines3: MaskablePPO of sb3-contrib learns a game against a bot; a callback measures it.

All matches are environments of one batch in the server. One message steps them, and to SB3 they are a
`VecEnv`. Between rollouts the callback plays the same deals from every seat against bots. It prints the win
rate with an interval.

    python sb3_maskable_ppo.py                       # half a minute, after which it wins 87 % against random
    python sb3_maskable_ppo.py rauha --timesteps 500000 --opponent greedy

The script saves the model as `runs/sb3/GAME.zip`, also if Ctrl-C ends the training early.

To try: `--opponent greedy`; `VecNormalize` around the environments; `observation="ids"` with a
`MultiInputPolicy` and your own features extractor; the learning model itself as the opponent,
`opponents=boardwire.sb3.policy(model, spec, deterministic=False)`; a snapshot that `MaskablePPO.load` returns
in place of `model`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor

import boardwire.sb3


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Trains MaskablePPO.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--timesteps", type=int, default=200_000)
    add("--opponent", default="random", help="the opponent in training")
    add("--against", nargs="*", default=["greedy", "random"], help="opponents in measurements")
    add("--environments", type=int, default=64)
    add("--deals", type=int, default=200, help="deals per measurement")
    add("--threads", type=int, default=1, help="threads of PyTorch; more do not help this small network")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/sb3"), help="folder of the results")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and saves a model."""
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    envs = VecMonitor(
        boardwire.sb3.VecEnv(args.game, args.environments, opponents=args.opponent, reward="win")
    )
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=64,
        batch_size=1024,
        n_epochs=4,
        learning_rate=1e-3,
        # The only reward comes at the end of an episode.
        gamma=1.0,
        ent_coef=0.01,
        seed=args.seed,
        device="cpu",
    )
    evaluation = boardwire.sb3.EvaluationCallback(
        args.against, every=args.timesteps // 4, deals=args.deals, verbose=1
    )
    try:
        model.learn(args.timesteps, callback=evaluation, progress_bar=True)
    except KeyboardInterrupt:
        print("ended early")
        evaluation.measure()
    model.save(args.out / args.game)
    envs.close()
    print(f"{model.num_timesteps:,} decisions; the model is {args.out / args.game}.zip")


if __name__ == "__main__":
    main()
