"""Environments over matches, over batches in a server and in this process show the same."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from tables import GAMES, IDS, MASKLESS

import boardwire
import boardwire.envs
from boardwire.pettingzoo import aec_env, parallel_env

WAYS: list[dict[str, Any]] = [{}, {"over": "batch"}, {"address": "local:"}]
#: Each game with the fewest and with the most seats.
EDGES = [(game.id, seats) for game in GAMES for seats in (game.min_seats, game.max_seats)]
#: Settings that tables are dealt with.
SETTINGS: list[dict[str, Any]] = [
    {"observation": "ids"},
    {"observation": "features", "mask": "info", "reward": "margin"},
    {"illegal_actions": "forfeit", "reward": "score"},
]


def shown(made: Any) -> bytes:
    """All that an environment shows, as bytes."""
    return pickle.dumps(made)


def same(all_of_them: list[Any]) -> bool:
    """Whether all environments have shown the same."""
    first, *others = [shown(each) for each in all_of_them]
    return all(other == first for other in others)


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


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_a_local_table_is_rendered_as_a_match_is(make: Any) -> None:
    texts = []
    for way in (WAYS[0], WAYS[2]):
        env = make("rauha", render_mode="ansi", **way)
        env.reset(seed=2)
        texts.append(env.render())
        env.close()
    assert texts[0] == texts[1] != ""
    with pytest.raises(ValueError, match="a batch in a server shows no text"):
        make("rauha", render_mode="ansi", over="batch")


def test_a_local_seat_is_rendered_as_in_a_match() -> None:
    texts = []
    for way in (WAYS[0], WAYS[2]):
        env = boardwire.envs.BoardwireEnv("faraway", render_mode="ansi", opponents="random", **way)
        env.reset(seed=2)
        texts.append(env.render())
        env.close()
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("make", [boardwire.envs.BoardwireEnv, aec_env, parallel_env])
def test_ways_that_there_are_not_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="neither 'match' nor 'batch'"):
        make("faraway", over="land")
    with pytest.raises(ValueError, match="needs a server"):
        make("faraway", over="match", address="local:")
