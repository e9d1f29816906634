"""Adapters of a batch for Stable-Baselines3 and sb3-contrib. Needs `boardwire[sb3]`.

`MaskablePPO` learns from many matches that one message steps. A callback evaluates it at intervals over
duplicate deals.

```python
envs = boardwire.sb3.VecEnv("faraway", 64, opponents="random")
# SB3's defaults are for one environment.
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
    """A vector environment over one batch, in which one agent plays against other players.

    When an episode ends, the next one begins in the same step. The info of that environment then has the
    following keys; at all other steps it is empty:

    - `terminal_observation`: the last observation;
    - `TimeLimit.truncated`: whether the episode was truncated, so that SB3 bootstraps its value;
    - `scores` and `ranks`: `int32[seats]`, in the order of the seats; ranks are 0 if it was truncated;
    - `is_success`: whether the agent's seat ranked first; SB3 logs it as `rollout/success_rate`.

    `env_method("action_masks")` returns the legal actions, as `MaskablePPO` requires. The environments are
    not separate objects: `get_attr` returns the attribute of the `VecEnv` for each.

    Attributes:
        game_spec: The spec of the table.
        vector: The underlying Gymnasium vector environment; its `reset` takes one seed per environment.
    """

    render_mode = None

    def __init__(
        self, game: str, num_envs: int = 64, *, observation: ObservationKind = "features", **table: Any
    ) -> None:
        """Fetches the spec of the table; the first reset opens the batch.

        Args:
            game: The game's id.
            num_envs: The number of environments.
            observation: `features` for one `float32` vector; `ids` for the fields of the view by name, which
                need a `MultiInputPolicy`.
            table: Further arguments of `boardwire.envs.BoardwireVectorEnv`: `seats`, `opponents`,
                `agent_seat`, `options`, `mask`, `reward`, `illegal_actions`, `skip_forced`, `address`.

        Raises:
            ValueError: The opponents, the agent's seat or a mode is invalid.
            BoardwireError: The server does not offer the game at such a table.
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
        """Begins an episode in every environment, with the seeds set by `seed`, or else with the next seeds.

        Ignores options set by `set_options`, because the constructor fixes the options of the table.

        Returns:
            `float32[num_envs, features]`, or a dict of arrays with one row per environment.
        """
        seeded = any(seed is not None for seed in self._seeds)
        seen, _ = self.vector.reset(seed=self._seeds if seeded else None)
        self._reset_seeds()
        self._reset_options()
        return seen

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Stores the actions of the next step, `int[num_envs]`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays the agent's action in every environment, and other players up to its next decision.

        Returns:
            Observations; rewards `float32[num_envs]`; whether an episode has ended, `bool[num_envs]`; infos.

        Raises:
            ResetNeeded: The environments were not reset.
            IllegalAction: An action is illegal, and `illegal_actions` is `reject`; nothing was stepped.
            ConnectionLost: The server does not answer, so the batch is lost; a reset opens a new one.
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
        """Returns the current legal actions: `bool[num_envs, actions]`, at least one in every row."""
        return self.vector.action_masks().view(np.bool_)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of the environments. The only one is `action_masks`.

        Args:
            method_name: `action_masks`.
            method_args: None.
            indices: The environments; all by default.
            method_kwargs: None.

        Returns:
            `bool[actions]` for each environment.

        Raises:
            AttributeError: The method is not `action_masks`.
        """
        if method_name != "action_masks":
            raise AttributeError(f"environments of a batch have a method action_masks, and no {method_name}")
        rows = list(self.action_masks(*method_args, **method_kwargs))
        return rows if indices is None else [rows[at] for at in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns the attribute of the `VecEnv` with this name, once for each environment.

        Raises:
            AttributeError: The `VecEnv` has no such attribute.
        """
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the `VecEnv`, and thus of all environments.

        Raises:
            ValueError: `indices` omits some environments.
        """
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise ValueError(
                f"environments of a batch share their attributes: set {attr_name} for all of them"
            )
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Returns False for each environment: they have no wrappers. `VecMonitor` wraps the `VecEnv`."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Closes the batch."""
        self.vector.close()


def policy(
    model: Any, spec: GameSpec, *, deterministic: bool = True, normalize: VecNormalize | None = None
) -> Policy:
    """Converts a model to a policy, for `evaluate`, `versus`, or as an opponent in other environments.

    The model gets the kind of observation that it was trained on: features or fields, with or without the
    mask. A model trained with `VecNormalize` gets normalized observations. A model's file neither contains
    the statistics nor says that they exist: load them separately.

    ```python
    model = MaskablePPO.load("best.zip")
    normalize = VecNormalize.load("best_vecnormalize.pkl", envs)
    chosen = boardwire.sb3.policy(model, envs.game_spec, normalize=normalize)
    ```

    Args:
        model: A `MaskablePPO`, or another object with the same `predict` method.
        spec: The spec of the table.
        deterministic: Whether the model takes the likeliest action instead of sampling one.
        normalize: The normalizer of the observations; by default the `VecNormalize` of the model's
            environments, if any. The policy does not update it.

    Raises:
        ValueError: The model's observation or action space does not match the table.
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
    """Returns the lens that converts views to the observations of the model."""
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
    """A callback that evaluates the model with `boardwire.evaluate`, on fixed deals, each from every seat.

    It logs `eval/win_rate_BOT`, and its confidence interval as `eval/win_rate_BOT_low` and `_high`. The
    tables on stdout and in text files omit names of 34 or more characters after `eval/`. SB3 would truncate
    these names, and it rejects duplicate keys. SB3's child callbacks of `EvalCallback`, such as
    `StopTrainingOnRewardThreshold`, also work here: their mean reward is the win rate against the last bot.

    Attributes:
        evaluations: The evaluations so far: pairs of a number of timesteps and the evaluations by bot.
        best_mean_reward: The best win rate so far against the last bot.
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
        """Configures the callback for `learn` of a model whose environments are a `VecEnv`, wrapped or not.

        Args:
            against: The bots that the model plays against, such as `greedy` or `mc:160`.
            every: The number of timesteps between evaluations. The end of training adds one.
            deals: The number of deals of an evaluation; the model plays each from every seat.
            seed: The seed that determines the deals.
            deterministic: Whether the model takes its likeliest actions.
            best: A file to save the model to whenever its win rate against the last bot is a new best. For
                `best.zip`, the statistics of `VecNormalize`, if any, go to `best_vecnormalize.pkl`.
            callback: A callback that is called after each evaluation.
            callback_on_new_best: A callback that is called after each evaluation with a new best win rate.
            verbose: 1 to print the evaluations.

        Raises:
            ValueError: `against` is empty, or a string.
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

    # Evaluates between an update and the next rollout, so that it measures the policy that plays next.
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
        """Evaluates the model immediately.

        Returns:
            Whether the child callbacks allow training to continue.
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
        # The tables indent the name after the slash by three.
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
