"""One seat of many matches as a Gymnasium vector environment, stepped in the server."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .._access import Server
from .._opposed import Opposed
from .._shared import shared_client
from .._types import Autoreset, BatchStep, IllegalActions, Reward, unpacked_mask
from ..errors import LOST, BoardwireError
from ._common import (
    IllegalActionNotice,
    Opponents,
    Remade,
    Seeds,
    advised,
    check_table,
    draw,
    first_episodes,
    for_each,
    is_one,
    later_episodes,
    players,
    unspent,
)
from ._spaces import Lens, MaskPlace, ObservationKind, row_of

_WIRE: dict[AutoresetMode, Autoreset] = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}

_ALL_LOST = "the batch is gone, with the episodes that reset_mask leaves alone: reset all environments"


class BoardwireVectorEnv(Remade, gymnasium.vector.VectorEnv[Any, Any, NDArray[Any]]):
    """Matches between one agent and others, one in each environment, all stepped by one message.

    The others are bots in the server, or policies of this process: these are asked for the decisions of all
    environments together, and each round of theirs is a message more.

    The legal actions are in `infos["action_mask"]` and `action_masks()`, `int8[num_envs, actions]`; all 0
    where an episode is over. `infos` also has `ply` and `substituted`, and `scores` and `ranks`
    (`int32[num_envs, seats]`) of the episodes that ended. With `AutoresetMode.SAME_STEP` those are in
    `infos["final_info"]`, with the `substituted` of the last actions, beside the last observations in
    `infos["final_obs"]`; all else is then of the episodes that have begun. The `ply` at which an episode
    ended is not told there, nor its last mask, which is all 0.

    `reset(seed=7)` seeds environment i with 7 + i; a list or array has a seed for each, or None. An
    environment begins with the episode that a single one with its seed begins with, and the seeds fix all
    episodes that follow, too. `options={"reset_mask": bool[num_envs]}` resets those alone.

    When the server has ended, or the batch was idle for too long, a reset of all environments opens another
    batch. One of some cannot: the episodes of the others are gone, too, so that it is refused.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
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
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        address: str | Server | None = None,
    ) -> None:
        """Describes the matches; they are created by the first reset.

        Args:
            game: The game's id.
            num_envs: How many environments.
            seats: How many seats; the fewest the game is played by when left out.
            opponents: Who plays at every other seat, or at each of the others in order: bots by name, and
                policies of this process, functions of `boardwire.Decisions` that give an action for each row.
            agent_seat: The agent's seat.
            options: The game's options.
            observation: `features` for one `float32` vector, `ids` for the view by named field.
            mask: `observation` to show the legal mask in the observation, too.
            reward: What the agent is rewarded for, at the end of the episode.
            illegal_actions: What happens to illegal actions. By default a legal one, drawn from the
                episode's seed, is played instead, since many checkers and wrappers know no masks; the first
                one is warned of by an `IllegalActionWarning`.
            skip_forced: Whether decisions with a single legal action are skipped.
            autoreset_mode: What becomes of an environment whose episode has ended.
            render_mode: None: what is stepped by the thousand is not looked at.
            address: The server, as a `boardwire.Server` where it asks for TLS or a token; a private one,
                shared by the environments of this process, when left out.

        Raises:
            ValueError: The opponents, the agent's seat or a mode cannot be.
            BoardwireError: The game is not served at such a table.
        """
        if render_mode is not None:
            raise ValueError(f"render_mode={render_mode!r}: a vector environment renders nothing")
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs} is less than 1")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._client = shared_client(address)
        self.game_spec = self._client.game(game, seats=seats, options=options)
        self._players = players(self.game_spec.seats, agent_seat, opponents)
        self._agent_seat = agent_seat
        self._reward: Reward = reward
        self._illegal_actions: IllegalActions = illegal_actions
        self._notice = IllegalActionNotice(self.game_spec, illegal_actions)
        self._skip_forced = skip_forced
        self._lens = Lens(self.game_spec, observation, mask)
        self.single_action_space = self._lens.action_space
        self.single_observation_space = self._lens.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._table: Opposed | None = None
        self._step: BatchStep | None = None

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begins episodes, at any time; in another batch when the last one is gone.

        Args:
            seed: One number, which seeds environment i with it plus i; or a list or array with a seed for
                each environment, where None lets it go on to its next episode.
            options: `reset_mask`, a `bool[num_envs]` of the environments to reset; all when left out.

        Returns:
            The observations and infos of all environments.

        Raises:
            TypeError: The mask is no array of bools.
            ValueError: The mask or the seeds are not as many as there are environments.
            gymnasium.error.Error: A seed is negative.
            ConnectionLost: Nobody answers; or the batch is gone, and the mask leaves some environments alone.
            Gone: The batch is gone, and the mask leaves some environments alone: reset all of them.
        """
        chosen = self._chosen(options or {})
        seeds = for_each(seed, self.num_envs)
        if seeds is not None and is_one(seed):
            super().reset(seed=seeds[0])
        step = self._step = self._begun(seeds, chosen)
        return self._shown(step), self._infos(step)

    def _begun(self, seeds: list[int | None] | None, chosen: NDArray[np.bool_] | None) -> BatchStep:
        if self._table is not None:
            try:
                return self._reset(self._table, seeds, chosen)
            except LOST as failure:
                if chosen is not None and not chosen.all():
                    # Dealing to the others as well would end their episodes without a word.
                    raise advised(failure, _ALL_LOST) from None
                self._let_go(self._table)
        with unspent(self.np_random):
            table = self._open()
            try:
                check_table(self.game_spec, table.batch.spec)
                step = self._reset(table, seeds, chosen)
            except BaseException:
                self._let_go(table)
                raise
        self._table, self.closed = table, False
        return step

    def _reset(
        self, table: Opposed, seeds: list[int | None] | None, chosen: NDArray[np.bool_] | None
    ) -> BatchStep:
        if seeds is None:
            return table.reset(where=chosen)
        wanted = np.ones(self.num_envs, np.bool_) if chosen is None else chosen
        own = {row: seed for row, seed in enumerate(seeds) if wanted[row] and seed is not None}
        firsts = first_episodes(own.values())
        seeded = np.zeros(self.num_envs, np.bool_)
        seeded[list(own)] = True
        if (wanted & ~seeded).any():
            step = table.reset(where=wanted & ~seeded)
        if own:
            step = table.reset(where=seeded, seeds=firsts, seed=later_episodes(own))
        return step

    def _chosen(self, options: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        mask = options.get("reset_mask")
        if mask is None:
            return None
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            kind = mask.dtype if isinstance(mask, np.ndarray) else type(mask)
            raise TypeError(f"options['reset_mask'] is an array of bools, not {kind}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"options['reset_mask'] is a bool[{self.num_envs}] with one True, not {mask}")
        return mask

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Makes the agent's decision in every environment, and those of the others up to its next one.

        Args:
            actions: `int[num_envs]`.

        Raises:
            ResetNeeded: There was no reset.
            ValueError: A policy that is an opponent has chosen what is not legal: a reset of all begins anew.
            EpisodeOver: The mode is `DISABLED` and an episode has ended; none was stepped.
            IllegalAction: An action is illegal, and `illegal_actions` is `reject`; none was stepped.
            ConnectionLost: Nobody answers, so that the batch is gone: a reset of all begins anew.
            Gone: The batch is gone: a reset of all begins anew.
        """
        if self._table is None:
            raise gymnasium.error.ResetNeeded("reset the environments before their first step")
        try:
            step = self._step = self._table.step(actions)
        except LOST as failure:
            raise advised(failure) from None
        if self._notice.is_due and (replaced := np.flatnonzero(step.substituted)).size:
            self._notice.give(operator.index(actions[replaced[0]]), f" of environment {replaced[0]}")
        reward = step.reward[:, self._agent_seat].astype(np.float64)
        return self._shown(step), reward, step.terminated, step.truncated, self._infos(step)

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions now: `int8[num_envs, actions]`, 0 or 1; all 0 where an episode is over."""
        if self._step is None:
            raise gymnasium.error.ResetNeeded("reset the environments first")
        return unpacked_mask(self._step.packed_mask, self._step.action_count)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the batch."""
        if self._table is not None:
            self._let_go(self._table)
        self._table = self._step = None

    def __del__(self) -> None:
        """Leaves the batch, which ends with its connection or idle, as Gymnasium does from 1.3 on.

        Before, it closes here: a forked process would end the batch of its parent, and a constructor that
        has refused would fail once more.
        """

    @staticmethod
    def _let_go(table: Opposed) -> None:
        # What cannot be closed ends by itself.
        with contextlib.suppress(BoardwireError):
            table.batch.close()

    def _open(self) -> Opposed:
        bots, policies = self._players
        has_ends = bool(policies) or self.autoreset_mode is AutoresetMode.SAME_STEP
        batch = self._client.open_batch(
            self.game_spec.game.id,
            environments=self.num_envs,
            seats=self.game_spec.seats,
            opponents=bots,
            options=self.game_spec.options,
            seed=draw(self.np_random),
            reward=self._reward,
            autoreset=_WIRE[self.autoreset_mode],
            illegal_actions=self._illegal_actions,
            skip_forced=self._skip_forced,
            columns=["scores", "final_views"] if has_ends else ["scores"],
        )
        return Opposed(batch, self._agent_seat, policies)

    def _shown(self, step: BatchStep) -> Any:
        return self._lens.observation(step.view, step.mask)

    def _infos(self, step: BatchStep) -> dict[str, Any]:
        infos: dict[str, Any] = {
            # The step's own, which nothing else reads.
            "action_mask": step.mask,
            "ply": step.ply.astype(np.int64),
            "substituted": step.substituted,
        }
        infos |= {f"_{name}": np.ones(self.num_envs, np.bool_) for name in infos}
        if not step.ended.size:
            return infos
        assert step.scores is not None
        assert step.ranks is not None
        ended = np.zeros(self.num_envs, np.bool_)
        ended[step.ended] = True
        results = {}
        for name, rows in (("scores", step.scores), ("ranks", step.ranks)):
            results[name] = np.zeros((self.num_envs, self.game_spec.seats), np.int32)
            results[name][step.ended] = rows
        results |= {f"_{name}": ended.copy() for name in results}
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return infos | results
        results |= {"substituted": infos["substituted"] & ended, "_substituted": ended.copy()}
        infos["substituted"] &= ~ended
        assert step.final_view is not None
        final = self._lens.observation(
            step.final_view[:, 0], np.zeros((len(step.ended), step.action_count), np.int8)
        )
        # An object for each episode that ended, as Gymnasium's wrappers expect.
        last = np.full(self.num_envs, None, dtype=object)
        for row, environment in enumerate(step.ended.tolist()):
            last[environment] = row_of(final, row)
        return infos | {
            "final_obs": last,
            "_final_obs": ended,
            "final_info": results,
            "_final_info": ended.copy(),
        }
