"""A table whose seats are all held by this process, for environments of several agents."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from .._account import Server
from .._types import IllegalActions, Observation, Reward
from ..errors import GONE
from ._over import Over, is_local, over_batch
from ._recovery import advised, unspent
from ._rendering import RENDER_FPS, RENDER_MODES, Renderer
from ._seeding import draw
from ._shared import shared_client
from ._spaces import Lens, MaskPlace, ObservationKind
from ._table_seats import BatchSeats, MatchSeats, TableSeats, TableSettings
from ._warnings import IllegalActionNotice


class Table:
    """All seats of a table, and what they have seen last.

    Attributes:
        agents: The name of each seat's agent, in seat order: `seat_0` and so on.
        metadata: What PettingZoo asks of every environment.
    """

    def __init__(
        self,
        game: str,
        *,
        seats: int | None,
        options: Mapping[str, str] | None,
        observation: ObservationKind,
        mask: MaskPlace,
        reward: Reward,
        illegal_actions: IllegalActions,
        render_mode: str | None,
        address: str | Server | None,
        over: Over | None,
        all_choose: bool = False,
    ) -> None:
        """Describes the match; it is created by the first deal.

        With `all_choose` every agent is asked at every step. The mask of who owes no decision allows action 0
        alone then, which is no choice: many algorithms cannot draw from no action at all.

        Raises:
            ValueError: A mode cannot be.
            ImportError: What draws, or shows a window, is not installed.
            BoardwireError: The game is not served at such a table.
        """
        self.render_mode = render_mode
        self._client = shared_client(address)
        self.spec = self._client.game(game, seats=seats, options=options)
        self.agents = [f"seat_{seat}" for seat in range(self.spec.seats)]
        lenses = [Lens(self.spec, observation, mask) for _ in self.agents]
        self._lenses = dict(zip(self.agents, lenses, strict=True))
        self._mask_in_info = mask == "info"
        self._all_choose = all_choose
        self.metadata = {
            "name": f"{game}_v{self.spec.game.rules_version - 1}",
            "render_modes": list(RENDER_MODES),
            "render_fps": RENDER_FPS,
            # As an AEC environment: seats choose at once, or one of them twice, and not in turn.
            "is_parallelizable": False,
        }
        self._notice = IllegalActionNotice(self.spec, illegal_actions)
        self._random: np.random.Generator | None = None
        seats_type = BatchSeats if over_batch(self._client, over) else MatchSeats
        has_text = seats_type is MatchSeats or is_local(self._client)
        self._renderer = Renderer(self.spec, render_mode, has_text=has_text)
        self._seats: TableSeats = seats_type(self._client, TableSettings(self.spec, reward, illegal_actions))
        self._seen: dict[str, Observation] = {}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The agent's own space of observations."""
        return self._lenses[agent].observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The agent's own space of actions."""
        return self._lenses[agent].action_space

    def deal(self, seed: int | None) -> None:
        """Begins an episode, in another match when that of the last one is gone.

        Its seed comes from a generator that `seed` seeds, and that draws none when the deal fails.
        """
        if self._random is None or seed is not None:
            self._random, _ = seeding.np_random(seed)
        with unspent(self._random):
            self._deal(draw(self._random))

    def _deal(self, seed: int) -> None:
        self._seen = {}
        self._seen = dict(zip(self.agents, self._seats.deal(seed), strict=False))

    def act(self, agent: str, action: Any) -> Observation:
        """Makes the decision of an agent's seat; what the others have seen is out of date then."""
        try:
            seen = self._seats.act(self.agents.index(agent), action)
        except GONE as failure:
            raise advised(failure) from None
        self._seen = {agent: seen}
        if seen.substituted:
            self._notice.give(operator.index(action), f" of {agent}")
        return seen

    def seen(self, agent: str) -> Observation:
        """What the agent's seat may know now."""
        if agent not in self._seen:
            try:
                self._seen[agent] = self._seats.seen(self.agents.index(agent))
            except GONE as failure:
                raise advised(failure) from None
        return self._seen[agent]

    def observation(self, agent: str) -> Any:
        """The same, in the agent's space; its own from call to call."""
        seen = self.seen(agent)
        return self._lenses[agent].observation(seen.view, self._mask(seen))

    def _mask(self, seen: Observation) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = seen.mask.copy()
        if self._all_choose and not mask.any():
            mask[0] = 1
        return mask

    def pending(self, seen: Observation) -> list[str]:
        """The agents who owe a decision."""
        return [self.agents[seat] for seat in seen.pending]

    def info(self, agent: str) -> dict[str, Any]:
        """What is known beside the observation: always the same keys, and the mask in one place alone.

        Wrappers that make arrays of infos expect of them what they expect of observations.
        """
        seen = self.seen(agent)
        none = (0,) * self.spec.seats
        info: dict[str, Any] = {
            "ply": seen.ply,
            "decision": seen.decision,
            "substituted": seen.substituted,
            "scores": np.array(seen.scores or none, dtype=np.int32),
            "ranks": np.array(seen.ranks or none, dtype=np.int32),
        }
        if self._mask_in_info:
            info["action_mask"] = self._mask(seen)
        return info

    def render(self, agents: list[str]) -> NDArray[np.uint8] | str | None:
        """The position as these agents may know it, one below the other, as the render mode says."""
        seats = [self.agents.index(agent) for agent in agents]
        try:
            return self._renderer.render(
                lambda: [(seat, self.seen(self.agents[seat]).view) for seat in seats],
                lambda: "\n\n".join(f"{self.agents[seat]}:\n{self._seats.text(seat)}" for seat in seats),
            )
        except GONE as failure:
            raise advised(failure) from None

    def close(self) -> None:
        """Closes the match. Another may be dealt."""
        self._seats.close()
        self._renderer.close()
        self._seen = {}
