"""One seat of many matches as a Gymnasium vector environment, which the server steps."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import Address, Autoreset, BatchStep, IllegalActions, Reward
from .._types import unpacked_mask
from ._common import Opponents, SeatEnv
from ._session import draw, unspent
from ._spaces import MaskPlace, ObservationKind

#: The seeds of a vector environment: one number, one seed or None for each environment, or None.
Seeds = SupportsIndex | Sequence[int | None] | NDArray[np.integer] | None

_MODES: dict[AutoresetMode, Autoreset] = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "disabled",
}


class BoardwireVectorEnv(SeatEnv, gymnasium.vector.VectorEnv[Any, Any, NDArray[Any]]):
    """Matches of one agent against opponents, one match in each environment; one message steps them all.

    The opponents are bots in the server, or policies of this process. A policy decides for all environments
    together, and each round of such decisions takes one more message.

    The action masks are in `infos["action_mask"]`, `int8[num_envs, actions]`, and `action_masks()`, bools;
    all 0 where an episode is over. `infos` also has `ply` and `substituted`, and `scores` and `ranks`
    (`int32[num_envs, seats]`) of the episodes that ended.

    With `AutoresetMode.SAME_STEP`, `infos["final_info"]` has `scores`, `ranks` and the `substituted` of the
    last actions, and `infos["final_obs"]` has the last observations. All other values are then of the new
    episodes. The last `ply` of an ended episode is not in the infos, nor its last mask, which is all 0.

    `reset(seed=7)` seeds environment i with 7 + i; a list or array has one seed or None for each environment.
    An environment begins with the same episode as a single environment with its seed. The seeds determine
    all later episodes, too. `options={"reset_mask": bool[num_envs]}` resets only the selected environments.

    If the server ended or the batch was idle for too long, a reset of all environments opens a new batch. A
    reset of some environments then raises an error, because the other environments lost their episodes too.

    Attributes:
        client: The client of the environments' server.
        game_spec: The spec of the table.
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
        autoreset_mode: gymnasium.vector.AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        address: str | Address | None = None,
    ) -> None:
        """Loads the game's spec and builds the spaces; the first reset opens the batch.

        `num_envs` is the number of environments, at least 1. `autoreset_mode` says when an environment begins
        its next episode after one ended. `render_mode` is None: a vector environment renders nothing. All
        other arguments and errors are those of `BoardwireEnv`.
        """
        if render_mode is not None:
            raise ValueError(
                f"`render_mode` must be None: a vector environment renders nothing; got {render_mode!r}"
            )
        if num_envs < 1:
            raise ValueError(f"`num_envs` must be at least 1; got {num_envs}")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self._connect(
            game,
            environments=num_envs,
            seats=seats,
            opponents=opponents,
            agent_seat=agent_seat,
            options=options,
            observation=observation,
            mask=mask,
            reward=reward,
            autoreset=_MODES[self.autoreset_mode],
            illegal_actions=illegal_actions,
            skip_forced=skip_forced,
            address=address,
            final_views=self.autoreset_mode is AutoresetMode.SAME_STEP,
        )
        self.single_action_space = self._encoder.action_space
        self.single_observation_space = self._encoder.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

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
        seeds = self._seeds(seed)
        own = {row: one for row, one in enumerate(seeds) if chosen[row] and one is not None}
        # The first episodes are those of single environments with these seeds.
        firsts = [draw(seeding.np_random(one)[0]) for one in own.values()]
        if np.ndim(np.asarray(seed, dtype=object)) == 0:
            super().reset(seed=seeds[0])
        seeded = np.zeros(self.num_envs, np.bool_)
        seeded[list(own)] = True
        resets: list[dict[str, Any]] = []
        if (chosen & ~seeded).any():
            resets.append({"where": chosen & ~seeded})
        if own:
            resets.append({"where": seeded, "seeds": firsts, "seed": _later_episodes(own)})
        with unspent(self.np_random):
            step = self._session.reset(*resets, random=self.np_random, is_partial=not chosen.all())
        self.closed = False
        return self._encoder(step.view, step.mask), self._infos(step)

    def _seeds(self, seed: Seeds) -> list[int | None]:
        seeds = np.asarray(seed, dtype=object)
        if seed is None:
            return [None] * self.num_envs
        if not seeds.ndim:
            return [operator.index(seeds.item()) + i for i in range(self.num_envs)]
        if seeds.shape != (self.num_envs,):
            raise ValueError(
                f"`seed` must have {self.num_envs} seeds, one for each environment; got {len(seeds)}"
            )
        return [None if one is None else operator.index(one) for one in seeds]

    def _chosen(self, options: Mapping[str, Any]) -> NDArray[np.bool_]:
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            kind = mask.dtype if isinstance(mask, np.ndarray) else type(mask)
            raise TypeError(f"options['reset_mask'] must be an array of bools; got {kind}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must be bool[{self.num_envs}] with at least one True; got {mask}"
            )
        return mask

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Plays the actions of agent and opponents in every environment, up to the agent's next decision.

        Args:
            actions: `int[num_envs]`.

        Raises:
            ResetNeeded: The environment was not reset, or the last reset or step failed.
            ValueError: An opponent's policy chose an illegal action; reset all environments.
            EpisodeOver: The mode is `DISABLED` and an episode has ended; no environment was stepped.
            IllegalAction: An action is illegal and `illegal_actions` is `reject`; no environment was stepped.
            ConnectionLost: The server does not answer, so the batch is lost; reset all environments.
            Gone: The server no longer has the batch; reset all environments.
        """
        step = self._session.step(actions)
        if self._session.warns and (replaced := np.flatnonzero(step.substituted)).size:
            self._session.warn(actions[replaced[0]], f"environment {replaced[0]}")
        reward = step.reward[:, self._agent_seat].astype(np.float64)
        observation = self._encoder(step.view, step.mask)
        return observation, reward, step.terminated, step.truncated, self._infos(step)

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the action masks: `bool[num_envs, actions]`; all False where an episode is over."""
        step = self._session.last_step()
        return unpacked_mask(step.packed_mask, step.action_count)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the batch."""
        self._session.close()

    def __del__(self) -> None:
        """Leaves the batch open, like Gymnasium from 1.3 on; it ends with its connection or when idle.

        Older versions of Gymnasium close the environment here. A forked process would then end its parent's
        batch, and a constructor that raised an error would raise another.
        """

    def _infos(self, step: BatchStep) -> dict[str, Any]:
        infos: dict[str, Any] = {
            # Gymnasium samples from masks of `int8`. Needs no copy, because nothing else reads the array.
            "action_mask": step.mask.view(np.int8),
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
        none = np.zeros((len(step.ended), step.action_count), np.bool_)
        final = self._encoder(step.final_view[:, 0], none)
        # One object for each episode that ended, as Gymnasium's wrappers expect.
        last = np.full(self.num_envs, None, dtype=object)
        for row, environment in enumerate(step.ended.tolist()):
            last[environment] = _row_of(final, row)
        return infos | {
            "final_obs": last,
            "_final_obs": ended,
            "final_info": results,
            "_final_info": ended.copy(),
        }


def _later_episodes(seeds: Mapping[int, int]) -> int:
    """Derives the batch seed for all episodes after the first from the environments' seeds.

    If every environment i has the seed `n + i`, the result depends only on `n`, not on the number of
    environments.
    """
    origins = sorted({(seed - environment) % 2**64 for environment, seed in seeds.items()})
    return int(np.random.SeedSequence(origins).generate_state(1, np.uint64)[0])


def _row_of(shown: Any, row: int) -> Any:
    """Returns one row of a batched observation."""
    if isinstance(shown, dict):
        return {name: _row_of(part, row) for name, part in shown.items()}
    return shown[row]
