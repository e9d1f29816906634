"""CleanRL style: PPO in one file, from nothing but PyTorch and a Gymnasium vector environment.

`BoardwireVectorEnv` is one batch in the server, so a step of 256 matches is one message. The network sees
features, the logits of what is not legal are put out, and the rest is PPO as in CleanRL's `ppo.py`: rollout,
generalised advantages, clipped updates, all of it below and meant to be changed.

    python cleanrl_ppo.py                        # 40 seconds, after which it wins 88 % against random
    python cleanrl_ppo.py rauha --opponent greedy --timesteps 2000000

The network is kept as `runs/cleanrl/GAME.pt`; Ctrl-C ends the training early, keeps it and measures it.

To try: `--opponent greedy`; another `--rate` or `--entropy`; a deeper network; `reward="margin"`, divided by
30; `boardwire.torch.Network` instead of the small one here, which takes views instead of features.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from tqdm import trange

import boardwire
import boardwire.envs


def layer(before: int, after: int, scale: float = 2**0.5) -> nn.Linear:
    """A layer as PPO begins with."""
    made = nn.Linear(before, after)
    nn.init.orthogonal_(made.weight, scale)
    nn.init.zeros_(made.bias)
    return made


class Agent(nn.Module):
    """A policy and a value."""

    def __init__(self, features: int, actions: int, hidden: int) -> None:
        """Begins with a policy that is nearly uniform."""
        super().__init__()
        self.body = nn.Sequential(layer(features, hidden), nn.Tanh(), layer(hidden, hidden), nn.Tanh())
        self.actor, self.critic = layer(hidden, actions, 0.01), layer(hidden, 1, 1.0)

    def forward(self, seen: Tensor, mask: Tensor) -> tuple[torch.distributions.Categorical, Tensor]:
        """The distribution over legal actions, and the value: `float32[n]`."""
        shown = self.body(seen)
        logits = self.actor(shown).masked_fill(~mask, -1e8)
        chances = torch.distributions.Categorical(logits=logits, validate_args=False)
        return chances, self.critic(shown).squeeze(-1)


def collect(
    envs: Any, agent: Agent, now: tuple[Tensor, Tensor], steps: int
) -> tuple[Any, tuple[Tensor, Tensor]]:
    """Plays steps in all environments: what was seen, chosen and rewarded, `[steps, n]` each."""
    rows = []
    for _ in range(steps):
        seen, mask = now
        with torch.no_grad():
            chances, value = agent(seen, mask)
            action = chances.sample()
        shown, reward, terminated, truncated, infos = envs.step(action.numpy())
        over = torch.from_numpy(terminated | truncated)
        earned = torch.from_numpy(reward).float()
        rows.append((seen, mask, action, chances.log_prob(action), value, earned, over))
        now = torch.from_numpy(shown), torch.from_numpy(infos["action_mask"]).bool()
    return [torch.stack(column) for column in zip(*rows, strict=True)], now


def advantages(reward: Tensor, over: Tensor, value: Tensor, last: Tensor, trace: float) -> Tensor:
    """Generalised advantages without a discount: rewards come at the end of an episode."""
    found, running = torch.zeros_like(reward), torch.zeros_like(last)
    for step in reversed(range(len(reward))):
        goes_on = (~over[step]).float()
        later = value[step + 1] if step + 1 < len(value) else last
        running = reward[step] + goes_on * later - value[step] + goes_on * trace * running
        found[step] = running
    return found


def learn(agent: Agent, optimizer: torch.optim.Optimizer, played: Any, last: Tensor, given: Any) -> None:
    """Improves the agent by what was played."""
    seen, mask, action, before, value, reward, over = played
    gained = advantages(reward, over, value, last, given.trace)
    flat = [each.flatten(0, 1) for each in (seen, mask, action, before, gained, gained + value)]
    for _ in range(given.epochs):
        for rows in torch.randperm(len(flat[0])).split(given.minibatch):
            seen, mask, action, before, gain, returns = (each[rows] for each in flat)
            chances, judged = agent(seen, mask)
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = (chances.log_prob(action) - before).exp()
            policy_loss = -torch.minimum(
                ratio * gain, ratio.clamp(1 - given.clip, 1 + given.clip) * gain
            ).mean()
            # What is not legal has a probability of 0, and so adds nothing to the entropy.
            loss = (
                policy_loss
                + 0.5 * (judged - returns).square().mean()
                - given.entropy * chances.entropy().mean()
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def measure(agent: Agent, spec: boardwire.GameSpec, given: Any) -> str:
    """Lets the likeliest actions play the same deals from every seat against a bot."""

    def policy(asked: boardwire.Decisions) -> Any:
        with torch.no_grad():
            chances, _ = agent(
                torch.from_numpy(spec.features(asked.view)), torch.from_numpy(asked.mask).bool()
            )
            return chances.logits.argmax(-1).numpy()

    found = boardwire.evaluate(policy, spec.id, opponents=given.opponent, deals=given.deals, reward="win")
    return f"wins against {given.opponent}: {found}"


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Trains an agent by PPO.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--timesteps", type=int, default=500_000)
    add("--opponent", default="random", help="the bot it learns against")
    add("--environments", type=int, default=256)
    add("--steps", type=int, default=32, help="steps of a rollout")
    add("--epochs", type=int, default=4)
    add("--minibatch", type=int, default=2048)
    add("--rate", type=float, default=1e-3)
    add("--clip", type=float, default=0.2)
    add("--entropy", type=float, default=0.01)
    add("--trace", type=float, default=0.95, help="the lambda of advantages")
    add("--hidden", type=int, default=128)
    add("--deals", type=int, default=200, help="deals of a measurement")
    add("--threads", type=int, default=1, help="of PyTorch: so small a network gains nothing by more")
    add("--seed", type=int, default=1)
    add("--out", type=Path, default=Path("runs/cleanrl"), help="the folder")
    return parser.parse_args()


def main() -> None:
    """Trains, measures and keeps an agent."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    envs: Any = boardwire.envs.BoardwireVectorEnv(
        given.game,
        given.environments,
        opponents=given.opponent,
        observation="features",
        reward="win",
        # An episode's last step already shows the next one: no step is lost to learning.
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    actions = int(envs.single_action_space.n)
    agent = Agent(envs.single_observation_space.shape[0], actions, given.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), lr=given.rate, eps=1e-5)
    print(f"before learning, {measure(agent, envs.game_spec, given)}", flush=True)
    shown, infos = envs.reset(seed=given.seed)
    now = torch.from_numpy(shown), torch.from_numpy(infos["action_mask"]).bool()
    updates = given.timesteps // (given.steps * given.environments)
    try:
        with trange(updates, desc="training", unit="update") as bar:
            for _ in bar:
                played, now = collect(envs, agent, now, given.steps)
                with torch.no_grad():
                    last = agent(*now)[1]
                learn(agent, optimizer, played, last, given)
                reward, over = played[5], played[6]
                bar.set_postfix(wins=f"{reward[over].mean().item() if over.any() else np.nan:.2f}")
    except KeyboardInterrupt:
        print("ended early")
    torch.save(agent.state_dict(), given.out / f"{given.game}.pt")
    print(f"after learning, {measure(agent, envs.game_spec, given)}")
    print(f"the network is {given.out / given.game}.pt")
    envs.close()


if __name__ == "__main__":
    main()
