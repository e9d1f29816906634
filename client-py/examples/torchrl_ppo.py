"""TorchRL: PPO with TorchRL's collector, loss and advantages, over one batch of matches.

`GymWrapper` takes our vector environment in the mode `Disabled`, in which TorchRL itself resets finished
episodes. `ActionMask` adds the legal actions to the specs. So one message steps all matches, and the rest is
ordinary TorchRL.

    python torchrl_ppo.py                        # two minutes, after which it wins 87 % against random
    python torchrl_ppo.py golden_compass --timesteps 500000

It measures the networks and saves them as `runs/torchrl/GAME.pt`, also if Ctrl-C ends the training early.

To try: `--opponent greedy`; several collectors in their own processes; all seats learning together, by
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


def environments(args: argparse.Namespace) -> tuple[Any, boardwire.GameSpec]:
    """Returns one batch as an environment of TorchRL, and the spec of the table."""
    envs: Any = boardwire.envs.BoardwireVectorEnv(
        args.game,
        args.environments,
        opponents=args.opponent,
        observation="features",
        mask="observation",
        reward="win",
        autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED,
    )
    env = GymWrapper(envs, categorical_action_encoding=True)
    env = env.append_transform(ActionMask())
    # TorchRL's distributions need boolean masks.
    return env.append_transform(
        DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    ), envs.game_spec


def networks(features: int, actions: int, hidden: int) -> tuple[Any, Any, nn.Module]:
    """Returns an actor, a critic, and the network of the actor's logits."""

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


def train(env: Any, actor: Any, critic: Any, args: argparse.Namespace) -> None:
    """Alternates collection and learning."""
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    ppo_loss = ClipPPOLoss(
        actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5, normalize_advantage=True
    )
    optimizer = torch.optim.Adam(ppo_loss.parameters(), lr=args.rate, eps=1e-5)
    frames = args.environments * args.steps
    memory = ReplayBuffer(
        storage=LazyTensorStorage(frames), sampler=SamplerWithoutReplacement(), batch_size=args.minibatch
    )
    collector = Collector(env, actor, frames_per_batch=frames, total_frames=args.timesteps // frames * frames)
    try:
        with tqdm(total=args.timesteps, desc="training", unit="decision", unit_scale=True) as bar:
            for rollout in collector:
                for _ in range(args.epochs):
                    with torch.no_grad():
                        advantages(rollout)
                    memory.extend(rollout.reshape(-1))
                    for _ in range(frames // args.minibatch):
                        losses = ppo_loss(memory.sample())
                        optimizer.zero_grad()
                        (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                        nn.utils.clip_grad_norm_(ppo_loss.parameters(), 0.5)
                        optimizer.step()
                ended = rollout["next", "done"]
                bar.set_postfix(wins=f"{rollout['next', 'reward'][ended].mean().item():.2f}")
                bar.update(frames)
    finally:
        collector.shutdown()


def measure(logits: nn.Module, spec: boardwire.GameSpec, args: argparse.Namespace) -> str:
    """Plays the most likely actions against a bot: the same deals from every seat."""

    def policy(decisions: boardwire.Decisions) -> Any:
        with torch.no_grad():
            scores = logits(torch.from_numpy(spec.features(decisions.view)))
            return scores.masked_fill(~torch.from_numpy(decisions.mask), -1e8).argmax(-1).numpy()

    result = boardwire.evaluate(policy, spec.id, opponents=args.opponent, deals=args.deals, reward="win")
    return f"wins against {args.opponent}: {result}"


def arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Trains an agent with TorchRL's PPO.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--timesteps", type=int, default=500_000)
    add("--opponent", default="random", help="the opponent in training")
    add("--environments", type=int, default=256)
    add("--steps", type=int, default=32, help="steps per rollout")
    add("--epochs", type=int, default=4)
    add("--minibatch", type=int, default=2048)
    add("--rate", type=float, default=1e-3)
    add("--hidden", type=int, default=128)
    add("--deals", type=int, default=200, help="deals per measurement")
    add("--threads", type=int, default=1, help="threads of PyTorch; more do not help this small network")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/torchrl"), help="folder of the results")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and saves an actor and a critic."""
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    env, spec = environments(args)
    env.set_seed(args.seed)
    actor, critic, logits = networks(len(spec.layout.names), len(spec.actions), args.hidden)
    print(f"before learning, {measure(logits, spec, args)}", flush=True)
    try:
        train(env, actor, critic, args)
    except KeyboardInterrupt:
        print("ended early")
    torch.save({"actor": actor.state_dict(), "critic": critic.state_dict()}, args.out / f"{args.game}.pt")
    print(f"after learning, {measure(logits, spec, args)}")
    print(f"the networks are {args.out / args.game}.pt")


if __name__ == "__main__":
    main()
