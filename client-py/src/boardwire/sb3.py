"""Adapters of a batch for Stable-Baselines3 and sb3-contrib. Needs `boardwire[sb3]`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common import vec_env
from stable_baselines3.common.callbacks import BaseCallback, EventCallback
from stable_baselines3.common.logger import HumanOutputFormat

from . import Decisions, Evaluation, GameSpec, Policy, evaluate
from .envs import BoardwireVectorEnv, MaskPlace, ObservationEncoder, ObservationKind

__all__ = ["EvaluationCallback", "VecEnv", "policy"]


class VecEnv(vec_env.VecEnv):
    """A vector environment over one batch, in which one agent plays against other players.

    When an episode ends, the next one begins in the same step. The info of that environment then has the
    following keys; at all other steps it is empty:

    - `terminal_observation`: the last observation;
    - `TimeLimit.truncated`: whether the episode was truncated, so that SB3 bootstraps its value;
    - `scores` and `ranks`: `int32[seats]`, in the order of the seats; ranks are 0 if it was truncated;
    - `is_success`: whether the agent's seat ranked first; SB3 logs it as `rollout/success_rate`.

    Attributes:
        game_spec: The spec of the table.
        vector: The underlying Gymnasium vector environment; its `reset` takes one seed per environment.
    """

    render_mode = None

    def __init__(self, game: str, num_envs: int = 64, *, agent_seat: int = 0, **table: Any) -> None:
        """Fetches the spec of the table; the first reset opens the batch.

        The arguments and errors are those of `boardwire.envs.BoardwireVectorEnv`. Observations with named
        fields (`observation="ids"`) need a `MultiInputPolicy`.
        """
        self.vector = BoardwireVectorEnv(
            game, num_envs, agent_seat=agent_seat, autoreset_mode=AutoresetMode.SAME_STEP, **table
        )
        self.game_spec = self.vector.game_spec
        self.agent_seat = agent_seat
        super().__init__(num_envs, self.vector.single_observation_space, self.vector.single_action_space)

    def reset(self) -> Any:
        """Begins an episode in every environment, with the seeds set by `seed`, else the next; no options."""
        observations, _ = self.vector.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Stores the actions of the next step, `int[num_envs]`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays the stored actions, and other players up to the agent's next decisions.

        Returns:
            Observations; rewards `float32[num_envs]`; whether an episode has ended, `bool[num_envs]`; infos.
        """
        observations, reward, terminated, truncated, results = self.vector.step(self._actions)
        over = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(over):
            infos[row] = {
                "terminal_observation": results["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row] and not terminated[row]),
                "scores": results["final_info"]["scores"][row],
                "ranks": (ranks := results["final_info"]["ranks"][row]),
                "is_success": bool(ranks[self.agent_seat] == 1),
            }
        return observations, reward.astype(np.float32), over, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the current legal actions: `bool[num_envs, actions]`, at least one in every row."""
        return self.vector.action_masks()

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls `action_masks`, the only method of the environments; returns `bool[actions]` for each."""
        if method_name != "action_masks":
            raise AttributeError(f"the environments have the method action_masks and no method {method_name}")
        return list(self.action_masks(*method_args, **method_kwargs)[list(self._get_indices(indices))])

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns the attribute of the `VecEnv` with this name, which all environments share."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the `VecEnv`, and thus of all environments; none may be left out."""
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise ValueError(f"the environments share their attributes: set {attr_name} for all of them")
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Returns False for each environment: they have no wrappers. `VecMonitor` wraps the `VecEnv`."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Closes the batch."""
        self.vector.close()


def policy(
    model: Any, spec: GameSpec, *, deterministic: bool = True, normalize: vec_env.VecNormalize | None = None
) -> Policy:
    """Converts a model to a policy, for `evaluate`, `versus`, or as an opponent in other environments.

    Args:
        model: A `MaskablePPO`, or another object with its `predict`, which gets observations as in training.
        spec: The spec of the table.
        deterministic: Whether the model takes the likeliest action instead of sampling one.
        normalize: The normalizer of the observations, which the policy does not update. The default is the
            `VecNormalize` of the model's environments. A model's file does not contain it: load both.

    Raises:
        ValueError: The model's observation or action space does not match the table.
    """
    spaces = model.observation_space, model.action_space
    for kind, place in [(one, other) for one in get_args(ObservationKind) for other in get_args(MaskPlace)]:
        encode = ObservationEncoder(spec, kind, place)
        if (encode.observation_space, encode.action_space) == spaces:
            break
    else:
        raise ValueError(f"the model's spaces are not those of {spec.id} at {spec.seats} seats")
    normalize = normalize or model.get_vec_normalize_env()

    def choose(decisions: Decisions) -> NDArray[np.int64]:
        observations = encode(decisions.view, decisions.mask)
        if normalize is not None:
            observations = normalize.normalize_obs(observations)
        actions, _ = model.predict(observations, deterministic=deterministic, action_masks=decisions.mask)
        return np.asarray(actions, np.int64)

    return choose


class EvaluationCallback(EventCallback):
    """A callback that evaluates the model with `boardwire.evaluate`, on fixed deals, each from every seat.

    It logs `eval/win_rate_BOT`, and its confidence interval as `eval/win_rate_BOT_low` and `_high`. The
    tables on stdout and in text files omit names of 34 or more characters after `eval/`, because they would
    truncate them. SB3's child callbacks of `EvalCallback`, such as `StopTrainingOnRewardThreshold`, also work
    here: their mean reward is the win rate against the last bot.

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
            deals: The number of deals of an evaluation.
            seed: The seed of the deals.
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
            raise ValueError(f"`against` must be a sequence of bots, such as ['greedy']; got {against!r}")
        super().__init__(callback, verbose=verbose)
        self.best_mean_reward = -np.inf
        self.evaluations: list[tuple[int, dict[str, Evaluation]]] = []
        self._against = tuple(against)
        self._every, self._deterministic = every, deterministic
        self._given: dict[str, Any] = {"deals": deals, "seed": seed, "reward": "win"}
        self._best, self._on_new_best = best, callback_on_new_best

    def _init_callback(self) -> None:
        self._due = self.model.num_timesteps + self._every
        self._continues = True
        if self._on_new_best is not None:
            self._on_new_best.parent = self
            self._on_new_best.init_callback(self.model)

    # Evaluates between an update and the next rollout, so that it measures the policy that plays next.
    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps >= self._due:
            self._due = self.model.num_timesteps + self._every
            self._continues = self.measure()

    def _on_step(self) -> bool:
        return self._continues

    def _on_training_end(self) -> None:
        if self._continues:
            self.measure()

    def measure(self) -> bool:
        """Evaluates the model immediately; returns whether the child callbacks allow training to continue."""
        envs: Any = self.training_env.unwrapped
        spec, client = envs.game_spec, envs.vector.client
        table = {"seats": spec.seats, "options": spec.options, "client": client, **self._given}
        chosen = policy(self.model, spec, deterministic=self._deterministic)
        results = {bot: evaluate(chosen, spec.id, opponents=bot, **table) for bot in self._against}
        self.evaluations.append((self.model.num_timesteps, results))
        tables = [each for each in self.logger.output_formats if isinstance(each, HumanOutputFormat)]
        # The tables indent the name after the slash by three.
        room = min((table.max_length for table in tables), default=0) - 3
        for bot, evaluation in results.items():
            figures = {"": evaluation.mean, "_low": evaluation.interval[0], "_high": evaluation.interval[1]}
            for end, figure in figures.items():
                name = f"win_rate_{bot}{end}"
                hidden = ("stdout", "log") if len(name) > room else None
                self.logger.record(f"eval/{name}", figure, exclude=hidden)
            if self.verbose:
                print(f"{self.model.num_timesteps:,} timesteps, wins against {bot}: {evaluation}")
        self.logger.record("time/total_timesteps", self.model.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.model.num_timesteps)
        continues = True
        if (rate := results[self._against[-1]].mean) > self.best_mean_reward:
            self.best_mean_reward = rate
            if self._best is not None:
                self.model.save(self._best)
                if (normalize := self.model.get_vec_normalize_env()) is not None:
                    normalize.save(f"{os.fspath(self._best).removesuffix('.zip')}_vecnormalize.pkl")
            if self._on_new_best is not None:
                continues = bool(self._on_new_best.on_step())
        return continues and bool(self._on_event())
