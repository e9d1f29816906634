"""One seat of a match as a Gymnasium environment, with bots or policies at the others."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .._account import Server
from .._types import IllegalActions, Reward
from ..errors import GONE
from ._agent_seat import AgentSeat, BatchSeat, MatchSeat, Settings, Shown
from ._over import Over, is_local, over_batch
from ._players import Opponents, players
from ._recovery import advised, unspent
from ._rendering import RENDER_FPS, RENDER_MODES, Renderer
from ._seeding import draw
from ._shared import shared_client
from ._spaces import Lens, MaskPlace, ObservationKind
from ._warnings import IllegalActionNotice


class BoardwireEnv(gymnasium.Env[Any, np.int64]):
    """A match between one agent and others: bots, or policies of this process.

    A step is one decision of the agent: what bots decide in between happens in the server. The legal
    actions are in `info["action_mask"]` and `action_masks()`, `int8[actions]`; at the end of an episode the
    mask is all 0. `info` also has `ply`, `decision` and `substituted`, and at the end of an episode
    `scores` and `ranks` (`int32[seats]`, in the order of the seats).

    The seed of each episode comes from `np_random`: `reset(seed=...)` fixes all episodes from there on, also
    when the server has ended in between and lost the match. A reset then deals in another match, and shows
    what it would have shown in that one; it draws no seed when it fails.
    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    def __init__(
        self,
        game: str,
        *,
        seats: int | None = None,
        opponents: Opponents = "greedy",
        agent_seat: int = 0,
        options: Mapping[str, str] | None = None,
        observation: ObservationKind = "ids",
        mask: MaskPlace = "info",
        reward: Reward = "rank",
        illegal_actions: IllegalActions = "seeded_legal",
        skip_forced: bool = False,
        render_mode: str | None = None,
        address: str | Server | None = None,
        over: Over | None = None,
    ) -> None:
        """Describes the match; it is created by the first reset.

        Args:
            game: The game's id.
            seats: How many seats; the fewest the game is played by when left out.
            opponents: Who plays at every other seat, or at each of the others in order: bots by name, and
                policies of this process, functions of `boardwire.Decisions` that give an action for each row.
            agent_seat: The agent's seat.
            options: The game's options.
            observation: `ids` for the view by named field, `features` for one `float32` vector.
            mask: `observation` to show the legal mask in the observation, too.
            reward: What the agent is rewarded for, at the end of the episode.
            illegal_actions: What happens to illegal actions. By default a legal one, drawn from the
                episode's seed, is played instead, since many checkers and wrappers know no masks; the first
                one is warned of by an `IllegalActionWarning`.
            skip_forced: Whether decisions with a single legal action are skipped.
            render_mode: What `render` does with the position as the agent's seat may know it: `rgb_array`
                gives its picture, `uint8[height, 960, 3]`; `human` shows that in a window, after each step
                too; `ansi` gives it as text.
            address: The server, as a `boardwire.Server` where it asks for TLS or a token; a private one,
                shared by the environments of this process, when left out; `local:` for an engine in it.
            over: `batch` to play over a batch of one environment, `match` for a match; by default a batch
                with `local:` or where policies are opponents, and else a match.

        Raises:
            ValueError: The opponents, the agent's seat or a mode cannot be.
            ImportError: What draws, or shows a window, is not installed.
            BoardwireError: The game is not served at such a table.
        """
        self.render_mode = render_mode
        client = shared_client(address)
        self.game_spec = client.game(game, seats=seats, options=options)
        others = players(self.game_spec.seats, agent_seat, opponents)
        if others.policies and over == "match":
            raise ValueError("policies play over a batch: leave out over='match', or name bots as opponents")
        seat_type = BatchSeat if over_batch(client, over) or others.policies else MatchSeat
        has_text = seat_type is MatchSeat or is_local(client)
        self._renderer = Renderer(self.game_spec, render_mode, has_text=has_text)
        self._agent_seat = agent_seat
        settings = Settings(self.game_spec, agent_seat, others, reward, illegal_actions, skip_forced)
        self._seat: AgentSeat = seat_type(client, settings)
        self._notice = IllegalActionNotice(self.game_spec, illegal_actions)
        self._lens = Lens(self.game_spec, observation, mask)
        self.action_space = self._lens.action_space
        self.observation_space = self._lens.observation_space
        self._seen: Shown | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, at any time; in another match when that of the last one is gone.

        Args:
            seed: Seeds `np_random`, from which the episode's seed is drawn.
            options: Ignored; a match's options are fixed when the environment is made.

        Returns:
            The observation and the info.
        """
        super().reset(seed=seed)
        with unspent(self.np_random):
            self._seen = self._seat.deal(draw(self.np_random))
        self._show()
        return self._lens.observation(self._seen.view, self._seen.mask), self._info(self._seen)

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Makes the agent's decision, and those of the others up to its next one.

        Raises:
            ResetNeeded: There was no reset.
            ValueError: A policy that is an opponent has chosen what is not legal: a reset begins anew.
            ActionOutOfRange: There is no such action.
            IllegalAction: It is illegal now, and `illegal_actions` is `reject`.
            EpisodeOver: The episode has ended.
            ConnectionLost: Nobody answers, so that the match may be gone: a reset begins anew.
            UnknownMatch: The match is gone: a reset begins anew.
        """
        try:
            seen = self._seen = self._seat.act(action)
        except GONE as failure:
            raise advised(failure) from None
        if seen.substituted:
            self._notice.give(operator.index(action))
        self._show()
        shown, info = self._lens.observation(seen.view, seen.mask), self._info(seen)
        return shown, seen.reward, seen.terminated, seen.truncated, info

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions now: `int8[actions]`, 0 or 1; all 0 when the episode is over."""
        return np.array(self._last().mask)

    def render(self) -> NDArray[np.uint8] | str | None:
        """The position as the agent's seat may know it, as the render mode says."""
        if self.render_mode is None:
            return None
        seen = self._last()
        try:
            return self._renderer.render(lambda: [(self._agent_seat, seen.view)], self._seat.text)
        except GONE as failure:
            raise advised(failure) from None

    def _show(self) -> None:
        """Shows people the position that has come to be."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Closes the match. The environment may be reset again."""
        self._seat.close()
        self._renderer.close()
        self._seen = None

    def _last(self) -> Shown:
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._seen

    def _info(self, seen: Shown) -> dict[str, Any]:
        info: dict[str, Any] = {
            "action_mask": seen.mask.copy(),
            "ply": seen.ply,
            "decision": seen.decision,
            "substituted": seen.substituted,
        }
        if seen.outcome is not None:
            # Zeros where there are none, as in a vector environment.
            none = (0,) * self.game_spec.seats
            info["scores"] = np.array(seen.outcome.scores or none, dtype=np.int32)
            info["ranks"] = np.array(seen.outcome.ranks or none, dtype=np.int32)
        return info
