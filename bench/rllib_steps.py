"""Decisions a second in RLlib: an environment alone, and env runners with RLlib's own cost for each decision.

    python bench/rllib_steps.py [SECONDS]

`env` plays random legal actions in one environment. The other columns are of one env runner in this process
that steps so many environments and samples from PPO's default network with masks. Below our games is one
that costs nothing itself: what is left is RLlib. `server` is the processor time that the server takes for a
decision of the last column.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from boardwire._shared import shared_client
from boardwire.rllib import BoardwireMultiAgentEnv, MaskedPPOModule

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
GAMES = ["faraway", "rauha", "golden_compass"]
ENVIRONMENTS = [1, 16, 64]


class Nothing(MultiAgentEnv):
    """Two agents take turns at 40 decisions of ten actions, and see 100 numbers that are always 0."""

    def __init__(self, _config: Any = None) -> None:
        """Describes it."""
        self.agents = self.possible_agents = ["seat_0", "seat_1"]
        legal = spaces.Box(0, 1, (10,), np.int8)
        seen = spaces.Dict({"observation": spaces.Box(0, 1, (100,)), "action_mask": legal})
        self.observation_spaces = dict.fromkeys(self.agents, seen)
        self.action_spaces = dict.fromkeys(self.agents, spaces.Discrete(10))
        self._shown = {"observation": np.zeros(100, np.float32), "action_mask": np.ones(10, np.int8)}
        self._made = 0
        super().__init__()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Begins an episode."""
        self._made = 0
        return {"seat_0": self._shown}, {"seat_0": {}}

    def step(self, action_dict: Any) -> Any:
        """Makes a decision."""
        self._made += 1
        over = self._made == 40
        seen = self.agents if over else [self.agents[self._made % 2]]
        ends = dict.fromkeys((*self.agents, "__all__"), over)
        none = dict.fromkeys((*self.agents, "__all__"), False)
        return dict.fromkeys(seen, self._shown), dict.fromkeys(self.agents, 0.0), ends, none, {}


def rate(of: Callable[[], int]) -> float:
    """How many are made in a second."""
    of()
    made, began = 0, time.perf_counter()
    while time.perf_counter() < began + SECONDS:
        made += of()
    return made / (time.perf_counter() - began)


def episode(env: MultiAgentEnv, random: np.random.Generator) -> int:
    """Plays an episode; gives how many decisions were made."""
    seen, made, over = env.reset()[0], 0, False
    while not over:
        actions = {agent: random.choice(each["action_mask"].nonzero()[0]) for agent, each in seen.items()}
        seen, _, ended, _, _ = env.step(actions)
        made, over = made + 1, ended["__all__"]
    return made


def runner(env: type[MultiAgentEnv], env_config: dict[str, Any], environments: int) -> MultiAgentEnvRunner:
    """An env runner in this process."""
    spec = RLModuleSpec(module_class=MaskedPPOModule, model_config={"fcnet_hiddens": [128, 128]})
    config = (
        PPOConfig()
        .environment(env, env_config=env_config, disable_env_checking=True)
        .multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"all": spec}))
        .env_runners(num_env_runners=0, num_envs_per_env_runner=environments)
    )
    return MultiAgentEnvRunner(config=config, worker_index=0)


def server_seconds() -> float:
    """The processor time that the private server of this process has had."""
    private = shared_client(None)._private
    assert private is not None
    fields = Path(f"/proc/{private._process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(name: str, env: type[MultiAgentEnv], env_config: dict[str, Any]) -> str:
    """A line of the table."""
    one, random = env(env_config), np.random.default_rng(1)
    cells = [f"{rate(lambda: episode(one, random)):,.0f}"]
    for environments in ENVIRONMENTS:
        of = runner(env, env_config, environments)
        made = 0

        def sampled(of: MultiAgentEnvRunner = of) -> int:
            nonlocal made
            steps = sum(len(each) for each in of.sample(num_timesteps=128))
            made += steps
            return steps

        before = server_seconds()
        cells.append(f"{rate(sampled):,.0f}")
        took = server_seconds() - before
        of.stop()
    cells.append(f"{took / made * 1e6:.0f} µs" if env_config else "-")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measures and prints a table."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    # As Ray has it for env runners of one core each.
    torch.set_num_threads(1)
    heads = ["game", "env", *(f"{count} in a runner" for count in ENVIRONMENTS), "server"]
    print(f"| {' | '.join(heads)} |\n| --- |{' ---: |' * (len(heads) - 1)}")
    for game in GAMES:
        print(measured(game, BoardwireMultiAgentEnv, {"game": game}), flush=True)
    print(measured("nothing", Nothing, {}))


if __name__ == "__main__":
    main()
