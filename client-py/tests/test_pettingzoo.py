"""PettingZoo environments, by checkers of other projects and by their own promises."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import gymnasium
import numpy as np
import pytest
from carriers import engine, local
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec
from tables import IDS, MASKLESS, TABLES

import boardwire
from boardwire.pettingzoo import aec_env, parallel_env

__all__ = ["engine", "local"]

KINDS = [*product(["ids", "features"], ["info", "observation"])]

# What api_test says of every environment that is not on its own list and shows a mask in the observation,
# and of agents whose episode is over, who may choose nothing.
pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be:UserWarning"),
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros:UserWarning"),
]


def lowest(mask: Any) -> int:
    """The lowest legal action."""
    return int(mask.argmax())


@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_api_test_passes(game: str, observation: Any, mask: Any) -> None:
    env = aec_env(game, observation=observation, mask=mask)
    api_test(env, num_cycles=200)
    env.close()


@MASKLESS
@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_parallel_api_test_passes(game: str, observation: Any, mask: Any) -> None:
    env = parallel_env(game, observation=observation, mask=mask)
    parallel_api_test(env, num_cycles=200)
    env.close()


@MASKLESS
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_seed_tests_pass(game: str, seats: int) -> None:
    seed_test(partial(aec_env, game, seats=seats), num_cycles=60)
    parallel_seed_test(partial(parallel_env, game, seats=seats))


@MASKLESS
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_max_cycles_test_passes(game: str, seats: int) -> None:
    max_cycles_test(
        SimpleNamespace(
            env=partial(aec_env, game, seats=seats), parallel_env=partial(parallel_env, game, seats=seats)
        )
    )


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_render_test_passes(game: str, seats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(partial(aec_env, game, seats=seats))
    env = parallel_env(game, seats=seats, render_mode="ansi")
    env.reset(seed=1)
    text = env.render()
    assert isinstance(text, str)
    assert all(f"{agent}:" in text for agent in env.agents)
    env.close()


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_both_play_the_same_match(game: str, seats: int) -> None:
    together = parallel_env(game, seats=seats)
    in_turn = aec_env(game, seats=seats)
    random = np.random.default_rng(seats)
    for episode in range(2):
        observations, infos = together.reset(seed=3 if episode == 0 else None)
        in_turn.reset(seed=3 if episode == 0 else None)
        rewards: dict[str, float] = {}
        while together.agents:
            due = [agent for agent in together.agents if infos[agent]["pending"]]
            assert due
            actions = {agent: together.action_space(agent).sample() for agent in together.agents}
            for agent in together.agents:
                mask = observations[agent]["action_mask"]
                # An agent that owes no decision has one action, which is ignored.
                assert agent in due or np.flatnonzero(mask).tolist() == [0]
                assert mask.any()
                assert observations[agent] in together.observation_space(agent)
                assert set(infos[agent]) == {"pending", "ply", "decision", "substituted", "scores", "ranks"}
                assert not infos[agent]["ranks"].any()
            for agent in due:
                mask = observations[agent]["action_mask"]
                actions[agent] = random.choice(np.flatnonzero(mask))
                assert in_turn.agent_selection == agent
                seen, _, terminated, truncated, _ = in_turn.last()
                assert (terminated, truncated) == (False, False)
                assert seen is not None
                np.testing.assert_array_equal(seen["action_mask"], mask)
                in_turn.step(actions[agent])
            observations, rewards, terminations, truncations, infos = together.step(actions)
            assert not any(info["substituted"] for info in infos.values())
        for agent in list(in_turn.agents):
            assert in_turn.agent_selection == agent
            _, reward, terminated, truncated, info = in_turn.last()
            assert (reward, terminated, truncated) == (
                rewards[agent],
                terminations[agent],
                truncations[agent],
            )
            np.testing.assert_array_equal(info["scores"], infos[agent]["scores"])
            in_turn.step(None)
        assert not in_turn.agents
        assert abs(sum(rewards.values())) < 1e-6
        assert together.step({}) == ({}, {}, {}, {}, {})
    together.close()
    in_turn.close()


def test_hidden_choices_show_in_no_other_observation() -> None:
    def second_sees(choice: int) -> bytes:
        env = aec_env("faraway", seats=2)
        env.reset(seed=1)
        assert env.agent_selection == "seat_0"
        env.step(np.flatnonzero(env.last()[0]["action_mask"])[choice])
        assert env.agent_selection == "seat_1"
        shown = pickle.dumps(env.last())
        env.close()
        return shown

    assert second_sees(0) == second_sees(1)


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_the_mask_stands_in_one_place_and_infos_keep_their_keys(make: Any) -> None:
    for mask, keys in (("observation", set()), ("info", {"action_mask"})):
        env = make("faraway", mask=mask, observation="features")
        shown, keys = env.reset(seed=1), keys | {"ply", "decision", "substituted", "scores", "ranks"}
        infos = env.infos if shown is None else shown[1]
        seen = env.observe("seat_0") if shown is None else shown[0]["seat_0"]
        assert isinstance(seen, dict) == (mask == "observation")
        assert set(infos["seat_0"]) - {"pending"} == keys
        assert not infos["seat_0"]["scores"].any()
        env.close()


def test_pettingzoos_own_converters_take_them() -> None:
    for env in (parallel_to_aec(parallel_env("faraway")), aec_env("faraway")):
        env.reset(seed=1)
        for agent in env.agent_iter():
            seen, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(seen["action_mask"]))
        env.close()
    # It asks agents in turn, but seats choose at once, or one of them several times.
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(aec_env("faraway"))


def test_an_agent_that_has_made_its_decisions_leaves_and_the_others_go_on() -> None:
    env = aec_env("golden_compass", seats=3, max_cycles=5)
    env.reset(seed=1)
    made = dict.fromkeys(env.possible_agents, 0)
    for agent in env.agent_iter():
        seen, reward, terminated, truncated, _ = env.last()
        assert not terminated
        if truncated:
            assert reward == 0
            assert made[agent] == 5
            env.step(None)
        else:
            assert seen is not None
            assert seen["action_mask"].any()
            made[agent] += 1
            env.step(lowest(seen["action_mask"]))
    assert set(made.values()) == {5}
    env.close()


def test_seeds_fix_all_episodes_from_there_on() -> None:
    env = parallel_env("faraway")

    def openings(seed: int) -> list[bytes]:
        return [pickle.dumps(env.reset(seed=start)[0]) for start in (seed, None, None)]

    assert openings(1) == openings(1)
    assert len(set(openings(1) + openings(2))) == 6
    env.close()


def test_illegal_actions_are_replaced_or_refused() -> None:
    env = aec_env("faraway")
    env.reset(seed=1)
    illegal = int((env.observe("seat_0")["action_mask"] == 0).argmax())
    words = rf"action {illegal} .* of seat_0 was illegal"
    with pytest.warns(boardwire.envs.IllegalActionWarning, match=words) as warned:
        env.step(illegal)
    assert warned[0].filename == __file__
    env.step(int((env.observe("seat_1")["action_mask"] == 0).argmax()))
    env.close()
    strict = aec_env("faraway", illegal_actions="reject")
    strict.reset(seed=1)
    before = pickle.dumps(strict.last())
    with pytest.raises(boardwire.errors.IllegalAction):
        strict.step(illegal)
    assert pickle.dumps(strict.last()) == before
    strict.close()
    together = parallel_env("faraway")
    together.reset(seed=1)
    with pytest.warns(boardwire.envs.IllegalActionWarning, match=words) as warned:
        together.step(dict.fromkeys(together.agents, illegal))
    assert warned[0].filename == __file__
    together.close()


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_a_reset_that_failed_leaves_nothing_to_show_or_play(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make("faraway", render_mode="ansi")
    env.reset(seed=1)
    text = env.render()
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Batch, "reset", Mock(side_effect=boardwire.errors.CallTimeout("late")))
        with pytest.raises(boardwire.errors.CallTimeout):
            env.reset()
    assert not env.agents
    for early in (lambda: env.step({}), env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            early()
    env.reset(seed=1)
    assert env.render() == text
    env.close()


def test_who_owes_a_decision_must_give_one_and_others_need_not() -> None:
    env = parallel_env("faraway", seats=2, mask="info")
    _, infos = env.reset(seed=1)
    with pytest.raises(ValueError, match="missing actions of seat_1"):
        env.step({"seat_0": lowest(infos["seat_0"]["action_mask"])})
    while all(info["pending"] for info in infos.values()):
        *_, infos = env.step({agent: lowest(info["action_mask"]) for agent, info in infos.items()})
    *_, after = env.step(
        {agent: lowest(info["action_mask"]) for agent, info in infos.items() if info["pending"]}
    )
    assert after["seat_0"]["ply"] == infos["seat_0"]["ply"] + 1
    env.close()


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_what_cannot_be_is_refused_at_once(make: Any) -> None:
    for kwargs, words in (
        ({"render_mode": "film"}, "or 'ansi'; got 'film'"),
        ({"observation": "pixels"}, "'ids' or 'features'"),
        ({"mask": "nowhere"}, "'info' or 'observation'"),
    ):
        with pytest.raises(ValueError, match=words):
            make("faraway", **kwargs)
    env = make("faraway")
    for early in (lambda: env.step(None), env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            early()
    env.reset(seed=1)
    assert env.render() is None
    env.close()
    env.close()
    env.reset(seed=1)
    env.close()


def test_extras_are_imported_only_by_who_asks_for_them() -> None:
    code = "import sys, boardwire, boardwire.envs; assert 'pettingzoo' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    code = (
        "import sys; sys.modules['gymnasium'] = None; import boardwire; boardwire.connect('local:').close()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
