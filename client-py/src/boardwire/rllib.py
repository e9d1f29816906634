"""Environments for RLlib's new API stack. Needs `boardwire[rllib]`.

If a server is lost, a step raises an error. RLlib then recreates the environment, or its runner on another
node.
"""

from __future__ import annotations

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

import boardwire

from .envs import ObservationEncoder, ObservationKind, Session
from .errors import CallTimeout, ConnectionLost, ServerFull

__all__ = ["BoardwireMultiAgentEnv", "EnvConfig", "MaskedPPOModule", "policy"]

_T = TypeVar("_T")
_Result = tuple[dict[str, Any], dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class EnvConfig:
    """The keys of `env_config`. Those not listed are arguments of `boardwire.envs.BoardwireEnv`.

    Attributes:
        opponents: The bot of each seat that the server plays, such as `{1: "greedy"}`; others are agents.
        address: The server, as a `boardwire.Address` if it needs TLS or a token; or a list of servers. Env
            runner i uses server i modulo their count, or the next one while that is full or does not
            answer. By default each env runner starts a private server.
        server_args: Additional arguments of `boardwire serve` for private servers.
    """

    game: str
    seats: int | None = None
    options: Mapping[str, str] | None = None
    opponents: Mapping[int, str] | None = None
    observation: ObservationKind = "features"
    reward: boardwire.Reward = "rank"
    illegal_actions: boardwire.IllegalActions = "seeded_legal"
    skip_forced: bool = False
    address: str | boardwire.Address | Sequence[str | boardwire.Address] | None = None
    server_args: Sequence[str] = ()


class BoardwireMultiAgentEnv(MultiAgentEnv):
    """A match whose agents, `seat_0` and so on, play all seats that no bot of the server plays.

    At every step one agent gets an observation and makes a decision. If several seats decide at the same
    time, the lowest goes first, and the others do not see its choice. At the end every agent gets a last
    observation and its reward; earlier rewards are 0.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. By default `observation` is
    `float32[features]`, as `GameSpec.features` lays it out. The mask is 1 for each legal action, and all 0 at
    the end. Infos have `ply` and `substituted`, and at the end also `score` and `rank`.

    Attributes:
        game_spec: The spec of the table.
        server: The server of the match; None for the private server of this process.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Fetches the spec of the match, which the first reset opens. `config` has the keys of `EnvConfig`.

        Raises:
            TypeError: A key is unknown, or `game` is missing.
            ValueError: A value is invalid.
            BoardwireError: The server does not offer the game at such a table, or no server answers.
        """
        settings = self.config = EnvConfig(**config)
        is_one = settings.address is None or isinstance(settings.address, str | boardwire.Address)
        servers: Any = [settings.address] if is_one else settings.address
        if not servers:
            raise ValueError("`address` must not be an empty list: omit it for private servers")
        first = getattr(config, "worker_index", 0) % len(servers)
        self._servers_to_try: list[str | boardwire.Address | None] = [*servers[first:], *servers[:first]]
        spec = self.game_spec = self._ask(
            lambda client: client.game(settings.game, seats=settings.seats, options=settings.options)
        )
        self._encoder = ObservationEncoder(spec, settings.observation, "observation")
        bots = settings.opponents or {}
        if not all(0 <= seat < spec.seats and bot != "agent" for seat, bot in bots.items()):
            raise ValueError(f"`opponents` must map seats from 0 to {spec.seats - 1} to bots; got {bots}")
        self._agents = {seat: f"seat_{seat}" for seat in range(spec.seats) if seat not in bots}
        self.agents, self.possible_agents = list(self._agents.values()), list(self._agents.values())
        self.observation_spaces = dict.fromkeys(self.agents, self._encoder.observation_space)
        self.action_spaces = dict.fromkeys(self.agents, self._encoder.action_space)
        self._session = Session(
            lambda *args, **table: self._ask(lambda client: client.open_batch(*args, **table)),
            spec,
            environments=1,
            opponents=settings.opponents,
            reward=settings.reward,
            autoreset="disabled",
            illegal_actions=settings.illegal_actions,
            skip_forced=settings.skip_forced,
            columns=["scores", "final_views"],
        )
        # The agent that decides; None before the first reset and after the end of an episode.
        self._agent: str | None = None
        super().__init__()

    def _ask(self, work: Callable[[boardwire.Client], _T]) -> _T:
        """Calls `work` for the first server that answers and is not full, and returns its result."""
        for server in self._servers_to_try:
            self.server = server
            try:
                return work(boardwire.shared_client(server, self.config.server_args))
            except (ConnectionLost, CallTimeout, ServerFull) as failure:
                last = failure
        raise last

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> _Result:
        """Begins an episode, at any time. Opens a new match, or changes servers, if the last match is lost.

        `seed` determines this and all later episodes, on any server. `options` are ignored.

        Raises:
            BoardwireError: No server answers, or none offers this match.
        """
        super().reset(seed=seed)
        self._agent, self._substituted = None, dict.fromkeys(self.agents, False)
        return self._result(self._session.reset_one(self.np_random))

    def step(
        self, action_dict: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays the action of the agent that decides, an `int`; actions of other agents are ignored.

        Raises:
            RuntimeError: The environment was not reset, or the episode is over.
            KeyError: The action of the agent that decides is missing; nothing was played.
            IllegalAction: The action is illegal, and `illegal_actions` is `reject`; nothing was played.
            BoardwireError: The server and its match are lost; a reset opens a new match.
        """
        if self._agent is None:
            raise RuntimeError("call `reset` first: the environment has no episode")
        agent, action = self._agent, action_dict[self._agent]
        step = self._session.act(action)
        self._substituted[agent] = bool(step.substituted[0])
        if self._substituted[agent]:
            self._session.warn(action, agent)
        observations, infos = self._result(step)
        rewards = {name: float(step.reward[0, seat]) for seat, name in self._agents.items()}
        names = (*self.agents, "__all__")
        terminated = dict.fromkeys(names, bool(step.terminated[0]))
        truncated = dict.fromkeys(names, bool(step.truncated[0]))
        return observations, rewards, terminated, truncated, infos

    def _result(self, step: boardwire.BatchStep) -> _Result:
        """Returns the observation and info of the agent that decides, or those of all agents at the end."""
        ply = int(step.ply[0])
        infos: Any = {name: {"ply": ply, "substituted": self._substituted[name]} for name in self.agents}
        agent = self._agent = self._agents.get(int(step.seat[0]))
        if agent is not None:
            return {agent: self._encoder(step.view[0], step.mask[0])}, {agent: infos[agent]}
        assert step.final_view is not None
        assert step.scores is not None
        assert step.ranks is not None
        observations = {}
        for (seat, agent), view in zip(self._agents.items(), step.final_view[0], strict=True):
            observations[agent] = self._encoder(view, step.mask[0])
            infos[agent] |= {"score": int(step.scores[0, seat]), "rank": int(step.ranks[0, seat])}
        return observations, infos

    def close(self) -> None:
        """Closes the match. A reset opens a new one."""
        self._session.close()
        self._agent = None


class MaskedPPOModule(DefaultPPOTorchRLModule):
    """PPO's default module with action masking: it reads `observation` and allows what `action_mask` allows.

    It takes the `model_config` of the default module. The observation must be a vector, such as `features`.
    """

    def __init__(self, *, observation_space: spaces.Space[Any], **kwargs: Any) -> None:
        """Is called by `RLModuleSpec.build`.

        Raises:
            ValueError: The observation space is not that of a `BoardwireMultiAgentEnv` with `features`.
        """
        parts = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
        if "action_mask" not in parts or not isinstance(parts.get("observation"), spaces.Box):
            space = f"no vector `observation` with an `action_mask` in {observation_space}"
            raise ValueError(f'{space}: set "observation": "features" in env_config')
        super().__init__(observation_space=parts["observation"], **kwargs)
        # A checkpoint rebuilds the module from its original arguments.
        self.observation_space = observation_space

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward(_unmasked(batch), **kwargs), batch)

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return _masked(super()._forward_train(_unmasked(batch), **kwargs), batch)

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Returns the values of positions: `float32[n]`."""
        return super().compute_values(_unmasked(batch), embeddings)


def _unmasked(batch: dict[str, Any]) -> dict[str, Any]:
    return {**batch, Columns.OBS: batch[Columns.OBS]["observation"]}


def _masked(output: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
    logits, legal = output[Columns.ACTION_DIST_INPUTS], batch[Columns.OBS]["action_mask"]
    return {**output, Columns.ACTION_DIST_INPUTS: logits.masked_fill(legal == 0, -1e9)}


def policy(module: RLModule, spec: boardwire.GameSpec) -> boardwire.Policy:
    """Converts a trained module to a policy, for `boardwire.evaluate`, `versus`, or as an opponent.

    It takes the likeliest action. The module is on the CPU and was trained with `features` of the same spec.
    """

    def choose(decisions: boardwire.Decisions) -> NDArray[np.int64]:
        features = torch.from_numpy(spec.features(decisions.view))
        batch = {Columns.OBS: {"observation": features, "action_mask": torch.from_numpy(decisions.mask)}}
        with torch.no_grad():
            logits = module.forward_inference(batch)[Columns.ACTION_DIST_INPUTS]
        return np.asarray(logits.argmax(1), np.int64)

    return choose
