"""PettingZoo environments for every game that a Boardwire server serves. Needs `boardwire[pettingzoo]`.

In `parallel_env("faraway", seats=3)`, all agents that owe a decision act simultaneously. In
`aec_env("faraway", seats=3)`, they act one after the other. Both play the same match:
the order of hidden choices has no effect.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv

from . import NOBODY, Address, IllegalActions, Reward, shared_client
from ._types import SUBSTITUTED, TERMINATED, TRUNCATED, unpacked_mask
from .envs._common import Reconstructed
from .envs._rendering import RENDERING, Renderer
from .envs._session import Session
from .envs._spaces import MaskPlace, ObservationEncoder, ObservationKind
from .errors import IllegalAction

__all__ = ["BoardwireAECEnv", "BoardwireParallelEnv", "aec_env", "parallel_env"]


class TableEnv(Reconstructed):
    """The parts of both environments: a batch of one match, whose seats are all agents of this process.

    Attributes:
        metadata: The metadata that PettingZoo requires.
        game_spec: The spec of the table.
    """

    #: Whether every agent gives an action at every step. The mask of an agent that owes no decision then
    #: allows only action 0, because many algorithms cannot sample from an empty mask.
    all_choose = False

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
        address: str | Address | None = None,
    ) -> None:
        """Loads the game's spec and builds the spaces; the first reset opens the batch.

        `max_cycles` is the number of steps after which agents are truncated, as the class describes; None
        means no limit. With `mask="info"` the action mask is in the infos instead of the observations. All
        other arguments and errors are those of `boardwire.envs.BoardwireEnv`.
        """
        super().__init__()
        client = shared_client(address)
        spec = self.game_spec = client.game(game, seats=seats, options=options)
        self.render_mode = render_mode
        self.max_cycles = max_cycles
        self.metadata = {
            **RENDERING,
            "name": f"{game}_v{spec.rules_version - 1}",
            # PettingZoo must not convert it to turns: several seats decide simultaneously, and one seat may
            # decide twice before the others.
            "is_parallelizable": False,
        }
        self.possible_agents = [f"seat_{seat}" for seat in range(spec.seats)]
        self.agents: list[str] = []
        encoders = [ObservationEncoder(spec, observation, mask) for _ in self.possible_agents]
        self._encoders = dict(zip(self.possible_agents, encoders, strict=True))
        self._mask_in_info = mask == "info"
        self._illegal_actions = illegal_actions
        self._random: np.random.Generator | None = None
        self._renderer = Renderer(spec, render_mode)
        self._session = Session(
            client.open_batch,
            spec,
            environments=1,
            reward=reward,
            autoreset="disabled",
            illegal_actions=illegal_actions,
            columns=["scores", "final_views", "oracle"],
        )

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's observation space, always the same object."""
        return self._encoders[agent].observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's action space, always the same object."""
        return self._encoders[agent].action_space

    def _begin(self, seed: SupportsIndex | None) -> None:
        """Begins an episode, whose seed is drawn from a generator, which `seed` seeds."""
        if self._random is None or seed is not None:
            self._random, _ = seeding.np_random(None if seed is None else operator.index(seed))
        self.agents = []
        self._session.reset_one(self._random)
        self._decisions = dict.fromkeys(self.possible_agents, 0)
        self._substituted = dict.fromkeys(self.possible_agents, False)
        self._read_step()
        self.agents = list(self.possible_agents)

    def _play(self, agent: str, action: SupportsIndex) -> None:
        """Plays an action of the agent, which is the first that owes a decision."""
        assert agent == self._pending[0], f"{agent} acts before {self._pending[0]}"
        step = self._session.act(action)
        self._decisions[agent] += 1
        self._substituted[agent] = bool(step.flags[0] & SUBSTITUTED)
        self._read_step()
        if self._substituted[agent]:
            self._session.warn(action, agent)

    def _read_step(self) -> None:
        """Reads the values of a step that do not depend on the agent."""
        step = self._session.last_step()
        assert step.oracle_mask is not None
        flags, seats = int(step.flags[0]), len(self.possible_agents)
        self._terminated, self._truncated = bool(flags & TERMINATED), bool(flags & TRUNCATED)
        self._over = self._terminated or self._truncated
        # The rows are clockwise from the lowest seat that owes a decision. At the end all are 0.
        first = int(step.seat[0]) % seats
        masks = np.roll(unpacked_mask(step.oracle_mask[0], step.action_count), first, axis=0)
        owes = masks.any(axis=1)
        # The agents that owe a decision, in seat order.
        self._pending = [self.possible_agents[seat] for seat in owes.nonzero()[0]]
        if self.all_choose:
            masks[~owes, 0] = True
        self._masks = dict(zip(self.possible_agents, masks, strict=True))

    def _view(self, agent: str) -> NDArray[np.uint8]:
        step, seat = self._session.last_step(), self.possible_agents.index(agent)
        if step.seat[0] == NOBODY:
            assert step.final_view is not None
            view: NDArray[np.uint8] = step.final_view[0, seat]
            return view
        assert step.oracle is not None
        view = step.oracle[0, seat - int(step.seat[0])]
        return view

    def _reward(self, agent: str) -> float:
        return float(self._session.last_step().reward[0, self.possible_agents.index(agent)])

    def _observation(self, agent: str) -> Any:
        """Returns the current observation in the agent's space, in new arrays at each call."""
        return self._encoders[agent](self._view(agent), self._masks[agent])

    def _info(self, agent: str) -> dict[str, Any]:
        """Returns the agent's info: always the same keys, with the mask only if the observation has none.

        Wrappers that turn infos into arrays require the same keys at every step, as in observations.
        """
        step = self._session.last_step()
        none = np.zeros((1, len(self.possible_agents)), np.int32)
        assert step.scores is not None
        assert step.ranks is not None
        info: dict[str, Any] = {
            "ply": int(step.ply[0]),
            "decision": self._decisions[agent],
            "substituted": self._substituted[agent],
            "scores": np.array((step.scores if self._over else none)[0], np.int32),
            "ranks": np.array((step.ranks if self._over else none)[0], np.int32),
        }
        if self._mask_in_info:
            # Gymnasium samples from masks of `int8`.
            info["action_mask"] = self._masks[agent].astype(np.int8)
        return info

    def _render(self, agents: list[str]) -> NDArray[np.uint8] | str | None:
        """Renders the position as each of the agents sees it, one picture or text below the other."""
        if self.render_mode is None:
            return None
        seats = {self.possible_agents.index(agent): agent for agent in agents}
        return self._renderer.render(
            {seat: self._view(agent) for seat, agent in seats.items()},
            lambda: "\n\n".join(f"{agent}:\n{self._session.text(seat)}" for seat, agent in seats.items()),
        )

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._session.close()
        self._renderer.close()
        self.agents = []


class BoardwireAECEnv(TableEnv, AECEnv[str, Any, Any]):
    """A match whose seats are all agents of this process, named `seat_0` and so on, and act in turn.

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
            options: Ignored; the game's options are fixed when the environment is created.
        """
        self._begin(seed)
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
            ResetNeeded: The environment was not reset, or the last step failed.
            IllegalAction: The action is illegal and `illegal_actions` is `reject`. Nothing was played.
        """
        self._session.last_step()
        if not self.agents:
            return
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._play(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        is_cut = self.max_cycles is not None and self._decisions[agent] >= self.max_cycles
        playing = [other for other in self.agents if other != agent or not is_cut]
        # The truncated agents' decisions, up to the next decision of another agent.
        while playing and not self._over and (lowest := self._pending[0]) not in playing:
            self._play(lowest, int(self._masks[lowest].argmax()))
        if self._over:
            self.rewards = {other: self._reward(other) for other in self.agents}
            self.terminations = dict.fromkeys(self.agents, self._terminated)
            self.truncations = dict.fromkeys(self.agents, self._truncated)
        elif is_cut:
            self.truncations[agent] = True
        self._accumulate_rewards()
        self._select()

    def _select(self) -> None:
        """Selects first the agents whose episode has just ended, then the lowest that owes a decision."""
        ended = [agent for agent in self.agents if self.terminations[agent] or self.truncations[agent]]
        due = [agent for agent in self._pending if agent in self.agents and agent not in ended]
        self.agent_selection = due[0] if due else self.agents[0]
        informed = (*ended, self.agent_selection)
        self.infos = {agent: self._info(agent) if agent in informed else {} for agent in self.agents}
        self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as the selected agent sees it; returns None without a render mode."""
        if self.render_mode is None:
            return None
        self._session.last_step()
        return self._render([self.agent_selection])


class BoardwireParallelEnv(TableEnv, ParallelEnv[str, Any, Any]):
    """A match whose seats are all agents of this process, named `seat_0` and so on, and act simultaneously.

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
        """Begins an episode, as `BoardwireAECEnv.reset` does; returns the observations and infos."""
        self._begin(seed)
        self._cycles = 0
        return self._result()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays one action for each agent that owes a decision.

        Args:
            actions: An action for each agent that owes a decision; actions of other agents are ignored.

        Returns:
            Observations, rewards, terminations, truncations and infos; all empty if the episode was over.

        Raises:
            ResetNeeded: The environment was not reset, or the last step failed.
            ValueError: An agent owes a decision and has no action. Nothing was played.
            IllegalAction: An action does not exist, or it is illegal and `illegal_actions` is `reject`.
                Nothing was played.
        """
        self._session.last_step()
        if not self.agents:
            return {}, {}, {}, {}, {}
        due = self._pending
        if missing := [agent for agent in due if agent not in actions]:
            raise ValueError(f"missing actions of {', '.join(missing)}: these agents owe a decision")
        for agent in due:
            self._check(agent, actions[agent])
        for agent in due:
            self._play(agent, actions[agent])
            # An illegal action may end the episode before the other actions are played.
            if self._over:
                break
        self._cycles += 1
        observations, infos = self._result()
        rewards = {agent: self._reward(agent) for agent in self.agents}
        terminations = dict.fromkeys(self.agents, self._terminated)
        is_cut = self.max_cycles is not None and self._cycles >= self.max_cycles
        truncations = dict.fromkeys(self.agents, self._truncated or (is_cut and not self._over))
        if self._over or is_cut:
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def _check(self, agent: str, action: Any) -> None:
        """Checks an action before any action of the step is played.

        Raises:
            IllegalAction: The action does not exist, or it is illegal and `illegal_actions` is `reject`.
        """
        index, mask = operator.index(action), self._masks[agent]
        if not 0 <= index < len(mask):
            raise IllegalAction(
                f"{agent}: there is no action {index}; action indices are below {len(mask)}",
                reason="ACTION_OUT_OF_RANGE",
            )
        if self._illegal_actions == "reject" and not mask[index]:
            raise IllegalAction(
                f"{agent}: action {index} is not legal now: the mask has the legal actions",
                code="FAILED_PRECONDITION",
                reason="ACTION_ILLEGAL",
            )

    def _result(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Returns the observations and infos, and shows the position in the window, if any."""
        observations = {agent: self._observation(agent) for agent in self.agents}
        infos = {agent: {**self._info(agent), "pending": agent in self._pending} for agent in self.agents}
        if self.render_mode == "human":
            self.render()
        return observations, infos

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as each agent sees it, one below the other; None without a render mode."""
        return self._render(self.possible_agents)


aec_env = BoardwireAECEnv
parallel_env = BoardwireParallelEnv
