"""Stable-Baselines3: MaskablePPO of sb3-contrib learns a game against a bot, and is measured as it does.

All its matches are environments of one batch in the server, stepped by one message, and look to SB3 like any
other `VecEnv`. Between rollouts it plays the same deals from every seat against the bots, which gives its win
rate with an interval.

    python sb3_maskable_ppo.py                       # half a minute, after which it wins 87 % against random
    python sb3_maskable_ppo.py rauha --timesteps 500000 --opponent greedy

The model is kept as `runs/sb3/GAME.zip`; Ctrl-C ends the training early, keeps it and measures it.

To try: `--opponent greedy`; `VecNormalize` around the environments; `observation="ids"` with a
`MultiInputPolicy` and a features extractor of your own; as an opponent the model itself, which learns on,
`opponents=boardwire.sb3.policy(model, spec, deterministic=False)`, or a snapshot: the same of what
`MaskablePPO.load` has read from a file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor

import boardwire.sb3


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Trains MaskablePPO.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--timesteps", type=int, default=200_000)
    add("--opponent", default="random", help="the bot it learns against")
    add("--against", nargs="*", default=["greedy", "random"], help="the bots it is measured against")
    add("--environments", type=int, default=64)
    add("--deals", type=int, default=200, help="deals of a measurement")
    add("--threads", type=int, default=1, help="of PyTorch: so small a network gains nothing by more")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/sb3"), help="the folder")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and keeps a model."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(given.threads)
    envs = VecMonitor(
        boardwire.sb3.VecEnv(given.game, given.environments, opponents=given.opponent, reward="win")
    )
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=64,
        batch_size=1024,
        n_epochs=4,
        learning_rate=1e-3,
        # The only reward comes at the end.
        gamma=1.0,
        ent_coef=0.01,
        seed=given.seed,
        device="cpu",
    )
    measured = boardwire.sb3.EvaluationCallback(
        given.against, every=given.timesteps // 4, deals=given.deals, verbose=1
    )
    try:
        model.learn(given.timesteps, callback=measured, progress_bar=True)
    except KeyboardInterrupt:
        print("ended early")
        measured.measure()
    model.save(given.out / given.game)
    envs.close()
    print(f"{model.num_timesteps:,} decisions; the model is {given.out / given.game}.zip")


if __name__ == "__main__":
    main()
