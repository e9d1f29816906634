"""All seats of a table as a PettingZoo environment in which they choose at the same time."""

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
    """A table whose seats are all agents of this process, `seat_0` and so on.

    A step takes the decisions of all agents who owe one, each made without knowing the others', as at the
    table. Who owes none, in phases that are played in turn, waits: its mask allows action 0 alone, so that
    there is something to draw and nothing to learn, and whatever action it gives is ignored. All agents stay
    until the episode is over. Rewards come then.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. Infos have `pending` (whether the
    agent owes a decision), `ply`, `decision`, `substituted`, and `scores` and `ranks`, `int32[seats]`, 0
    before the end. With `mask="info"` the mask is there instead.
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
        """Describes the table; its batch is opened by the first reset.

        Args:
            game: The game's id.
            seats: How many seats; the fewest the game is played by when left out.
            options: The game's options.
            observation: `features` for one `float32` vector, `ids` for the view by named field.
            mask: `info` to show the legal mask in the infos instead.
            reward: What agents are rewarded for, at the end of the episode.
            illegal_actions: What happens to illegal actions. By default a legal one, drawn from the
                episode's seed, is played instead, since many checkers and wrappers know no masks; the first
                one is warned of by a `boardwire.envs.IllegalActionWarning`.
            max_cycles: After so many steps the episode is truncated.
            render_mode: What `render` does with the position as each agent may know it: `rgb_array`
                gives its picture, `uint8[height, 960, 3]`; `human` shows that in a window, after each step
                too; `ansi` gives it as text.
            address: The server, as a `boardwire.Server` where it asks for TLS or a token; a private one,
                shared by the environments of this process, when left out; `local:` for an engine in it.

        Raises:
            ValueError: A mode cannot be.
            ImportError: What shows a window is not installed.
            BoardwireError: The game is not served at such a table.
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
        """The agent's space of observations, always the same object."""
        return self._table.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The agent's space of actions, always the same object."""
        return self._table.action_space(agent)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins an episode, at any time; in another batch when that of the last one is gone.

        Args:
            seed: Fixes all episodes from there on.
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
        """Makes the decisions that are due.

        Args:
            actions: An action for each agent who owes a decision; those of others are ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos; empty when the episode was over.

        Raises:
            ResetNeeded: There was no reset.
            ValueError: An agent owes a decision and gives none; nothing has been played.
            IllegalAction: There is no such action, or it is illegal and `illegal_actions` is `reject`; no
                action has been played.
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
            # An illegal action may end the episode before the others have chosen.
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
        """The position as each agent may know it, one after the other; none without a render mode."""
        if self._cycles < 0:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._table.render(self.possible_agents)

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._table.close()
        self.agents, self._cycles = [], -1
