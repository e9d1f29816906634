"""All seats of a match as a PettingZoo environment in which agents act at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ._table import TableEnv


class BoardwireParallelEnv(TableEnv, ParallelEnv[str, Any, Any]):
    """A match whose seats are all agents of this process, named `seat_0` and so on.

    A step plays one action for each agent that owes a decision; no agent sees the others' choices before it
    acts. In phases that are played in turn, the other agents wait. A waiting agent's mask allows only action
    0, so that a policy can sample but has nothing to learn; the environment ignores the action. All agents
    stay until the episode is over, and rewards come then. With `max_cycles`, the episode is truncated after
    that many steps.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. Infos have `pending` (whether the
    agent owes a decision), `ply`, `decision`, `substituted`, and `scores` and `ranks` (`int32[seats]`, 0
    before the end). With `mask="info"` the mask is in the infos instead.
    """

    all_choose = True

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
        self._deal(seed)
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
        table = self._table
        table.last()
        if not self.agents:
            return {}, {}, {}, {}, {}
        due = table.pending
        if missing := [agent for agent in due if agent not in actions]:
            raise ValueError(f"missing actions of {', '.join(missing)}: these agents owe a decision")
        for agent in due:
            self._check(agent, actions[agent])
        for agent in due:
            self._play(actions[agent])
            # An illegal action may end the episode before the other actions are played.
            if table.over:
                break
        self._cycles += 1
        observations, infos = self._shown()
        rewards = {agent: self._reward(agent) for agent in self.agents}
        terminations = dict.fromkeys(self.agents, table.terminated)
        cut = self.max_cycles is not None and self._cycles >= self.max_cycles
        truncations = dict.fromkeys(self.agents, table.truncated or (cut and not table.over))
        if table.over or cut:
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def _shown(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Returns the observations and infos, and shows the position in the window, if any."""
        pending = self._table.pending
        observations = {agent: self._observation(agent) for agent in self.agents}
        infos = {agent: {**self._info(agent), "pending": agent in pending} for agent in self.agents}
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as each agent sees it, one below the other; None without a render mode."""
        return self._render(self.possible_agents)
