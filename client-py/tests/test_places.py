"""Environments over a server and in this process show the same."""

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

WAYS: list[dict[str, Any]] = [{}, {"address": "local:"}]
#: Each game with the fewest and with the most seats.
EDGES = [(game.id, seats) for game in GAMES for seats in (game.min_seats, game.max_seats)]
#: Settings that tables are dealt with.
SETTINGS: list[dict[str, Any]] = [
    {"observation": "ids"},
    {"observation": "features", "mask": "info", "reward": "margin"},
    {"illegal_actions": "forfeit", "reward": "score"},
]


def vector(game: str, **kwargs: Any) -> boardwire.envs.BoardwireVectorEnv:
    """A vector environment."""
    return boardwire.envs.BoardwireVectorEnv(game, num_envs=2, **kwargs)


def shown(made: Any) -> bytes:
    """All that an environment shows, as bytes."""
    return pickle.dumps(made)


def same(all_of_them: list[Any]) -> bool:
    """Whether all environments have shown the same."""
    first, *others = [shown(each) for each in all_of_them]
    return all(other == first for other in others)


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_parallel_environments_show_the_same(game: str, seats: int, settings: dict[str, Any]) -> None:
    random = np.random.default_rng(seats)
    envs = [parallel_env(game, seats=seats, **settings, **way) for way in WAYS]
    for seed in (3, None):
        made: list[Any] = [env.reset(seed=seed) for env in envs]
        steps = 0
        while envs[0].agents:
            assert same(made)
            seen, infos = made[0][0], made[0][-1]
            masks = {
                agent: infos[agent]["action_mask"] if "mask" in settings else seen[agent]["action_mask"]
                for agent in envs[0].agents
            }
            steps += 1
            illegal = settings.get("illegal_actions") == "forfeit" and steps == 12
            actions = {
                agent: int(random.choice(np.flatnonzero(mask == 0 if illegal else mask)))
                for agent, mask in masks.items()
            }
            made = [env.step(actions) for env in envs]
        assert same(made)
    for env in envs:
        env.close()


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_environments_in_turns_show_the_same(game: str, seats: int, settings: dict[str, Any]) -> None:
    random = np.random.default_rng(seats)
    envs = [aec_env(game, seats=seats, max_cycles=9, **settings, **way) for way in WAYS]
    for seed in (3, None):
        for env in envs:
            env.reset(seed=seed)
        while envs[0].agents:
            assert same([(env.last(), env.infos, env.agents, env.agent_selection) for env in envs])
            seen, _, terminated, truncated, info = envs[0].last()
            action = None
            if not (terminated or truncated):
                mask = info["action_mask"] if "mask" in settings else seen["action_mask"]
                action = int(random.choice(np.flatnonzero(mask)))
            assert same([[env.observe(agent) for agent in env.agents] for env in envs])
            for env in envs:
                env.step(action)
    for env in envs:
        env.close()


@pytest.mark.slow
@MASKLESS
@pytest.mark.parametrize(("game", "seats"), EDGES)
@pytest.mark.parametrize("illegal", ["seeded_legal", "first_legal", "forfeit"])
def test_single_environments_show_the_same(game: str, seats: int, illegal: str) -> None:
    random = np.random.default_rng(seats)
    kinds: dict[str, Any] = {"seats": seats, "opponents": "random", "illegal_actions": illegal}
    envs = [gymnasium.make(IDS[game], agent_seat=seats - 1, **kinds, **way).unwrapped for way in WAYS]
    for seed in (3, None):
        made: list[Any] = [env.reset(seed=seed) for env in envs]
        assert same(made)
        over, steps = False, 0
        while not over:
            steps += 1
            legal = np.flatnonzero(made[0][-1]["action_mask"] == (0 if steps == 9 else 1))
            action = int(random.choice(legal))
            made = [env.step(action) for env in envs]
            assert same(made)
            over = made[0][2] or made[0][3]
    for env in envs:
        env.close()


@pytest.mark.slow
@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env])
def test_text_is_the_same(make: Any) -> None:
    texts = []
    for way in WAYS:
        env = make("rauha", render_mode="ansi", **way)
        env.reset(seed=2)
        texts.append(env.render())
        env.close()
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env, vector])
def test_a_copy_is_made_again_and_starts_again(make: Any) -> None:
    env = make("faraway", address="local:", reward="score")
    env.reset(seed=1)
    for copied in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert type(copied) is type(env)
        first, again = env.reset(seed=5), copied.reset(seed=5)
        assert shown(again) == shown(first)
        copied.close()
    env.close()


@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env, vector])
def test_a_seed_may_be_a_whole_number_of_numpy(make: Any) -> None:
    env = make("faraway", address="local:")
    made = []
    for seed in (3, np.int64(3), np.uint8(3)):
        made.append(env.reset(seed=seed))
        if made[-1] is None:
            made[-1] = env.last()
    assert same(made)
    with pytest.raises(TypeError):
        env.reset(seed=3.5)
    env.close()


def test_actions_that_are_refused_together_change_nothing() -> None:
    env = parallel_env("faraway", address="local:", illegal_actions="reject")
    seen, _ = env.reset(seed=1)
    legal = {agent: int(each["action_mask"].argmax()) for agent, each in seen.items()}
    illegal = int((seen["seat_1"]["action_mask"] == 0).argmax())
    for wrong, error in ((illegal, errors.IllegalAction), (200, errors.IllegalAction)):
        with pytest.raises(error, match="seat_1"):
            env.step(legal | {"seat_1": wrong})
    after, *_ = env.step(legal)
    env.reset(seed=1)
    assert shown(env.step(legal)[0]) == shown(after)
    env.close()
