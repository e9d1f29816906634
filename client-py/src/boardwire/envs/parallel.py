"""All seats of a match as a PettingZoo environment in which agents act at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from .._access import Server
from .._types import IllegalActions, Reward
from ._common import Remade
from ._spaces import MaskPlace, ObservationKind
from ._table import Table


class BoardwireParallelEnv(Remade, ParallelEnv[str, Any, Any]):
    """A match whose seats are all agents of this process, named `seat_0` and so on.

    A step plays one action for each agent that owes a decision; no agent sees the others' choices before it
    acts. In phases that are played in turn, the other agents wait. A waiting agent's mask allows only action
    0, so that a policy can sample but has nothing to learn; the environment ignores the action. All agents
    stay until the episode is over, and rewards come then.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. Infos have `pending` (whether the
    agent owes a decision), `ply`, `decision`, `substituted`, and `scores` and `ranks` (`int32[seats]`, 0
    before the end). With `mask="info"` the mask is in the infos instead.
    """

    def __init__(
        self,
        game: str,
        *,
        seats: int | None = None,
        options: Mapping[str, str] | None = None,
        observation: ObservationKind = "features",
        mask: MaskPlace = "observation",
        reward: Reward = "rank",
        illegal_actions: IllegalActions = "seeded_legal",
        max_cycles: int | None = None,
        render_mode: str | None = None,
        address: str | Server | None = None,
    ) -> None:
        """Loads the game's spec and builds the spaces; the first reset opens the batch.

        Args:
            game: The game's id.
            seats: The number of seats; by default the fewest that the game allows.
            options: The game's options.
            observation: `features` for one `float32` vector, `ids` for the named fields of the view.
            mask: `observation`, or `info` to have the action mask in the infos instead.
            reward: What agents are rewarded for at the end of the episode.
            illegal_actions: How illegal actions are treated. By default a legal action, drawn from the
                episode's seed, replaces them, because many checkers and wrappers ignore masks. The first
                replacement causes a `boardwire.envs.IllegalActionWarning`.
            max_cycles: The number of steps after which the episode is truncated; None for no limit.
            render_mode: How `render` shows the position as each agent sees it: `rgb_array`
                returns a picture, `uint8[height, 960, 3]`; `human` shows the picture in a window, also after
                each reset and step; `ansi` returns text.
            address: The server's address, or a `boardwire.Server` if it requires TLS or a token. By default
                all environments of this process share a private server; `local:` is an engine in the process.

        Raises:
            ValueError: `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
        """
        self._table = Table(
            game,
            seats=seats,
            options=options,
            observation=observation,
            mask=mask,
            reward=reward,
            illegal_actions=illegal_actions,
            render_mode=render_mode,
            address=address,
            all_choose=True,
        )
        self.game_spec = self._table.spec
        self.metadata = self._table.metadata
        self.render_mode = render_mode
        self.possible_agents = list(self._table.agents)
        self.agents: list[str] = []
        self.max_cycles = max_cycles
        self._cycles = -1

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's observation space, always the same object."""
        return self._table.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's action space, always the same object."""
        return self._table.action_space(agent)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins an episode at any time, in a new batch if the previous one is lost.

        Args:
            seed: Determines this episode and all later ones.
            options: Ignored; the game's options are fixed when the environment is made.

        Returns:
            The observations and the infos.
        """
        self._table.deal(seed)
        self.agents = list(self.possible_agents)
        self._cycles = 0
        return self._shown()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays one action for each agent that owes a decision.

        Args:
            actions: An action for each agent that owes a decision; actions of other agents are ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos; all empty if the episode was over.

        Raises:
            ResetNeeded: The environment was not reset.
            ValueError: An agent owes a decision and has no action. Nothing was played.
            IllegalAction: An action does not exist, or it is illegal and `illegal_actions` is `reject`.
                Nothing was played.
        """
        if self._cycles < 0:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        if not self.agents:
            return {}, {}, {}, {}, {}
        table = self._table
        due = table.pending(table.seen(self.agents[0]))
        if missing := [agent for agent in due if agent not in actions]:
            raise ValueError(f"{', '.join(missing)} owes a decision and has no action")
        table.check({agent: actions[agent] for agent in due})
        for agent in due:
            # An illegal action may end the episode before the other actions are played.
            if table.act(agent, actions[agent]).over:
                break
        self._cycles += 1
        seen = {agent: table.seen(agent) for agent in self.agents}
        rewards = {agent: seen[agent].reward for agent in self.agents}
        terminations = {agent: seen[agent].terminated for agent in self.agents}
        cut = self.max_cycles is not None and self._cycles >= self.max_cycles
        truncations = {
            agent: seen[agent].truncated or (cut and not seen[agent].over) for agent in self.agents
        }
        observations, infos = self._shown()
        if any(terminations.values()) or any(truncations.values()):
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def _shown(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        table = self._table
        observations = {agent: table.observation(agent) for agent in self.agents}
        infos = {agent: table.info(agent) for agent in self.agents}
        due = table.pending(table.seen(self.agents[0]))
        for agent, info in infos.items():
            info["pending"] = agent in due
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as each agent sees it, one below the other; None without a render mode."""
        if self._cycles < 0:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._table.render(self.possible_agents)

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._table.close()
        self.agents, self._cycles = [], -1
