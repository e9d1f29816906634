"""Environments in a server and in this process give equal results."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from tables import GAMES, IDS, MASKLESS

import boardwire
import boardwire.envs
from boardwire import errors
from boardwire.pettingzoo import aec_env, parallel_env

ENGINES: list[dict[str, Any]] = [{}, {"address": "local:"}]
#: Each game with the fewest and with the most seats.
EDGES = [(game.id, seats) for game in GAMES for seats in (game.min_seats, game.max_seats)]
#: Settings of environments.
SETTINGS: list[dict[str, Any]] = [
    {"observation": "ids"},
    {"observation": "features", "mask": "info", "reward": "margin"},
    {"illegal_actions": "forfeit", "reward": "score"},
]


def vector(game: str, **kwargs: Any) -> boardwire.envs.BoardwireVectorEnv:
    """Creates a vector environment."""
    return boardwire.envs.BoardwireVectorEnv(game, num_envs=2, **kwargs)


def equal(results: list[Any]) -> bool:
    """Returns whether all environments gave the same result."""
    return len({pickle.dumps(result) for result in results}) == 1


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_parallel_environments_are_equal(game: str, seats: int, settings: dict[str, Any]) -> None:
    random = np.random.default_rng(seats)
    envs = [parallel_env(game, seats=seats, **settings, **engine) for engine in ENGINES]
    for seed in (3, None):
        results: list[Any] = [env.reset(seed=seed) for env in envs]
        steps = 0
        while envs[0].agents:
            assert equal(results)
            obs, infos = results[0][0], results[0][-1]
            masks = {
                agent: infos[agent]["action_mask"] if "mask" in settings else obs[agent]["action_mask"]
                for agent in envs[0].agents
            }
            steps += 1
            illegal = settings.get("illegal_actions") == "forfeit" and steps == 12
            actions = {
                agent: int(random.choice(np.flatnonzero(mask == 0 if illegal else mask)))
                for agent, mask in masks.items()
            }
            results = [env.step(actions) for env in envs]
        assert equal(results)
    for env in envs:
        env.close()


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_aec_environments_are_equal(game: str, seats: int, settings: dict[str, Any]) -> None:
    random = np.random.default_rng(seats)
    envs = [aec_env(game, seats=seats, max_cycles=9, **settings, **engine) for engine in ENGINES]
    for seed in (3, None):
        for env in envs:
            env.reset(seed=seed)
        while envs[0].agents:
            assert equal([(env.last(), env.infos, env.agents, env.agent_selection) for env in envs])
            obs, _, terminated, truncated, info = envs[0].last()
            action = None
            if not (terminated or truncated):
                mask = info["action_mask"] if "mask" in settings else obs["action_mask"]
                action = int(random.choice(np.flatnonzero(mask)))
            assert equal([[env.observe(agent) for agent in env.agents] for env in envs])
            for env in envs:
                env.step(action)
    for env in envs:
        env.close()


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("illegal", ["seeded_legal", "first_legal", "forfeit"])
def test_single_environments_are_equal(game: str, seats: int, illegal: str) -> None:
    random = np.random.default_rng(seats)
    kwargs: dict[str, Any] = {"seats": seats, "opponents": "random", "illegal_actions": illegal}
    envs = [
        gymnasium.make(IDS[game], agent_seat=seats - 1, **kwargs, **engine).unwrapped for engine in ENGINES
    ]
    for seed in (3, None):
        results: list[Any] = [env.reset(seed=seed) for env in envs]
        assert equal(results)
        over, steps = False, 0
        while not over:
            steps += 1
            legal = np.flatnonzero(results[0][-1]["action_mask"] == (0 if steps == 9 else 1))
            action = int(random.choice(legal))
            results = [env.step(action) for env in envs]
            assert equal(results)
            over = results[0][2] or results[0][3]
    for env in envs:
        env.close()


@pytest.mark.slow
@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env])
def test_rendered_text_is_equal(make: Any) -> None:
    texts = []
    for engine in ENGINES:
        env = make("rauha", render_mode="ansi", **engine)
        env.reset(seed=2)
        texts.append(env.render())
        env.close()
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env, vector])
def test_a_copy_is_a_new_environment_with_the_same_settings(make: Any) -> None:
    env = make("faraway", address="local:", reward="score")
    env.reset(seed=1)
    for copied in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert type(copied) is type(env)
        first, again = env.reset(seed=5), copied.reset(seed=5)
        assert pickle.dumps(again) == pickle.dumps(first)
        copied.close()
    env.close()


@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env, vector])
def test_a_seed_can_be_a_numpy_integer(make: Any) -> None:
    env = make("faraway", address="local:")
    results = []
    for seed in (3, np.int64(3), np.uint8(3)):
        # An AEC environment returns nothing from `reset`.
        result = env.reset(seed=seed)
        results.append(env.last() if result is None else result)
    assert equal(results)
    with pytest.raises(TypeError):
        env.reset(seed=3.5)
    env.close()


def test_rejected_joint_actions_change_nothing() -> None:
    env = parallel_env("faraway", address="local:", illegal_actions="reject")
    obs, _ = env.reset(seed=1)
    legal = {agent: int(each["action_mask"].argmax()) for agent, each in obs.items()}
    illegal = int((obs["seat_1"]["action_mask"] == 0).argmax())
    for wrong, error in ((illegal, errors.IllegalAction), (200, errors.IllegalAction)):
        with pytest.raises(error, match="seat_1"):
            env.step(legal | {"seat_1": wrong})
    after, *_ = env.step(legal)
    env.reset(seed=1)
    assert pickle.dumps(env.step(legal)[0]) == pickle.dumps(after)
    env.close()
