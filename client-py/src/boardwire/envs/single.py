"""One seat of a match as a Gymnasium environment, with bots or policies at the other seats."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .. import Address, BatchStep, IllegalActions, Reward
from .._types import SUBSTITUTED, TERMINATED, TRUNCATED, unpacked_mask
from ._common import Opponents, SeatEnv
from ._rendering import RENDERING, Renderer
from ._spaces import MaskPlace, ObservationKind


class BoardwireEnv(SeatEnv, gymnasium.Env[Any, np.int64]):
    """A match in which one agent plays against opponents: bots, or policies of this process.

    A step is one decision of the agent; the server plays the bots' decisions in between. The action mask is
    in `info["action_mask"]`, `int8[actions]`, and `action_masks()`, bools; at the end of an episode it is all
    0. `info` also has `ply`, `decision` and `substituted`, and at the end of an episode `scores` and `ranks`
    (`int32[seats]`, in the order of the seats).

    Each episode's seed is drawn from `np_random`, so `reset(seed=...)` determines all later episodes too.
    This also holds if the server ends and the batch is lost. The next reset then opens a new batch and
    shows the same episode that the lost batch would have shown. A failed reset draws no seed.

    Attributes:
        client: The client of the environment's server.
        game_spec: The spec of the table.
    """

    metadata = RENDERING

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
        address: str | Address | None = None,
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
            address: The server's address, or a `boardwire.Address` if it requires TLS or a token. By default
                all environments of this process share a private server; `local:` is an engine in the process.

        Raises:
            ValueError: `opponents`, `agent_seat`, `observation`, `mask` or `render_mode` is not allowed.
            ImportError: `render_mode` is `human` and pygame is not installed.
            BoardwireError: The server does not serve the game with these seats and options.
        """
        self.render_mode = render_mode
        self._connect(
            game,
            environments=1,
            seats=seats,
            opponents=opponents,
            agent_seat=agent_seat,
            options=options,
            observation=observation,
            mask=mask,
            reward=reward,
            autoreset="disabled",
            illegal_actions=illegal_actions,
            skip_forced=skip_forced,
            address=address,
        )
        self._renderer = Renderer(self.game_spec, render_mode)
        self.action_space = self._encoder.action_space
        self.observation_space = self._encoder.observation_space
        self._decision = 0

    def reset(
        self, *, seed: SupportsIndex | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode at any time, in a new batch if the previous one is lost.

        Args:
            seed: Seeds `np_random`, from which the episode's seed is drawn.
            options: Ignored; the game's options are fixed when the environment is created.

        Returns:
            The observation and the info.
        """
        super().reset(seed=None if seed is None else operator.index(seed))
        step = self._session.reset_one(self.np_random)
        self._decision = 0
        observation, _, _, info = self._read(step)
        return observation, info

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Plays the agent's action and the opponents' actions up to the agent's next decision.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset or step failed.
            ValueError: An opponent's policy chose an illegal action; reset the environment.
            IllegalAction: The action does not exist, or it is illegal now and `illegal_actions` is `reject`.
            EpisodeOver: The episode has ended.
            ConnectionLost: The server does not answer, so the batch is lost; reset the environment.
            Gone: The server no longer has the batch; reset the environment.
        """
        step = self._session.act(action)
        self._decision += 1
        observation, reward, flags, info = self._read(step)
        if flags & SUBSTITUTED:
            self._session.warn(action, f"seat {self._agent_seat}")
        return observation, reward, flags & TERMINATED > 0, flags & TRUNCATED > 0, info

    def _read(self, step: BatchStep) -> tuple[Any, float, int, dict[str, Any]]:
        """Returns the observation, reward, flags and info of a step, and shows it in the window, if any."""
        view, mask, ply, flags, reward = step._row(0, self._agent_seat)
        info: dict[str, Any] = {
            # Needs no copy, because nothing else reads the array.
            # Gymnasium samples from masks of `int8`.
            "action_mask": mask.view(np.int8),
            "ply": ply,
            "decision": self._decision,
            "substituted": flags & SUBSTITUTED > 0,
        }
        if flags & (TERMINATED | TRUNCATED):
            assert step.scores is not None
            assert step.ranks is not None
            info["scores"] = np.array(step.scores[0], np.int32)
            info["ranks"] = np.array(step.ranks[0], np.int32)
        if self.render_mode == "human":
            self.render()
        return self._encoder(view, mask), reward, flags, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the current action mask: `bool[actions]`; all False when the episode is over."""
        step = self._session.last_step()
        return unpacked_mask(step.packed_mask[0], step.action_count)

    def render(self) -> NDArray[np.uint8] | str | None:
        """Renders the position as the agent's seat sees it, in the render mode."""
        if self.render_mode is None:
            return None
        seat, view = self._agent_seat, self._session.last_step().view[0]
        return self._renderer.render({seat: view}, lambda: self._session.text(seat))

    def close(self) -> None:
        """Closes the batch. The environment may be reset again."""
        self._session.close()
        self._renderer.close()
