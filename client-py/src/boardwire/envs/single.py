"""One seat of a match as a Gymnasium environment, with bots or policies at the other seats."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .._access import Server
from .._opposed import Opposed
from .._shared import shared_client
from .._types import SUBSTITUTED, TERMINATED, TRUNCATED, BatchStep, IllegalActions, Outcome, Reward
from ..errors import LOST, BoardwireError
from ._common import (
    IllegalActionNotice,
    Opponents,
    Remade,
    advised,
    check_table,
    dealt,
    draw,
    one_seed,
    players,
    unspent,
)
from ._rendering import RENDER_FPS, RENDER_MODES, Renderer
from ._spaces import Lens, MaskPlace, ObservationKind, one_action, outcome_of


class _Seen(NamedTuple):
    """The last view and state of the agent's seat; an `Observation` takes longer to build than a step."""

    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    ply: int
    decision: int
    reward: float
    flags: int
    outcome: Outcome | None


class BoardwireEnv(Remade, gymnasium.Env[Any, np.int64]):
    """A match in which one agent plays against opponents: bots, or policies of this process.

    A step is one decision of the agent; the server plays the bots' decisions in between. The action mask,
    `int8[actions]`, is in `info["action_mask"]` and `action_masks()`; at the end of an episode it is all 0.
    `info` also has `ply`, `decision` and `substituted`, and at the end of an episode `scores` and `ranks`
    (`int32[seats]`, in the order of the seats).

    Each episode's seed is drawn from `np_random`, so `reset(seed=...)` determines all later episodes too.
    This also holds if the server ends and the batch is lost. The next reset then opens a new batch and
    shows the same episode that the lost batch would have shown. A failed reset draws no seed.
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
        observation: ObservationKind = "features",
        mask: MaskPlace = "info",
        reward: Reward = "rank",
        illegal_actions: IllegalActions = "seeded_legal",
        skip_forced: bool = False,
        render_mode: str | None = None,
        address: str | Server | None = None,
    ) -> None:
        """Loads the game's spec and builds the spaces; the first reset opens the batch.

        Args:
            game: The game's id.
            seats: The number of seats; by default the fewest that the game allows.
            opponents: One opponent for every other seat, or one for each of them in order: the name of a bot,
                or a policy of this process, a function that returns an action for each row of
                `boardwire.Decisions`.
            agent_seat: The agent's seat.
            options: The game's options.
            observation: `features` for one `float32` vector, `ids` for the named fields of the view.
            mask: `info`, or `observation` to have the action mask in the observation as well.
            reward: What the agent is rewarded for at the end of the episode.
            illegal_actions: How illegal actions are treated. By default a legal action, drawn from the
                episode's seed, replaces them, because many checkers and wrappers ignore masks. The first
                replacement causes an `IllegalActionWarning`.
            skip_forced: Whether the engine plays decisions with a single legal action.
            render_mode: How `render` shows the position as the agent's seat sees it: `rgb_array` returns a
                picture, `uint8[height, 960, 3]`; `human` shows the picture in a window, also after each
                reset and step; `ansi` returns text.
            address: The server's address, or a `boardwire.Server` if it requires TLS or a token. By default
                all environments of this process share a private server; `local:` is an engine in the process.

        Raises:
            ValueError: `opponents`, `agent_seat`, `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
        """
        self.render_mode = render_mode
        self._client = shared_client(address)
        self.game_spec = self._client.game(game, seats=seats, options=options)
        self._players = players(self.game_spec.seats, agent_seat, opponents)
        self._renderer = Renderer(self.game_spec, render_mode)
        self._agent_seat = agent_seat
        self._reward: Reward = reward
        self._illegal_actions: IllegalActions = illegal_actions
        self._skip_forced = skip_forced
        self._table: Opposed | None = None
        self._decision = 0
        self._notice = IllegalActionNotice(self.game_spec, illegal_actions)
        self._lens = Lens(self.game_spec, observation, mask)
        self.action_space = self._lens.action_space
        self.observation_space = self._lens.observation_space
        self._seen: _Seen | None = None

    def reset(
        self, *, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode at any time, in a new batch if the previous one is lost.

        Args:
            seed: Seeds `np_random`, from which the episode's seed is drawn.
            options: Ignored; the game's options are fixed when the environment is made.

        Returns:
            The observation and the info.
        """
        super().reset(seed=one_seed(seed))
        with unspent(self.np_random):
            self._seen = self._deal(draw(self.np_random))
        self._show()
        return self._lens.observation(self._seen.view, self._seen.mask), self._info(self._seen)

    def _deal(self, seed: int) -> _Seen:
        table = self._table
        again = None if table is None else lambda: self._saw(table.reset(seeds=[seed]), 0)
        return dealt(again, lambda: self._saw(self._opened(seed).reset(seeds=[seed]), 0), self._let_go)

    def _opened(self, seed: int) -> Opposed:
        batch = self._client.open_batch(
            self.game_spec.game.id,
            environments=1,
            seats=self.game_spec.seats,
            opponents=self._players.bots,
            options=self.game_spec.options,
            seed=seed,
            reward=self._reward,
            autoreset="disabled",
            illegal_actions=self._illegal_actions,
            skip_forced=self._skip_forced,
            columns=["scores", "final_views", "episodes"],
        )
        self._table = Opposed(batch, self._agent_seat, self._players.policies)
        check_table(self.game_spec, batch.spec)
        return self._table

    def _saw(self, step: BatchStep, decision: int) -> _Seen:
        self._decision = decision
        view, mask, _, ply, flags, reward = step._row(0, self._agent_seat)
        return _Seen(view, mask, ply, decision, reward, flags, outcome_of(step, flags))

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays the agent's action and the opponents' actions up to the agent's next decision.

        Raises:
            ResetNeeded: The environment was not reset.
            ValueError: An opponent's policy chose an illegal action; reset the environment.
            IllegalAction: The action does not exist, or it is illegal now and `illegal_actions` is `reject`.
            EpisodeOver: The episode has ended.
            ConnectionLost: The server does not answer, so the batch is lost; reset the environment.
            Gone: The server no longer has the batch; reset the environment.
        """
        if self._table is None:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        try:
            seen = self._seen = self._saw(self._table.step(one_action(action)), self._decision + 1)
        except LOST as failure:
            raise advised(failure) from None
        if seen.flags & SUBSTITUTED:
            self._notice.give(operator.index(action))
        self._show()
        shown, info = self._lens.observation(seen.view, seen.mask), self._info(seen)
        return shown, seen.reward, seen.flags & TERMINATED > 0, seen.flags & TRUNCATED > 0, info

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the current action mask: `int8[actions]`, 0 or 1; all 0 when the episode is over."""
        return np.array(self._last().mask)

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as the agent's seat sees it, in the render mode."""
        if self.render_mode is None:
            return None
        seen = self._last()
        try:
            return self._renderer.render(lambda: [(self._agent_seat, seen.view)], self._text)
        except LOST as failure:
            raise advised(failure) from None

    def _text(self) -> str:
        assert self._table is not None, "it was reset"
        return self._table.batch.text(0, seat=self._agent_seat)

    def _show(self) -> None:
        """Shows the new position in the window, if the render mode is `human`."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._let_go()
        self._renderer.close()
        self._seen = None

    def _let_go(self) -> None:
        # A batch that cannot be reached needs no closing.
        with contextlib.suppress(BoardwireError):
            if self._table is not None:
                self._table.batch.close()
        self._table = None

    def _last(self) -> _Seen:
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        return self._seen

    def _info(self, seen: _Seen) -> dict[str, Any]:
        info: dict[str, Any] = {
            "action_mask": seen.mask.copy(),
            "ply": seen.ply,
            "decision": seen.decision,
            "substituted": seen.flags & SUBSTITUTED > 0,
        }
        if seen.outcome is not None:
            # Missing scores and ranks are zeros, as in a vector environment.
            none = (0,) * self.game_spec.seats
            info["scores"] = np.array(seen.outcome.scores or none, dtype=np.int32)
            info["ranks"] = np.array(seen.outcome.ranks or none, dtype=np.int32)
        return info
