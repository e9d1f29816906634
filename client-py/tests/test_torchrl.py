"""TorchRL's wrappers around our environments, by its own checker: our defaults, and the modes it takes."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from tables import IDS, MASKLESS

from boardwire.pettingzoo import aec_env, parallel_env

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")
from torchrl.envs import ActionMask, GymEnv, GymWrapper, PettingZooWrapper  # noqa: E402
from torchrl.envs.utils import check_env_specs  # noqa: E402

pytestmark = [
    # TorchRL says that it was tried only with PettingZoo 1.24.3.
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested:UserWarning"),
]


def played_by_the_mask(played: Any) -> bool:
    """Whether every action is a legal one, by the mask before it; actions are one-hots."""
    return bool((played["action"] & played["action_mask"].bool()).any(-1).all())


@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize("make", [parallel_env, aec_env])
@pytest.mark.parametrize("observation", ["ids", "features"])
def test_its_pettingzoo_wrapper_takes_our_defaults(game: str, make: Any, observation: Any) -> None:
    env = PettingZooWrapper(make(game, observation=observation), use_mask=True)
    check_env_specs(env, seed=1)
    # No action is illegal: the warning would be an error.
    played = env.rollout(200, break_when_any_done=False)
    seats = played["seat"] if make is parallel_env else played["seat_0"]
    assert seats["action_mask"].any(-1).all()
    ended = played["next", "done"].squeeze(-1)
    rewards = played["next", "seat", "reward"] if make is parallel_env else played["next", "seat_0", "reward"]
    assert (rewards[~ended] == 0).all()
    assert ended.any() or game == "golden_compass"
    env.close()


def test_its_pettingzoo_wrapper_takes_masks_in_infos_where_all_choose() -> None:
    env = PettingZooWrapper(parallel_env("faraway", mask="info", observation="features"), use_mask=True)
    check_env_specs(env, seed=1)
    played = env.rollout(100, break_when_any_done=False)
    assert played["seat", "action_mask"].any(-1).all()
    assert "action_mask" not in played["seat", "info"].keys()  # noqa: SIM118 - a TensorDict contains no strings
    env.close()


@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize("observation", ["ids", "features"])
def test_a_single_environment_passes(game: str, observation: str) -> None:
    env = GymEnv(
        IDS[game], observation=observation, mask="observation", opponents="random", illegal_actions="reject"
    ).append_transform(ActionMask())
    check_env_specs(env, seed=1)
    assert played_by_the_mask(env.rollout(60, break_when_any_done=False))
    env.close()


@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize("observation", ["ids", "features"])
def test_a_batch_whose_episodes_it_resets_itself_passes(game: str, observation: str) -> None:
    envs = gymnasium.make_vec(
        IDS[game],
        num_envs=4,
        observation=observation,
        mask="observation",
        opponents="random",
        autoreset_mode="Disabled",
        illegal_actions="reject",
    )
    env = GymWrapper(envs).append_transform(ActionMask())
    check_env_specs(env, seed=1)
    played = env.rollout(150, break_when_any_done=False)
    assert played.batch_size == (4, 150)
    assert played_by_the_mask(played)
    ended = played["next", "done"].squeeze(-1)
    assert ended.any() or game == "golden_compass"
    assert (played["next", "reward"].squeeze(-1)[~ended] == 0).all()
    # At the end nothing is legal, at the next beginning something is.
    assert not played["next", "action_mask"][ended].any()
    env.close()


@MASKLESS
def test_a_batch_that_resets_in_the_same_step_passes_with_the_mask_in_infos() -> None:
    envs = gymnasium.make_vec(
        IDS["faraway"], num_envs=4, observation="features", opponents="random", autoreset_mode="SameStep"
    )
    # To learn what is in infos it steps without masks first, hence no refusals.
    env = GymWrapper(envs).append_transform(ActionMask())
    check_env_specs(env, seed=1)
    played = env.rollout(150, break_when_any_done=False)
    assert played_by_the_mask(played)
    assert not played["next", "substituted"].any()
    ended = played["next", "done"].squeeze(-1)[:, :-1]
    assert ended.any()
    last, begun = played["next", "observation"][:, :-1][ended], played["observation"][:, 1:][ended]
    assert last.abs().sum() > 0
    assert (last != begun).any(-1).all()
    env.close()


def test_it_says_which_modes_it_does_not_take() -> None:
    with pytest.raises(RuntimeError, match="must be one of SAME_STEP or DISABLED"):
        GymWrapper(gymnasium.make_vec(IDS["faraway"], num_envs=2))
