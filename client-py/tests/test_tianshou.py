"""Tianshou's PettingZooEnv around our environments: who chooses, by which mask, and what it is rewarded."""

from __future__ import annotations

import importlib
import logging
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import IDS

from boardwire.pettingzoo import aec_env

pytest.importorskip("torch")
pytest.importorskip("tianshou")
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def make(game: str, seats: int | None = None) -> Any:
    """An environment of Tianshou's that refuses what is not legal."""
    return PettingZooEnv(aec_env(game, seats=seats, observation="features", illegal_actions="reject"))


@pytest.mark.parametrize("game", IDS)
def test_it_shows_the_agent_who_chooses_and_its_mask(game: str) -> None:
    env = make(game, seats=3)
    shown, _ = env.reset(seed=1)
    agents, rewards, over = set(), [0.0], False
    while not over:
        assert shown["obs"] in env.observation_space["observation"]
        assert any(shown["mask"])
        agents.add(shown["agent_id"])
        shown, rewards, terminated, truncated, _ = env.step(shown["mask"].index(True))
        over = terminated or truncated
        assert over or rewards == [0, 0, 0]
    assert agents == {"seat_0", "seat_1", "seat_2"}
    assert any(rewards)
    assert abs(sum(rewards)) < 1e-6
    env.close()


def test_its_collector_plays_with_an_algorithm_for_each_seat() -> None:
    # It says at every step that rewards are of several agents.
    logging.getLogger("tianshou").setLevel(logging.ERROR)
    env = make("faraway")
    envs = DummyVectorEnv([lambda: make("faraway") for _ in range(3)])
    envs.seed(1)
    agents = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space) for _ in env.agents]
    both = MultiAgentOffPolicyAlgorithm(algorithms=agents, env=env)
    buffer = VectorReplayBuffer(1000, 3)
    collector = Collector(both, envs, buffer)
    collector.reset()
    told = collector.collect(n_episode=6)
    assert told.n_collected_episodes == 6
    assert np.abs(told.returns.sum(axis=1)).max() < 1e-6
    assert len(buffer) == told.n_collected_steps
    # Who chose, by the mask it was shown.
    chosen, _ = buffer.sample(0)
    assert set(chosen.obs.agent_id) == {"seat_0", "seat_1"}
    assert chosen.obs.mask[np.arange(len(chosen.act)), chosen.act].all()
    for each in (env, envs):
        each.close()


def test_what_follows_a_row_of_the_example_is_the_next_decision_of_its_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = importlib.import_module("tianshou_dqn")
    given = Namespace(game="faraway", opponent="random", rate=1e-3)
    env, envs = example.environment(given), DummyVectorEnv([lambda: example.environment(given)] * 3)
    envs.seed(1)
    shape = env.observation_space["obs"].shape
    learner = example.algorithm(env, Net(state_shape=shape, action_shape=env.action_space.n), given)
    buffer = VectorReplayBuffer(1000, 3)
    collector = Collector(learner, envs, buffer)
    collector.reset()
    collector.collect(n_episode=6)
    rows, at = buffer.sample(0)
    assert rows.obs.mask[np.arange(len(rows)), rows.act].all()
    assert not rows.rew[~rows.done].any()
    goes_on = ~rows.done
    after = buffer[buffer.next(at)]
    np.testing.assert_array_equal(rows.obs_next.obs[goes_on], after.obs.obs[goes_on])
    np.testing.assert_array_equal(rows.info.decision[goes_on] + 1, after.info.decision[goes_on])
    for each in (env, envs):
        each.close()
