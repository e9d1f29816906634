"""One seat of many matches as a Gymnasium vector environment, which the server steps."""

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
    """Matches of one agent against opponents, one match in each environment; one message steps them all.

    The opponents are bots in the server, or policies of this process. A policy decides for all environments
    together, and each round of such decisions takes one more message.

    The action masks, `int8[num_envs, actions]`, are in `infos["action_mask"]` and `action_masks()`; all 0
    where an episode is over. `infos` also has `ply` and `substituted`, and `scores` and `ranks`
    (`int32[num_envs, seats]`) of the episodes that ended.

    With `AutoresetMode.SAME_STEP`, `infos["final_info"]` has `scores`, `ranks` and the `substituted` of the
    last actions, and `infos["final_obs"]` has the last observations. All other values are then of the new
    episodes. The last `ply` of an ended episode is not in the infos, nor its last mask, which is all 0.

    `reset(seed=7)` seeds environment i with 7 + i; a list or array has one seed or None for each environment.
    An environment begins with the same episode as a single environment with its seed. The seeds determine
    all later episodes, too. `options={"reset_mask": bool[num_envs]}` resets only the selected environments.

    If the server ended or the batch was idle for too long, a reset of all environments opens a new batch. A
    reset of some environments then raises an error, because the other environments lost their episodes too.
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
        """Loads the game's spec and builds the spaces; the first reset creates the matches.

        Args:
            game: The game's id.
            num_envs: The number of environments.
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
            autoreset_mode: When an environment begins its next episode after one ended.
            render_mode: Only None is allowed: a vector environment renders nothing.
            address: The server's address, or a `boardwire.Server` if it requires TLS or a token. By default
                all environments of this process share a private server.

        Raises:
            ValueError: `num_envs`, `opponents`, `agent_seat`, `observation`, `mask`, `autoreset_mode` or
                `render_mode` is not allowed.
            BoardwireError: The server does not serve the game with these seats and options.
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
        """Begins episodes at any time, in a new batch if the previous one is lost.

        Args:
            seed: One number `n`, which seeds environment i with `n + i`; or a list or array with a seed for
                each environment. An environment whose seed is None begins its next episode.
            options: `reset_mask`, a `bool[num_envs]` of the environments to reset; by default all.

        Returns:
            The observations and infos of all environments.

        Raises:
            TypeError: The mask is not an array of bools.
            ValueError: The mask or the list of seeds has not `num_envs` entries, or no mask entry is True.
            gymnasium.error.Error: A seed is negative.
            ConnectionLost: The server does not answer; or the batch is lost and the mask excludes some
                environments.
            Gone: The batch is lost and the mask excludes some environments; reset all of them.
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
                    # A reset of the excluded environments as well would silently end their episodes.
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
        """Plays the actions of agent and opponents in every environment, up to the agent's next decision.

        Args:
            actions: `int[num_envs]`.

        Raises:
            ResetNeeded: The environment was not reset.
            ValueError: An opponent's policy chose an illegal action; reset all environments.
            EpisodeOver: The mode is `DISABLED` and an episode has ended; no environment was stepped.
            IllegalAction: An action is illegal and `illegal_actions` is `reject`; no environment was stepped.
            ConnectionLost: The server does not answer, so the batch is lost; reset all environments.
            Gone: The server no longer has the batch; reset all environments.
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
        """Returns the action masks: `int8[num_envs, actions]`, 0 or 1; all 0 where an episode is over."""
        if self._step is None:
            raise gymnasium.error.ResetNeeded("reset the environments first")
        return unpacked_mask(self._step.packed_mask, self._step.action_count)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the batch."""
        if self._table is not None:
            self._let_go(self._table)
        self._table = self._step = None

    def __del__(self) -> None:
        """Leaves the batch open, like Gymnasium from 1.3 on; it ends with its connection or when idle.

        Older versions of Gymnasium close the environment here. A forked process would then end its parent's
        batch, and a constructor that raised an error would raise another.
        """

    @staticmethod
    def _let_go(table: Opposed) -> None:
        # A batch that cannot be closed ends by itself.
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
            # Needs no copy, because nothing else reads the array.
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
        # One object for each episode that ended, as Gymnasium's wrappers expect.
        last = np.full(self.num_envs, None, dtype=object)
        for row, environment in enumerate(step.ended.tolist()):
            last[environment] = row_of(final, row)
        return infos | {
            "final_obs": last,
            "_final_obs": ended,
            "final_info": results,
            "_final_info": ended.copy(),
        }
