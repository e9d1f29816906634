"""A match in which this process plays all seats, for environments with several agents."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from .. import NOBODY, Address, Batch, BatchStep, GameSpec, IllegalActions, Reward, shared_client
from .._types import SUBSTITUTED, TERMINATED, TRUNCATED, unpacked_mask
from ..errors import IllegalAction
from ._common import IllegalActionNotice, Reconstructed, one_seed
from ._rendering import RENDERING, Renderer
from ._session import Session
from ._spaces import MaskPlace, ObservationEncoder, ObservationKind


class Seen(NamedTuple):
    """What a seat sees: its view, `uint8[bytes]`, and its action mask, `int8[actions]`."""

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]


class Table(Session):
    """A batch of one environment whose owner plays all seats and may see every seat's view.

    Attributes:
        pending: The agents that owe a decision, in seat order.
        decisions: How many decisions each agent has made in the episode.
        substituted: Whether the last action of each agent was illegal, and another was played.
        terminated: Whether the episode has ended by the rules or by a forfeit.
        truncated: Whether the episode was cut off at its maximum length.
    """

    def __init__(self, spec: GameSpec, agents: list[str], *, all_choose: bool) -> None:
        """Configures the session; the agents are in seat order.

        With `all_choose`, every agent gives an action at every step. The mask of an agent that owes no
        decision then allows only action 0, because many algorithms cannot sample from an empty mask.
        """
        super().__init__(spec)
        self._agents = agents
        self._all_choose = all_choose

    def deal(self, open_batch: Callable[[], Batch], random: np.random.Generator) -> BatchStep:
        """Begins an episode."""
        step = super().deal(open_batch, random)
        self.decisions = dict.fromkeys(self._agents, 0)
        self.substituted = dict.fromkeys(self._agents, False)
        self._read(step)
        return step

    def play(self, action: SupportsIndex) -> bool:
        """Plays an action of the first pending agent; returns whether it was illegal and was replaced."""
        agent = self.pending[0]
        step = self.act(action)
        self.decisions[agent] += 1
        self.substituted[agent] = bool(step.flags[0] & SUBSTITUTED)
        self._read(step)
        return self.substituted[agent]

    def _read(self, step: BatchStep) -> None:
        """Reads the values that do not depend on the seat."""
        assert step.oracle_mask is not None
        seats = len(self._agents)
        self.terminated, self.truncated = bool(step.flags[0] & TERMINATED), bool(step.flags[0] & TRUNCATED)
        # The rows are clockwise from the lowest seat that owes a decision. At the end all are 0.
        first = int(step.seat[0]) % seats
        self._masks = np.roll(unpacked_mask(step.oracle_mask[0], step.action_count), first, axis=0)
        due = self._masks.any(axis=1)
        self.pending = [self._agents[seat] for seat in due.nonzero()[0]]
        if self._all_choose:
            self._masks[~due, 0] = 1

    @property
    def over(self) -> bool:
        """Whether the episode has terminated or was truncated."""
        return self.terminated or self.truncated

    def seen(self, agent: str) -> Seen:
        """Returns what an agent sees; the arrays are shared by all calls of a step."""
        step, seat = self.last(), self._agents.index(agent)
        if step.seat[0] == NOBODY:
            assert step.final_view is not None
            return Seen(step.final_view[0, seat], self._masks[seat])
        assert step.oracle is not None
        return Seen(step.oracle[0, seat - int(step.seat[0])], self._masks[seat])


class TableEnv(Reconstructed):
    """The parts of both PettingZoo environments.

    Attributes:
        metadata: The metadata that PettingZoo requires.
    """

    #: Whether all agents give an action at every step.
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
            max_cycles: When agents are truncated, as the class describes; None for no limit.
            render_mode: How `render` shows the position: `rgb_array` returns a picture, `uint8[height, 960,
                3]`; `human` shows the picture in a window, also after each reset and step; `ansi` returns
                text.
            address: The server's address, or a `boardwire.Address` if it requires TLS or a token. By default
                all environments of this process share a private server; `local:` is an engine in the process.

        Raises:
            ValueError: `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
        """
        super().__init__()
        client = shared_client(address)
        spec = self.game_spec = client.game(game, seats=seats, options=options)
        self.render_mode = render_mode
        self.max_cycles = max_cycles
        self.metadata = {
            **RENDERING,
            "name": f"{game}_v{spec.rules_version - 1}",
            # PettingZoo must not convert it: seats decide simultaneously, or one twice in a row, not in turn.
            "is_parallelizable": False,
        }
        self.possible_agents = [f"seat_{seat}" for seat in range(spec.seats)]
        self.agents: list[str] = []
        encoders = [ObservationEncoder(spec, observation, mask) for _ in self.possible_agents]
        self._encoders = dict(zip(self.possible_agents, encoders, strict=True))
        self._mask_in_info = mask == "info"
        self._illegal_actions = illegal_actions
        self._notice = IllegalActionNotice(spec, illegal_actions)
        self._random: np.random.Generator | None = None
        self._renderer = Renderer(spec, render_mode)
        self._open = partial(
            client.open_batch,
            game,
            environments=1,
            seats=spec.seats,
            options=spec.options,
            reward=reward,
            autoreset="disabled",
            illegal_actions=illegal_actions,
            columns=["scores", "final_views", "oracle"],
        )
        self._table = Table(spec, self.possible_agents, all_choose=self.all_choose)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's observation space, always the same object."""
        return self._encoders[agent].observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's action space, always the same object."""
        return self._encoders[agent].action_space

    def _deal(self, seed: SupportsIndex | None) -> None:
        """Begins an episode, whose seed is drawn from a generator, which `seed` seeds."""
        if self._random is None or seed is not None:
            self._random, _ = seeding.np_random(one_seed(seed))
        self.agents = []
        self._table.deal(self._open, self._random)
        self.agents = list(self.possible_agents)

    def _play(self, action: SupportsIndex) -> None:
        """Plays an action of the first pending agent."""
        agent = self._table.pending[0]
        if self._table.play(action):
            self._notice.give(action, f" of {agent}")

    def _check(self, agent: str, action: Any) -> None:
        """Checks an action before any action of the step is played.

        Raises:
            IllegalAction: The action does not exist, or it is illegal and `illegal_actions` is `reject`.
        """
        index, mask = operator.index(action), self._table.seen(agent).mask
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

    def _reward(self, agent: str) -> float:
        return float(self._table.last().reward[0, self.possible_agents.index(agent)])

    def _observation(self, agent: str) -> Any:
        """Returns the current observation in the agent's space, in new arrays at each call."""
        return self._encoders[agent](*self._table.seen(agent))

    def _info(self, agent: str) -> dict[str, Any]:
        """Returns the agent's info: always the same keys, with the mask only if the observation has none.

        Wrappers that turn infos into arrays require the same keys at every step, as in observations.
        """
        table, step = self._table, self._table.last()
        none = np.zeros((1, len(self.possible_agents)), np.int32)
        assert step.scores is not None
        assert step.ranks is not None
        info: dict[str, Any] = {
            "ply": int(step.ply[0]),
            "decision": table.decisions[agent],
            "substituted": table.substituted[agent],
            "scores": np.array((step.scores if table.over else none)[0], np.int32),
            "ranks": np.array((step.ranks if table.over else none)[0], np.int32),
        }
        if self._mask_in_info:
            info["action_mask"] = table.seen(agent).mask.copy()
        return info

    def _render(self, agents: list[str]) -> NDArray[np.uint8] | str | None:
        """Renders the position as each of the agents sees it, one picture or text below the other."""
        table = self._table
        seats = {self.possible_agents.index(agent): agent for agent in agents}
        return self._renderer.render(
            {seat: table.seen(agent).view for seat, agent in seats.items()},
            lambda: "\n\n".join(f"{agent}:\n{table.text(seat)}" for seat, agent in seats.items()),
        )

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._table.close()
        self._renderer.close()
        self.agents = []
