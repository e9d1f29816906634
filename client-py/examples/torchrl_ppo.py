"""TorchRL: PPO from its collector, its loss and its advantages, over one batch of matches.

`GymWrapper` takes our vector environment in the mode `Disabled`, in which TorchRL itself resets
what has ended, and `ActionMask` puts the legal actions into the specs. So one message steps all matches, and
the rest is TorchRL as it is used everywhere.

    python torchrl_ppo.py                        # two minutes, after which it wins 87 % against random
    python torchrl_ppo.py golden_compass --timesteps 500000

The networks are kept as `runs/torchrl/GAME.pt`; Ctrl-C ends the training early, keeps them and measures them.

To try: `--opponent greedy`; several collectors in processes of their own; all seats learning at once, by
`PettingZooWrapper(boardwire.pettingzoo.parallel_env("faraway"), use_mask=True)`, with a policy for the group
`seat`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import ActionMask, DTypeCastTransform, GymWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from tqdm import tqdm

import boardwire
import boardwire.envs


def environments(given: argparse.Namespace) -> tuple[Any, boardwire.GameSpec]:
    """One batch as an environment of TorchRL, and the table's description."""
    envs: Any = boardwire.envs.BoardwireVectorEnv(
        given.game,
        given.environments,
        opponents=given.opponent,
        observation="features",
        mask="observation",
        reward="win",
        autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED,
    )
    env = GymWrapper(envs, categorical_action_encoding=True)
    env = env.append_transform(ActionMask())
    # Its distributions take masks of bools.
    return env.append_transform(
        DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    ), envs.game_spec


def networks(features: int, actions: int, hidden: int) -> tuple[Any, Any, nn.Module]:
    """An actor and a critic, and the network of the actor's logits."""

    def body(out: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(features, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, out),
        )

    logits = body(actions)
    actor = ProbabilisticActor(
        TensorDictModule(logits, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        out_keys=["action"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    return actor, ValueOperator(body(1), in_keys=["observation"]), logits


def train(env: Any, actor: Any, critic: Any, given: argparse.Namespace) -> None:
    """Collects and learns, in turn."""
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    losses = ClipPPOLoss(
        actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5, normalize_advantage=True
    )
    optimizer = torch.optim.Adam(losses.parameters(), lr=given.rate, eps=1e-5)
    frames = given.environments * given.steps
    memory = ReplayBuffer(
        storage=LazyTensorStorage(frames), sampler=SamplerWithoutReplacement(), batch_size=given.minibatch
    )
    collector = Collector(
        env, actor, frames_per_batch=frames, total_frames=given.timesteps // frames * frames
    )
    try:
        with tqdm(total=given.timesteps, desc="training", unit="decision", unit_scale=True) as bar:
            for played in collector:
                for _ in range(given.epochs):
                    with torch.no_grad():
                        advantages(played)
                    memory.extend(played.reshape(-1))
                    for _ in range(frames // given.minibatch):
                        told = losses(memory.sample())
                        optimizer.zero_grad()
                        (told["loss_objective"] + told["loss_critic"] + told["loss_entropy"]).backward()
                        nn.utils.clip_grad_norm_(losses.parameters(), 0.5)
                        optimizer.step()
                ended = played["next", "done"]
                bar.set_postfix(wins=f"{played['next', 'reward'][ended].mean().item():.2f}")
                bar.update(frames)
    finally:
        collector.shutdown()


def measure(logits: nn.Module, spec: boardwire.GameSpec, given: argparse.Namespace) -> str:
    """Lets the likeliest actions play the same deals from every seat against a bot."""

    def policy(asked: boardwire.Decisions) -> Any:
        with torch.no_grad():
            found = logits(torch.from_numpy(spec.features(asked.view)))
            return found.masked_fill(torch.from_numpy(asked.mask) == 0, -1e8).argmax(-1).numpy()

    found = boardwire.evaluate(policy, spec.id, opponents=given.opponent, deals=given.deals, reward="win")
    return f"wins against {given.opponent}: {found}"


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Trains an agent by TorchRL's PPO.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--timesteps", type=int, default=500_000)
    add("--opponent", default="random", help="the bot it learns against")
    add("--environments", type=int, default=256)
    add("--steps", type=int, default=32, help="steps of a rollout")
    add("--epochs", type=int, default=4)
    add("--minibatch", type=int, default=2048)
    add("--rate", type=float, default=1e-3)
    add("--hidden", type=int, default=128)
    add("--deals", type=int, default=200, help="deals of a measurement")
    add("--threads", type=int, default=1, help="of PyTorch: so small a network gains nothing by more")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/torchrl"), help="the folder")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and keeps an actor and a critic."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    env, spec = environments(given)
    env.set_seed(given.seed)
    actor, critic, logits = networks(len(spec.layout.names), len(spec.actions), given.hidden)
    print(f"before learning, {measure(logits, spec, given)}", flush=True)
    try:
        train(env, actor, critic, given)
    except KeyboardInterrupt:
        print("ended early")
    torch.save({"actor": actor.state_dict(), "critic": critic.state_dict()}, given.out / f"{given.game}.pt")
    print(f"after learning, {measure(logits, spec, given)}")
    print(f"the networks are {given.out / given.game}.pt")


if __name__ == "__main__":
    main()
