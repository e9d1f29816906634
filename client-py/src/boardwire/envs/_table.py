"""A match in which this process plays all seats, for environments with several agents."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from .._access import Server
from .._batch import Batch
from .._shared import shared_client
from .._types import (
    NOBODY,
    SUBSTITUTED,
    TERMINATED,
    TRUNCATED,
    BatchStep,
    IllegalActions,
    Observation,
    Reward,
    unpacked_mask,
)
from ..errors import LOST, BoardwireError, IllegalAction
from ._common import IllegalActionNotice, advised, check_table, dealt, draw, one_seed, unspent
from ._rendering import RENDER_FPS, RENDER_MODES, Renderer
from ._spaces import Lens, MaskPlace, ObservationKind, one_action, outcome_of


class Table:
    """All seats of a match in a batch of one environment, whose owner may see every seat's view.

    Attributes:
        agents: The name of each seat's agent, in seat order: `seat_0` and so on.
        metadata: The metadata that PettingZoo requires of every environment.
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
        all_choose: bool = False,
    ) -> None:
        """Loads the spec and builds the spaces; the first deal opens the batch.

        With `all_choose`, every agent gives an action at every step. The mask of an agent that owes no
        decision then allows only action 0, because many algorithms cannot sample from an empty mask.

        Raises:
            ValueError: `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
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
            # PettingZoo must not convert it: seats decide simultaneously, or one twice in a row, not in turn.
            "is_parallelizable": False,
        }
        self._reward: Reward = reward
        self._illegal_actions: IllegalActions = illegal_actions
        self._notice = IllegalActionNotice(self.spec, illegal_actions)
        self._random: np.random.Generator | None = None
        self._renderer = Renderer(self.spec, render_mode)
        self._batch: Batch | None = None
        self._position: _Position | None = None
        self._decisions = [0] * self.spec.seats
        self._substituted = [False] * self.spec.seats

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's observation space."""
        return self._lenses[agent].observation_space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the agent's action space."""
        return self._lenses[agent].action_space

    def deal(self, seed: SupportsIndex | None) -> None:
        """Begins an episode, in a new batch if the previous one is lost.

        The episode's seed is drawn from a generator, which `seed` seeds. A failed deal draws no seed.
        """
        if self._random is None or seed is not None:
            self._random, _ = seeding.np_random(one_seed(seed))
        with unspent(self._random):
            self._deal(draw(self._random))

    def _deal(self, seed: int) -> None:
        self._position, batch = None, self._batch
        again = None if batch is None else lambda: self._begin(batch, seed)
        dealt(again, lambda: self._begin(self._opened(seed), seed), self._let_go)

    def _opened(self, seed: int) -> Batch:
        self._batch = self._client.open_batch(
            self.spec.game.id,
            environments=1,
            seats=self.spec.seats,
            options=self.spec.options,
            seed=seed,
            reward=self._reward,
            autoreset="disabled",
            illegal_actions=self._illegal_actions,
            columns=["scores", "final_views", "episodes", "oracle"],
        )
        check_table(self.spec, self._batch.spec)
        return self._batch

    def _begin(self, batch: Batch, seed: int) -> None:
        self._position = _Position(batch.reset(seeds=[seed]), self.spec.seats)
        self._decisions = [0] * self.spec.seats
        self._substituted = [False] * self.spec.seats

    def _there(self) -> tuple[Batch, _Position]:
        if self._batch is None or self._position is None:
            raise gymnasium.error.ResetNeeded("the last reset failed: reset the environment")
        return self._batch, self._position

    def check(self, actions: Mapping[str, Any]) -> None:
        """Checks all actions of a step before any of them is played.

        Raises:
            IllegalAction: An action does not exist, or it is illegal and `illegal_actions` is `reject`.
        """
        for agent, action in actions.items():
            index, mask = operator.index(action), self.seen(agent).mask
            if not 0 <= index < len(mask):
                raise IllegalAction(
                    f"{agent}: there is no action {index}, only 0 to {len(mask) - 1}",
                    reason="ACTION_OUT_OF_RANGE",
                )
            if self._illegal_actions == "reject" and not mask[index]:
                raise IllegalAction(
                    f"{agent}: action {index} is not legal now: the mask has those that are",
                    code="FAILED_PRECONDITION",
                    reason="ACTION_ILLEGAL",
                )

    def act(self, agent: str, action: Any) -> Observation:
        """Plays an action for an agent's seat, which must be the lowest that owes a decision."""
        seat = self.agents.index(agent)
        batch, position = self._there()
        assert position.first == seat, "decisions are made in the order of seats"
        try:
            self._position = _Position(batch.step(one_action(action)), self.spec.seats)
        except LOST as failure:
            raise advised(failure) from None
        self._decisions[seat] += 1
        self._substituted[seat] = self._position.substituted
        if self._position.substituted:
            self._notice.give(operator.index(action), f" of {agent}")
        return self.seen(agent)

    def seen(self, agent: str) -> Observation:
        """Returns the current `Observation` of the agent's seat."""
        seat = self.agents.index(agent)
        _, position = self._there()
        return position.seen(seat, self._decisions[seat], self._substituted[seat])

    def observation(self, agent: str) -> Any:
        """Returns the current observation in the agent's space, in new arrays at each call."""
        seen = self.seen(agent)
        return self._lenses[agent].observation(seen.view, self._mask(seen))

    def _mask(self, seen: Observation) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = seen.mask.copy()
        if self._all_choose and not mask.any():
            mask[0] = 1
        return mask

    def pending(self, seen: Observation) -> list[str]:
        """Returns the agents that owe a decision."""
        return [self.agents[seat] for seat in seen.pending]

    def info(self, agent: str) -> dict[str, Any]:
        """Returns the agent's info: always the same keys, with the mask only if the observation has none.

        Wrappers that turn infos into arrays require the same keys at every step, as in observations.
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
        """Renders the position as each agent of `agents` sees it, one picture or text below the other."""
        batch, _ = self._there()
        seats = [self.agents.index(agent) for agent in agents]
        try:
            return self._renderer.render(
                lambda: [(seat, self.seen(self.agents[seat]).view) for seat in seats],
                lambda: "\n\n".join(f"{self.agents[seat]}:\n{batch.text(0, seat=seat)}" for seat in seats),
            )
        except LOST as failure:
            raise advised(failure) from None

    def close(self) -> None:
        """Closes the batch. A later deal opens another."""
        self._let_go()
        self._renderer.close()

    def _let_go(self) -> None:
        # A batch that cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._batch is not None:
                self._batch.close()
        self._batch = self._position = None


class _Position:
    """The observations of all seats at one step of a batch of one environment.

    Attributes:
        first: The lowest seat that owes a decision, or `NOBODY` when the episode is over.
        substituted: Whether the last action was illegal and was replaced by another.
    """

    def __init__(self, step: BatchStep, seats: int) -> None:
        """Reads the values that are the same for all seats."""
        _, _, self._episode, self._ply, self._flags, _ = step._row(0, 0)
        assert step.oracle_mask is not None
        self._step = step
        self._seats = seats
        self.first = int(step.seat[0])
        self.substituted = self._flags & SUBSTITUTED > 0
        # Clockwise from the seat `first`; all 0 when the episode is over.
        self._masks = step.oracle_mask[0]
        due = self._masks.any(axis=1).nonzero()[0].tolist()
        self._pending = tuple(sorted((self.first + at) % seats for at in due))
        self._outcome = outcome_of(step, self._flags)

    def seen(self, seat: int, decision: int, substituted: bool) -> Observation:
        """Returns the observation of a seat that has made the given number of decisions."""
        step, at = self._step, (seat - self.first) % self._seats
        assert step.oracle is not None
        assert step.final_view is not None
        assert self._episode is not None
        return Observation(
            episode=self._episode,
            ply=self._ply,
            decision=decision,
            view=step.final_view[0, seat] if self.first == NOBODY else step.oracle[0, at],
            mask=unpacked_mask(self._masks[at], step.action_count),
            pending=self._pending,
            reward=float(step.reward[0, seat]),
            terminated=self._flags & TERMINATED > 0,
            truncated=self._flags & TRUNCATED > 0,
            substituted=substituted,
            outcome=self._outcome,
            text="",
            actions=(),
        )
