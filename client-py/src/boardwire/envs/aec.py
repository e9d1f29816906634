"""All seats of a match as a PettingZoo environment in which agents act one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from ._table import TableEnv


class BoardwireAECEnv(TableEnv, AECEnv[str, Any, Any]):
    """A match whose seats are all agents of this process, named `seat_0` and so on.

    The selected agent is the lowest that owes a decision, so its mask is never empty. If several agents owe
    a decision at the same time, later agents do not see the earlier choices. Rewards come at the end.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. The selected agent's info has
    `ply`, `decision`, `substituted`, and `scores` and `ranks` (`int32[seats]`, 0 before the end). At the end
    every agent's info has them. With `mask="info"` the mask is in the info instead.

    With `max_cycles`, an agent that has made that many decisions is truncated, and the others continue. The
    environment plays the lowest legal action for a truncated agent until the others have finished too.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode at any time, in a new batch if the previous one is lost.

        Args:
            seed: Determines this episode and all later ones.
            options: Ignored; the game's options are fixed when the environment is made.
        """
        self._deal(seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._select()

    def observe(self, agent: str) -> Any:
        """Returns the agent's current observation, in new arrays at each call."""
        return self._observation(agent)

    def step(self, action: Any) -> None:
        """Plays an action for the selected agent; the action is None if the agent's episode is over.

        Raises:
            ResetNeeded: The environment was not reset.
            IllegalAction: The action is illegal and `illegal_actions` is `reject`. Nothing was played.
        """
        table = self._table
        table.last()
        if not self.agents:
            return
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._play(action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        spent = self.max_cycles is not None and table.decisions[agent] >= self.max_cycles
        playing = [other for other in self.agents if other != agent or not spent]
        # The truncated agents' decisions, up to the next decision of another agent.
        while playing and not table.over and (lowest := table.pending[0]) not in playing:
            self._play(int(table.seen(lowest).mask.argmax()))
        if table.over:
            self.rewards = {other: self._reward(other) for other in self.agents}
            self.terminations = dict.fromkeys(self.agents, table.terminated)
            self.truncations = dict.fromkeys(self.agents, table.truncated)
        elif spent:
            self.truncations[agent] = True
        self._accumulate_rewards()
        self._select()

    def _select(self) -> None:
        """Selects first the agents whose episode has just ended, then the lowest that owes a decision."""
        over = [agent for agent in self.agents if self.terminations[agent] or self.truncations[agent]]
        due = [agent for agent in self._table.pending if agent in self.agents and agent not in over]
        self.agent_selection = due[0] if due else self.agents[0]
        shown = (*over, self.agent_selection)
        self.infos = {agent: self._info(agent) if agent in shown else {} for agent in self.agents}
        self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as the selected agent sees it; returns None without a render mode."""
        self._table.last()
        return self._render([self.agent_selection])
