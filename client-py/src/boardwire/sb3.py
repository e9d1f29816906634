"""Stable-Baselines3 and sb3-contrib over one batch: the extra `boardwire[sb3]`.

`MaskablePPO` learns here from many matches that are stepped by one message, and is measured over duplicate
deals now and then.

```python
envs = boardwire.sb3.VecEnv("faraway", 64, opponents="random")
# SB3's own sizes are for one environment.
model = MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=1024, n_epochs=4)
model.learn(200_000, callback=boardwire.sb3.EvaluationCallback(every=50_000))
print(boardwire.evaluate(boardwire.sb3.policy(model, envs.game_spec), "faraway", opponents="greedy"))
```
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback, EventCallback
from stable_baselines3.common.logger import HumanOutputFormat
from stable_baselines3.common.vec_env import VecEnv as BaseVecEnv
from stable_baselines3.common.vec_env import VecNormalize

from ._access import Server
from ._evaluation import Evaluation, evaluate
from ._rollouts import Decisions, Policy
from ._shared import shared_client
from ._spec import GameSpec
from .envs import BoardwireVectorEnv, MaskPlace, ObservationKind
from .envs._spaces import Lens

__all__ = ["EvaluationCallback", "VecEnv", "policy"]


class VecEnv(BaseVecEnv):
    """Matches between one agent and others as the environments of one batch.

    Episodes that end are followed by the next ones in the same step. Their info has then, and else nothing:

    - `terminal_observation`: the last observation;
    - `TimeLimit.truncated`: whether the episode was cut, so that its value is to be estimated;
    - `scores` and `ranks`: `int32[seats]`, in the order of the seats; ranks are 0 where it was cut;
    - `is_success`: whether the agent's seat was first, from which SB3 makes `rollout/success_rate`.

    `env_method("action_masks")` gives the legal actions as `MaskablePPO` asks for them. No environment is an
    object of its own: `get_attr` gives for each what the `VecEnv` has.

    Attributes:
        game_spec: The table's description.
        vector: The environments as Gymnasium's: `reset` of that one takes seeds for each.
    """

    render_mode = None

    def __init__(
        self, game: str, num_envs: int = 64, *, observation: ObservationKind = "features", **table: Any
    ) -> None:
        """Describes the matches; they are created by the first reset.

        Args:
            game: The game's id.
            num_envs: How many environments.
            observation: `features` for one `float32` vector; `ids` for the view by named field, which takes a
                `MultiInputPolicy`.
            table: What else `boardwire.envs.BoardwireVectorEnv` takes: `seats`, `opponents`, `agent_seat`,
                `options`, `mask`, `reward`, `illegal_actions`, `skip_forced`, `address`.

        Raises:
            ValueError: The opponents, the agent's seat or a mode cannot be.
            BoardwireError: The game is not served at such a table.
        """
        self.vector = BoardwireVectorEnv(
            game, num_envs, observation=observation, autoreset_mode=AutoresetMode.SAME_STEP, **table
        )
        self.game_spec = self.vector.game_spec
        self.agent_seat = int(table.get("agent_seat", 0))
        self.address: str | Server | None = table.get("address")
        self._actions: NDArray[np.integer] | None = None
        super().__init__(num_envs, self.vector.single_observation_space, self.vector.single_action_space)

    def reset(self) -> Any:
        """Begins episodes everywhere: with the seeds that `seed` has set, else the next ones.

        Options that were set are ignored; a table's are fixed when it is made.

        Returns:
            `float32[num_envs, features]`, or a dict of arrays, a row an environment.
        """
        seeded = any(seed is not None for seed in self._seeds)
        seen, _ = self.vector.reset(seed=self._seeds if seeded else None)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Takes the actions of the next step, `int[num_envs]`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Makes the agent's decision in every environment, and those of the others up to its next one.

        Returns:
            Observations; rewards `float32[num_envs]`; `bool[num_envs]`, whether an episode has ended; infos.

        Raises:
            ResetNeeded: There was no reset.
            IllegalAction: An action is illegal, and `illegal_actions` is `reject`; none was stepped.
            ConnectionLost: Nobody answers, so that the batch is gone: a reset begins anew.
        """
        seen, reward, terminated, truncated, found = self.vector.step(self._actions)
        over = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if over.any():
            results = found["final_info"]
            for row in np.flatnonzero(over):
                ranks = results["ranks"][row]
                infos[row] = {
                    "terminal_observation": found["final_obs"][row],
                    "TimeLimit.truncated": bool(truncated[row] and not terminated[row]),
                    "scores": results["scores"][row],
                    "ranks": ranks,
                    "is_success": bool(ranks[self.agent_seat] == 1),
                }
        return seen, reward.astype(np.float32), over, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions now: `bool[num_envs, actions]`, at least one in every row."""
        return self.vector.action_masks().view(np.bool_)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of environments, of which there is one.

        Args:
            method_name: `action_masks`.
            method_args: None.
            indices: Which environments; all when left out.
            method_kwargs: None.

        Returns:
            For each environment `bool[actions]`.

        Raises:
            AttributeError: There is no such method.
        """
        if method_name != "action_masks":
            raise AttributeError(f"environments of a batch have a method action_masks, and no {method_name}")
        rows = list(self.action_masks(*method_args, **method_kwargs))
        return rows if indices is None else [rows[at] for at in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """What the `VecEnv` has by this name, once for each environment.

        Raises:
            AttributeError: It has no such attribute.
        """
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the `VecEnv`, and so of all environments.

        Raises:
            ValueError: It was to be set for some of them.
        """
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise ValueError(
                f"environments of a batch share their attributes: set {attr_name} for all of them"
            )
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Environments of a batch have no wrappers: False for each. `VecMonitor` wraps them all."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Closes the batch."""
        self.vector.close()


def policy(
    model: Any, spec: GameSpec, *, deterministic: bool = True, normalize: VecNormalize | None = None
) -> Policy:
    """What a model chooses, for `evaluate`, `versus`, or as an opponent of other environments.

    The model sees what it has learned from: features or fields, with the mask or without. One that learned
    behind `VecNormalize` sees normalised observations. A model's file does not have their statistics, nor
    tell that there are any: load them beside it.

    ```python
    model = MaskablePPO.load("best.zip")
    normalize = VecNormalize.load("best_vecnormalize.pkl", envs)
    chosen = boardwire.sb3.policy(model, envs.game_spec, normalize=normalize)
    ```

    Args:
        model: A `MaskablePPO`, or whatever has its `predict`.
        spec: The table of the game.
        deterministic: Whether it takes the likeliest action instead of drawing one.
        normalize: What normalises its observations; that of the model's environments when left out, if they
            are behind one. It is not updated here.

    Raises:
        ValueError: The model has learned from observations of something else.
    """
    lens = _lens(model, spec)
    if normalize is None:
        normalize = model.get_vec_normalize_env()

    def choose(asked: Decisions) -> NDArray[np.int64]:
        seen = lens.observation(asked.view, asked.mask)
        if normalize is not None:
            seen = normalize.normalize_obs(seen)
        actions, _ = model.predict(seen, deterministic=deterministic, action_masks=asked.mask)
        return np.asarray(actions, np.int64)

    return choose


def _lens(model: Any, spec: GameSpec) -> Lens:
    """What makes a model's observations of views."""
    kinds: tuple[ObservationKind, ...] = ("features", "ids")
    places: tuple[MaskPlace, ...] = ("info", "observation")
    for kind, place in itertools.product(kinds, places):
        lens = Lens(spec, kind, place)
        if (lens.observation_space, lens.action_space) == (model.observation_space, model.action_space):
            return lens
    raise ValueError(
        f"the model has learned from other observations or actions than those of {spec.game.id} "
        f"at {spec.seats} seats"
    )


class EvaluationCallback(EventCallback):
    """Measures the model by `boardwire.evaluate`: every deal from every seat, and always the same deals.

    It logs `eval/win_rate_BOT`, and as `eval/win_rate_BOT_low` and `_high` between which the rate lies. The
    tables on stdout and in text files leave out what they would cut, from 34 characters after `eval/` on:
    SB3 refuses two keys that are the same then. SB3's callbacks for `EvalCallback`, such as
    `StopTrainingOnRewardThreshold`, may stand behind it: what they know as the mean reward is the win rate
    against the last bot.

    Attributes:
        evaluations: What was measured so far: after how many timesteps, and the evaluation by bot.
        best_mean_reward: The best win rate against the last bot.
    """

    def __init__(
        self,
        against: Sequence[str] = ("random",),
        *,
        every: int = 100_000,
        deals: int = 200,
        seed: int = 0,
        deterministic: bool = True,
        best: str | os.PathLike[str] | None = None,
        callback: BaseCallback | None = None,
        callback_on_new_best: BaseCallback | None = None,
        verbose: int = 0,
    ) -> None:
        """Is given to `learn` of a model whose environments are a `VecEnv`, wrapped or not.

        Args:
            against: The bots that it meets, such as `greedy` or `mc:160`.
            every: After how many timesteps; training ends with a measurement, too.
            deals: How many deals; each is as many matches as there are seats.
            seed: The seed from which the deals follow.
            deterministic: Whether the model takes its likeliest actions.
            best: A file to save the model to whenever it did better than before against the last bot. For
                `best.zip` the statistics of a model behind `VecNormalize` are in `best_vecnormalize.pkl`.
            callback: What is called after each measurement.
            callback_on_new_best: What is called after each that was the best.
            verbose: 1 to print what was measured.

        Raises:
            ValueError: There is no bot, or `against` is a name alone.
        """
        if isinstance(against, str) or not against:
            raise ValueError(f"against is a sequence of bots, such as ['greedy'], not {against!r}")
        super().__init__(callback, verbose=verbose)
        self.against = tuple(against)
        self.every = every
        self.best_mean_reward = -np.inf
        self.evaluations: list[tuple[int, dict[str, Evaluation]]] = []
        self._given: dict[str, Any] = {"deals": deals, "seed": seed}
        self._deterministic = deterministic
        self._best = best
        self._on_new_best = callback_on_new_best
        self._due = every
        self._goes_on = True

    def _init_callback(self) -> None:
        self._due = self.model.num_timesteps + self.every
        self._goes_on = True
        if self._on_new_best is not None:
            self._on_new_best.parent = self
            self._on_new_best.init_callback(self.model)

    # Between an update and the next rollout, so that what is measured is what goes on.
    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps >= self._due:
            self._due = self.model.num_timesteps + self.every
            self._goes_on = self.measure()

    def _on_step(self) -> bool:
        return self._goes_on

    def _on_training_end(self) -> None:
        if self._goes_on:
            self.measure()

    def measure(self) -> bool:
        """Measures the model at once.

        Returns:
            Whether the callbacks behind this one want training to go on.
        """
        envs: Any = self.training_env.unwrapped
        found = {
            bot: evaluate(
                policy(self.model, envs.game_spec, deterministic=self._deterministic),
                envs.game_spec.game.id,
                opponents=bot,
                seats=envs.game_spec.seats,
                options=envs.game_spec.options,
                client=shared_client(envs.address),
                **self._given,
            )
            for bot in self.against
        }
        self.evaluations.append((self.model.num_timesteps, found))
        self._log(found)
        goes_on = True
        if (rate := found[self.against[-1]].mean) > self.best_mean_reward:
            self.best_mean_reward = rate
            if self._best is not None:
                self._save(self._best)
            if self._on_new_best is not None:
                goes_on = bool(self._on_new_best.on_step())
        return goes_on and bool(self._on_event())

    def _save(self, best: str | os.PathLike[str]) -> None:
        self.model.save(best)
        if (normalize := self.model.get_vec_normalize_env()) is not None:
            file = Path(best)
            normalize.save(str(file.with_name(f"{file.name.removesuffix('.zip')}_vecnormalize.pkl")))

    def _log(self, found: dict[str, Evaluation]) -> None:
        tables = [each for each in self.logger.output_formats if isinstance(each, HumanOutputFormat)]
        # They indent what follows the slash by three.
        room = min((table.max_length for table in tables), default=0) - 3
        for bot, evaluation in found.items():
            low, high = evaluation.interval
            for end, figure in (("", evaluation.mean), ("_low", low), ("_high", high)):
                name = f"win_rate_{bot}{end}"
                self.logger.record(
                    f"eval/{name}", figure, exclude=("stdout", "log") if len(name) > room else None
                )
            if self.verbose:
                print(f"{self.model.num_timesteps:,} timesteps, wins against {bot}: {evaluation}")
        self.logger.record("time/total_timesteps", self.model.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.model.num_timesteps)
