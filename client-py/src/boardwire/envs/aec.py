"""All seats of a table as a PettingZoo environment in which they choose one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from .._access import Server
from .._types import IllegalActions, Observation, Reward
from ._common import Remade
from ._spaces import MaskPlace, ObservationKind
from ._table import Table


class BoardwireAECEnv(Remade, AECEnv[str, Any, Any]):
    """A table whose seats are all agents of this process, `seat_0` and so on.

    The agent selected is the lowest who owes a decision, so its mask is never empty. Where several owe one at
    the same time, those who choose later see nothing of what was chosen before. Rewards come at the end.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. The info of the agent selected has
    `ply`, `decision`, `substituted`, and `scores` and `ranks`, `int32[seats]`, 0 before the end; at the end
    every agent's has them. With `mask="info"` the mask is there instead.

    With `max_cycles`, an agent that has made so many decisions is truncated, the others go on, and the lowest
    legal action is played for its seat until they have made theirs.
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
            max_cycles: An agent is truncated after so many decisions of its own.
            render_mode: What `render` does with the position as the agent selected may know it: `rgb_array`
                gives its picture, `uint8[height, 960, 3]`; `human` shows that in a window, after each step
                too; `ansi` gives it as text.
            address: The server, as a `boardwire.Server` where it asks for TLS or a token; a private one,
                shared by the environments of this process, when left out; `local:` for an engine in it.

        Raises:
            ValueError: A mode cannot be.
            ImportError: What shows a window is not installed.
            BoardwireError: The game is not served at such a table.
        """
        super().__init__()
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
        )
        self.game_spec = self._table.spec
        self.metadata = self._table.metadata
        self.render_mode = render_mode
        self.possible_agents = list(self._table.agents)
        self.agents: list[str] = []
        self.max_cycles = max_cycles
        self._decisions: dict[str, int] = {}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The agent's space of observations, always the same object."""
        return self._table.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The agent's space of actions, always the same object."""
        return self._table.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode, at any time; in another batch when that of the last one is gone.

        Args:
            seed: Fixes all episodes from there on.
            options: Ignored; the game's options are fixed when the environment is made.
        """
        self._table.deal(seed)
        agents = self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        self._decisions = dict.fromkeys(agents, 0)
        self._skip_agent_selection = None
        self._select(self._table.seen(agents[0]))
        self._show()

    def observe(self, agent: str) -> Any:
        """What the agent may know now: its own arrays from call to call."""
        self._check_reset()
        return self._table.observation(agent)

    def step(self, action: Any) -> None:
        """Makes the decision of the agent selected; None for one whose episode is over.

        Raises:
            ResetNeeded: There was no reset.
            IllegalAction: The action is illegal, and `illegal_actions` is `reject`; nothing has been played.
        """
        self._check_reset()
        if not self.agents:
            return
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        seen = self._table.act(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._decisions[agent] += 1
        spent = self.max_cycles is not None and self._decisions[agent] >= self.max_cycles
        playing = [other for other in self.agents if other != agent or not spent]
        seen = self._play_for_those_who_left(seen, playing)
        if seen.over:
            self._end()
        elif spent:
            self.truncations[agent] = True
        self._accumulate_rewards()
        self._select(seen)
        self._show()

    def _play_for_those_who_left(self, seen: Observation, playing: list[str]) -> Observation:
        """Plays until the lowest who owes a decision is one of those playing, or the episode is over."""
        while playing and not seen.over:
            lowest = self._table.pending(seen)[0]
            if lowest in playing:
                break
            seen = self._table.act(lowest, int(self._table.seen(lowest).mask.argmax()))
        return seen

    def _end(self) -> None:
        for agent in self.agents:
            last = self._table.seen(agent)
            self.rewards[agent] = last.reward
            self.terminations[agent] = last.terminated
            self.truncations[agent] = last.truncated

    def _select(self, seen: Observation) -> None:
        """Selects the lowest agent who owes a decision, but first those whose episode has just ended."""
        live = [agent for agent in self.agents if not (self.terminations[agent] or self.truncations[agent])]
        due = [agent for agent in self._table.pending(seen) if agent in live]
        self.agent_selection = due[0] if due else self.agents[0]
        over = [agent for agent in self.agents if agent not in live]
        self.infos = {
            agent: self._table.info(agent) if agent in (*over, self.agent_selection) else {}
            for agent in self.agents
        }
        self._deads_step_first()

    def _check_reset(self) -> None:
        if not self._decisions:
            raise gymnasium.error.ResetNeeded("reset the environment first")

    def render(self) -> NDArray[np.uint8] | str | None:
        """The position as the agent selected may know it; none without a render mode."""
        self._check_reset()
        return self._table.render([self.agent_selection])

    def _show(self) -> None:
        """Shows people the position that has come to be."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._table.close()
        self.agents, self._decisions = [], {}
