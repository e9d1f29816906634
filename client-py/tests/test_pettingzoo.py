"""PettingZoo environments: checkers of PettingZoo, and what the environments promise."""

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
from gymnasium.utils import seeding
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec
from tables import GAMES, MASKLESS, TABLES
from transports import engine, local

import boardwire
from boardwire.pettingzoo import aec_env, parallel_env

__all__ = ["engine", "local"]

SMALLEST_AND_LARGEST = [(game.id, n) for game in GAMES for n in (game.min_seats, game.max_seats)]
KINDS = [*product(["ids", "features"], ["info", "observation"])]

# api_test warns of each environment with a mask in its observation that is not on its own list.
# It also warns of agents whose episode is over: their mask is all zeros.
pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array:UserWarning"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be:UserWarning"),
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros:UserWarning"),
]


def lowest(mask: Any) -> int:
    """Returns the lowest legal action."""
    return int(mask.argmax())


@pytest.mark.parametrize(("game", "seats"), SMALLEST_AND_LARGEST)
@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_api_test_passes(game: str, seats: int, observation: Any, mask: Any) -> None:
    env = aec_env(game, seats=seats, observation=observation, mask=mask)
    api_test(env, num_cycles=200)
    env.close()


@MASKLESS
@pytest.mark.parametrize(("game", "seats"), SMALLEST_AND_LARGEST)
@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_parallel_api_test_passes(game: str, seats: int, observation: Any, mask: Any) -> None:
    env = parallel_env(game, seats=seats, observation=observation, mask=mask)
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
def test_an_environment_shows_what_the_seats_of_a_match_observe(
    client: boardwire.Client, game: str, seats: int
) -> None:
    env = aec_env(game, seats=seats)
    env.reset(seed=7)
    seed = int(seeding.np_random(7)[0].integers(2**64, dtype=np.uint64))
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        players = {agent: match.join(seat) for seat, agent in enumerate(env.possible_agents)}
        while env.agents:
            for agent, seat in players.items():
                seen = seat.observe(wait=False)
                shown = env.observe(agent)
                np.testing.assert_array_equal(shown["observation"], env.game_spec.features(seen.view))
                np.testing.assert_array_equal(shown["action_mask"], seen.mask)
            if env.terminations[env.agent_selection]:
                for agent, seat in players.items():
                    seen = seat.observe(wait=False)
                    assert env.rewards[agent] == seen.reward
                    assert tuple(env.infos[agent]["scores"]) == seen.scores
                    assert tuple(env.infos[agent]["ranks"]) == seen.ranks
                break
            action = lowest(env.observe(env.agent_selection)["action_mask"])
            players[env.agent_selection].act(action, wait=False)
            env.step(action)
        for seat in players.values():
            seat.close()
    env.close()


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_aec_and_parallel_environments_play_the_same_match(game: str, seats: int) -> None:
    parallel = parallel_env(game, seats=seats)
    aec = aec_env(game, seats=seats)
    random = np.random.default_rng(seats)
    for episode in range(2):
        observations, infos = parallel.reset(seed=3 if episode == 0 else None)
        aec.reset(seed=3 if episode == 0 else None)
        rewards: dict[str, float] = {}
        while parallel.agents:
            pending_agents = [agent for agent in parallel.agents if infos[agent]["pending"]]
            assert pending_agents
            actions = {agent: parallel.action_space(agent).sample() for agent in parallel.agents}
            for agent in parallel.agents:
                mask = observations[agent]["action_mask"]
                # An agent without a pending decision has one action. The environment ignores it.
                assert agent in pending_agents or np.flatnonzero(mask).tolist() == [0]
                assert mask.any()
                assert observations[agent] in parallel.observation_space(agent)
                assert set(infos[agent]) == {"pending", "ply", "decision", "substituted", "scores", "ranks"}
                assert not infos[agent]["ranks"].any()
            for agent in pending_agents:
                mask = observations[agent]["action_mask"]
                actions[agent] = random.choice(np.flatnonzero(mask))
                assert aec.agent_selection == agent
                obs, _, terminated, truncated, _ = aec.last()
                assert (terminated, truncated) == (False, False)
                assert obs is not None
                np.testing.assert_array_equal(obs["action_mask"], mask)
                aec.step(actions[agent])
            observations, rewards, terminations, truncations, infos = parallel.step(actions)
            assert not any(info["substituted"] for info in infos.values())
        for agent in list(aec.agents):
            assert aec.agent_selection == agent
            _, reward, terminated, truncated, info = aec.last()
            assert (reward, terminated, truncated) == (
                rewards[agent],
                terminations[agent],
                truncations[agent],
            )
            np.testing.assert_array_equal(info["scores"], infos[agent]["scores"])
            aec.step(None)
        assert not aec.agents
        assert abs(sum(rewards.values())) < 1e-6
        assert parallel.step({}) == ({}, {}, {}, {}, {})
    parallel.close()
    aec.close()


def test_hidden_actions_change_no_other_observation() -> None:
    def observed_by_second(choice: int) -> bytes:
        env = aec_env("faraway", seats=2)
        env.reset(seed=1)
        assert env.agent_selection == "seat_0"
        env.step(np.flatnonzero(env.last()[0]["action_mask"])[choice])
        assert env.agent_selection == "seat_1"
        observed = pickle.dumps(env.last())
        env.close()
        return observed

    assert observed_by_second(0) == observed_by_second(1)


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_the_mask_is_in_one_place_and_infos_keep_their_keys(make: Any) -> None:
    for mask, keys in (("observation", set()), ("info", {"action_mask"})):
        env = make("faraway", mask=mask, observation="features")
        result, keys = env.reset(seed=1), keys | {"ply", "decision", "substituted", "scores", "ranks"}
        infos = env.infos if result is None else result[1]
        obs = env.observe("seat_0") if result is None else result[0]["seat_0"]
        assert isinstance(obs, dict) == (mask == "observation")
        assert set(infos["seat_0"]) - {"pending"} == keys
        assert not infos["seat_0"]["scores"].any()
        env.close()


def test_converters_of_pettingzoo_accept_the_environments() -> None:
    for env in (parallel_to_aec(parallel_env("faraway")), aec_env("faraway")):
        env.reset(seed=1)
        for agent in env.agent_iter():
            obs, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(obs["action_mask"]))
        env.close()
    # The converter expects one action per agent and round. Here a seat may act several times without another
    # seat between.
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(aec_env("faraway"))


def test_max_cycles_truncates_each_agent_after_its_own_decisions() -> None:
    env = aec_env("golden_compass", seats=3, max_cycles=5)
    env.reset(seed=1)
    decisions = dict.fromkeys(env.possible_agents, 0)
    for agent in env.agent_iter():
        obs, reward, terminated, truncated, _ = env.last()
        assert not terminated
        if truncated:
            assert reward == 0
            assert decisions[agent] == 5
            env.step(None)
        else:
            assert obs is not None
            assert obs["action_mask"].any()
            decisions[agent] += 1
            env.step(lowest(obs["action_mask"]))
    assert set(decisions.values()) == {5}
    env.close()


def test_a_seed_determines_all_later_episodes() -> None:
    env = parallel_env("faraway")

    def openings(seed: int) -> list[bytes]:
        return [pickle.dumps(env.reset(seed=start)[0]) for start in (seed, None, None)]

    assert openings(1) == openings(1)
    assert len(set(openings(1) + openings(2))) == 6
    env.close()


def test_illegal_actions_are_replaced_or_rejected() -> None:
    env = aec_env("faraway")
    env.reset(seed=1)
    illegal = int((env.observe("seat_0")["action_mask"] == 0).argmax())
    message = rf"action {illegal} .* of seat_0 was illegal"
    with pytest.warns(boardwire.envs.IllegalActionWarning, match=message) as warned:
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
    parallel = parallel_env("faraway")
    parallel.reset(seed=1)
    with pytest.warns(boardwire.envs.IllegalActionWarning, match=message) as warned:
        parallel.step(dict.fromkeys(parallel.agents, illegal))
    assert warned[0].filename == __file__
    parallel.close()


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_after_a_failed_reset_only_a_reset_works(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("faraway", render_mode="ansi")
    env.reset(seed=1)
    text = env.render()
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Batch, "reset", Mock(side_effect=boardwire.errors.CallTimeout("late")))
        with pytest.raises(boardwire.errors.CallTimeout):
            env.reset()
    assert not env.agents
    for call in (lambda: env.step({}), env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    env.reset(seed=1)
    assert env.render() == text
    env.close()


def test_a_step_needs_an_action_of_each_pending_agent_only() -> None:
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
def test_constructors_reject_invalid_arguments(make: Any) -> None:
    for kwargs, message in (
        ({"render_mode": "film"}, "or 'ansi'; got 'film'"),
        ({"observation": "pixels"}, "'ids' or 'features'"),
        ({"mask": "nowhere"}, "'info' or 'observation'"),
        ({"reward": "points"}, "`reward` must be one of rank, win, margin, score; got 'points'"),
    ):
        with pytest.raises(ValueError, match=message):
            make("faraway", **kwargs)


@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_steps_need_a_reset_and_a_closed_environment_can_be_reset(make: Any) -> None:
    env = make("faraway", render_mode="ansi")
    for call in (lambda: env.step(None), env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    env = make("faraway")
    assert env.render() is None
    env.reset(seed=1)
    assert env.render() is None
    env.close()
    env.close()
    env.reset(seed=1)
    env.close()


def test_the_package_works_without_its_extras() -> None:
    code = "import sys, boardwire, boardwire.envs; assert 'pettingzoo' not in sys.modules"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    code = (
        "import sys; sys.modules['gymnasium'] = None; import boardwire; boardwire.connect('local:').close()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
