"""Environments for RLlib's new API stack. Needs `boardwire[rllib]`.

```python
from boardwire.rllib import BoardwireMultiAgentEnv, MaskedPPOModule

config = (
    PPOConfig()
    .environment(BoardwireMultiAgentEnv, env_config={"game": "faraway"})
    .multi_agent(policies={"all"}, policy_mapping_fn=lambda agent, episode, **_: "all")
    .rl_module(
        rl_module_spec=MultiRLModuleSpec(rl_module_specs={"all": RLModuleSpec(module_class=MaskedPPOModule)})
    )
    .fault_tolerance(restart_failed_env_runners=True, restart_failed_sub_environments=True)
)
```

Every env runner uses a private server, or a server from the `address` list, chosen by the runner's index.
If a server is lost, a step raises an error. RLlib then recreates the environment, or the runner on another
node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from torch import Tensor

from ._access import Server
from ._batch import Batch
from ._client import Client
from ._rollouts import Decisions, Policy
from ._shared import shared_client
from ._spec import GameSpec
from ._types import NOBODY, BatchStep, IllegalActions, Reward
from .envs._common import IllegalActionNotice, check_table, draw, unspent
from .envs._spaces import Lens, ObservationKind
from .errors import LOST, BoardwireError, CallTimeout, ConnectionLost, ServerFull

__all__ = ["BoardwireMultiAgentEnv", "EnvConfig", "MaskedPPOModule", "policy"]

#: The logit of an illegal action.
_NEVER = -1e9

_T = TypeVar("_T")


@dataclass(frozen=True)
class EnvConfig:
    """The keys of `env_config`.

    Attributes:
        game: The game's id.
        seats: The number of seats; by default the fewest that the game allows.
        options: The game's options.
        opponents: The bot of each seat that the server plays, such as `{1: "greedy"}`; others are agents.
        observation: `features` for one `float32` vector, `ids` for the fields of the view by name.
        reward: The kind of reward that agents get at the end of the episode.
        illegal_actions: How the server handles an illegal action. By default it plays a legal action instead,
            drawn from the episode's seed, because RLlib's checker and random actions ignore masks.
        skip_forced: Whether the server plays decisions with a single legal action.
        address: The server, as a `boardwire.Server` if it needs TLS or a token; or a list of servers. Env
            runner i uses server i modulo their count, or the next one while that is full or does not
            answer. By default each env runner starts a private server.
        server_args: Additional arguments of `boardwire serve` for private servers.
    """

    game: str
    seats: int | None = None
    options: Mapping[str, str] | None = None
    opponents: Mapping[int, str] | None = None
    observation: ObservationKind = "features"
    reward: Reward = "rank"
    illegal_actions: IllegalActions = "seeded_legal"
    skip_forced: bool = False
    address: str | Server | Sequence[str | Server] | None = None
    server_args: Sequence[str] = ()

    def servers(self, worker: int) -> list[str | Server | None]:
        """Returns the servers that an env runner may use, in the order in which it tries them.

        Args:
            worker: The index of the env runner, from 1; 0 is the process that trains.

        Raises:
            ValueError: The list of addresses is empty.
        """
        if self.address is None or isinstance(self.address, str | Server):
            return [self.address]
        if not self.address:
            raise ValueError("address=[] names no server: leave it out to have private ones")
        first = worker % len(self.address)
        return [*self.address[first:], *self.address[:first]]


class BoardwireMultiAgentEnv(MultiAgentEnv):
    """A match whose agents, `seat_0` and so on, play all seats that no bot of the server plays.

    At every step one agent gets an observation and makes a decision. If several seats decide at the same
    time, the lowest goes first, and the others do not see its choice. At the end every agent gets a last
    observation and its reward; earlier rewards are 0.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. By default `observation` is
    `float32[features]`, as `GameSpec.features` lays it out. The mask is 1 for each legal action, and all 0 at
    the end. Infos have `ply` and `substituted`, and at the end also `score` and `rank`.

    The seed of a reset determines the seeds of all later episodes, even if the server is lost in between.

    Attributes:
        config: The configuration.
        game_spec: The spec of the table.
        server: The server of the match; None for the private server of this process.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Fetches the spec of the match; the first reset opens it, as a batch of one environment.

        Args:
            config: The keys of `EnvConfig`. RLlib's `EnvContext` also has the index of the env runner.

        Raises:
            TypeError: A key is unknown, or `game` is missing.
            ValueError: A value is invalid.
            BoardwireError: The server does not offer the game at such a table, or no server answers.
        """
        self.config = EnvConfig(**config)
        self._servers = self.config.servers(getattr(config, "worker_index", 0))
        self.server = self._servers[0]
        self.game_spec = self._served(
            lambda client: client.game(self.config.game, seats=self.config.seats, options=self.config.options)
        )
        lens = Lens(self.game_spec, self.config.observation, "observation")
        self._lens = lens
        bots = self.config.opponents or {}
        seats = [seat for seat in range(self.game_spec.seats) if seat not in bots]
        self._agents = {seat: f"seat_{seat}" for seat in seats}
        self.possible_agents = list(self._agents.values())
        self.agents = list(self.possible_agents)
        self.observation_spaces = {agent: lens.observation_space for agent in self.agents}
        self.action_spaces = {agent: lens.action_space for agent in self.agents}
        self._notice = IllegalActionNotice(self.game_spec, self.config.illegal_actions)
        self._batch: Batch | None = None
        self._shown: BatchStep | None = None
        super().__init__()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins an episode, at any time. Opens a new match, or changes servers, if the last match is lost.

        Args:
            seed: Determines this and all later episodes.
            options: Ignored; the config fixes the options of a match.

        Returns:
            The observation and the info of the agent that decides first.

        Raises:
            BoardwireError: No server answers, or none offers this match.
        """
        super().reset(seed=seed)
        with unspent(self.np_random):
            self._shown = self._deal(draw(self.np_random))
        return self._due(self._shown)

    def _deal(self, seed: int) -> BatchStep:
        if self._batch is not None:
            try:
                return self._batch.reset(seeds=[seed])
            except LOST:
                self.close()
        self._batch = self._served(self._open)
        try:
            check_table(self.game_spec, self._batch.spec)
            return self._batch.reset(seeds=[seed])
        except BaseException:
            self.close()
            raise

    def _open(self, client: Client) -> Batch:
        return client.open_batch(
            self.game_spec.game.id,
            environments=1,
            seats=self.game_spec.seats,
            opponents=self.config.opponents,
            options=self.game_spec.options,
            reward=self.config.reward,
            autoreset="disabled",
            illegal_actions=self.config.illegal_actions,
            skip_forced=self.config.skip_forced,
            columns=["scores", "final_views"],
        )

    def _served(self, work: Callable[[Client], _T]) -> _T:
        """Calls `work` on the first server that answers and is not full, and returns its result."""
        *others, last = self._servers
        for server in others:
            with contextlib.suppress(ConnectionLost, CallTimeout, ServerFull):
                return self._at(server, work)
        return self._at(last, work)

    def _at(self, server: str | Server | None, work: Callable[[Client], _T]) -> _T:
        answer = work(shared_client(server, self.config.server_args))
        self.server = server
        return answer

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays the action of the agent that decides.

        Args:
            action_dict: The agent's action, an `int`; actions of other agents are ignored.

        Returns:
            Observations and infos of the agent that decides next, or of all agents at the end; rewards of all
            agents; terminations and truncations of all agents and of `__all__`.

        Raises:
            RuntimeError: The environment was not reset, or the episode is over.
            KeyError: The action of the agent that decides is missing; nothing was played.
            IllegalAction: The action is illegal, and `illegal_actions` is `reject`; nothing was played.
            BoardwireError: The server and its match are lost; a reset opens a new match.
        """
        if self._batch is None or self._shown is None or self._shown.seat[0] == NOBODY:
            raise RuntimeError("reset the environment: no episode is under way")
        agent = self._agents[int(self._shown.seat[0])]
        action = action_dict[agent]
        shown = self._shown = self._batch.step([action])
        if shown.substituted[0]:
            self._notice.give(int(action), f" of {agent}")
        over = shown.seat[0] == NOBODY
        observations, infos = self._ends(shown) if over else self._due(shown)
        rewards = {name: float(shown.reward[0, seat]) for seat, name in self._agents.items()}
        names = (*self.agents, "__all__")
        terminated = dict.fromkeys(names, bool(shown.terminated[0]))
        truncated = dict.fromkeys(names, bool(shown.truncated[0]))
        return observations, rewards, terminated, truncated, infos

    def _due(self, shown: BatchStep) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        agent = self._agents[int(shown.seat[0])]
        observation = self._lens.observation(shown.view[0], shown.mask[0])
        return {agent: observation}, {agent: _info(shown)}

    def _ends(self, shown: BatchStep) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Returns the observations and infos of all agents at the end of an episode."""
        assert shown.final_view is not None, "the batch was opened with it"
        assert shown.scores is not None, "the batch was opened with them"
        assert shown.ranks is not None, "they come with the scores"
        observations, infos = {}, {}
        for (seat, agent), view in zip(self._agents.items(), shown.final_view[0], strict=True):
            observations[agent] = self._lens.observation(view, shown.mask[0])
            score, rank = int(shown.scores[0, seat]), int(shown.ranks[0, seat])
            infos[agent] = {**_info(shown), "score": score, "rank": rank}
        return observations, infos

    def close(self) -> None:
        """Closes the match. A reset opens a new one."""
        # A batch on an unreachable server needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._batch is not None:
                self._batch.close()
        self._batch = self._shown = None


def _info(shown: BatchStep) -> dict[str, Any]:
    return {"ply": int(shown.ply[0]), "substituted": bool(shown.substituted[0])}


class MaskedPPOModule(DefaultPPOTorchRLModule):
    """PPO's default module with action masking: it reads `observation` and allows what `action_mask` allows.

    It takes the `model_config` of the default module. The observation must be a vector, such as `features`.
    """

    def __init__(self, *, observation_space: spaces.Space[Any], **kwargs: Any) -> None:
        """Is called by `RLModuleSpec.build`.

        Raises:
            ValueError: The space is not that of a `BoardwireMultiAgentEnv` with `features`.
        """
        parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
        if "action_mask" not in parts or not isinstance(parts.get("observation"), spaces.Box):
            raise ValueError(
                f"observation_space={observation_space} has no vector `observation` beside `action_mask`: "
                'put "observation": "features" into env_config'
            )
        super().__init__(observation_space=parts["observation"], **kwargs)
        # A checkpoint rebuilds the module from its original arguments.
        self.observation_space = observation_space

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward(_seen(batch), **kwargs), batch)

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward_train(_seen(batch), **kwargs), batch)

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """Returns the values of positions: `float32[n]`."""
        return super().compute_values(_seen(batch), embeddings)


def _seen(batch: dict[str, Any]) -> dict[str, Any]:
    return {**batch, Columns.OBS: batch[Columns.OBS]["observation"]}


def _masked(output: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
    logits: Tensor = output[Columns.ACTION_DIST_INPUTS]
    legal = batch[Columns.OBS]["action_mask"]
    return {**output, Columns.ACTION_DIST_INPUTS: logits.masked_fill(legal == 0, _NEVER)}


def policy(module: RLModule, spec: GameSpec) -> Policy:
    """Converts a trained module to a policy, for `boardwire.evaluate`, `versus`, or as an opponent.

    Args:
        module: A module on the CPU, such as a `MaskedPPOModule`, trained in environments with `features`.
        spec: The spec of the table, the same as that of the environments.

    Returns:
        A function of `Decisions` that returns the likeliest action of each row, `int64[n]`.
    """

    def choose(asked: Decisions) -> NDArray[np.int64]:
        features = torch.from_numpy(spec.features(asked.view))
        seen = {Columns.OBS: {"observation": features, "action_mask": torch.tensor(asked.mask)}}
        with torch.no_grad():
            logits = module.forward_inference(seen)[Columns.ACTION_DIST_INPUTS]
        best: NDArray[np.int64] = logits.argmax(1).numpy()
        return best

    return choose
