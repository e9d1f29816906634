"""All seats of a match as a PettingZoo environment in which agents act one after the other."""

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
    """A match whose seats are all agents of this process, named `seat_0` and so on.

    The selected agent is the lowest that owes a decision, so its mask is never empty. If several agents owe
    a decision at the same time, later agents do not see the earlier choices. Rewards come at the end.

    Observations are `{"observation": ..., "action_mask": int8[actions]}`. The selected agent's info has
    `ply`, `decision`, `substituted`, and `scores` and `ranks` (`int32[seats]`, 0 before the end). At the end
    every agent's info has them. With `mask="info"` the mask is in the info instead.

    With `max_cycles`, an agent that has made that many decisions is truncated, and the others continue. The
    environment plays the lowest legal action for a truncated agent until the others have finished too.
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
            max_cycles: The number of its own decisions after which an agent is truncated; None for no limit.
            render_mode: How `render` shows the position as the selected agent sees it: `rgb_array`
                returns a picture, `uint8[height, 960, 3]`; `human` shows the picture in a window, also after
                each reset and step; `ansi` returns text.
            address: The server's address, or a `boardwire.Server` if it requires TLS or a token. By default
                all environments of this process share a private server; `local:` is an engine in the process.

        Raises:
            ValueError: `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
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
        """Returns the agent's observation space, always the same object."""
        return self._table.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's action space, always the same object."""
        return self._table.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode at any time, in a new batch if the previous one is lost.

        Args:
            seed: Determines this episode and all later ones.
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
        """Returns the agent's current observation, in new arrays at each call."""
        self._check_reset()
        return self._table.observation(agent)

    def step(self, action: Any) -> None:
        """Plays an action for the selected agent; the action is None if the agent's episode is over.

        Raises:
            ResetNeeded: The environment was not reset.
            IllegalAction: The action is illegal and `illegal_actions` is `reject`. Nothing was played.
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
        """Plays until an agent in `playing` is the lowest that owes a decision, or the episode is over."""
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
        """Selects first the agents whose episode has just ended, then the lowest that owes a decision."""
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
        """Renders the position as the selected agent sees it; returns None without a render mode."""
        self._check_reset()
        return self._table.render([self.agent_selection])

    def _show(self) -> None:
        """Shows the new position in the window, if the render mode is `human`."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._table.close()
        self.agents, self._decisions = [], {}
