"""The games in RLlib: its checker, training with masks, and servers and nodes that go in the midst of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import outages
import pytest
from outages import ListeningServer, kill_private
from servers import tcp_server
from tables import GAMES, MASKLESS, TABLES

import boardwire

pytest.importorskip("ray.rllib")
import ray
import torch
from ray.cluster_utils import Cluster
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.env_context import EnvContext
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from boardwire._shared import shared_client
from boardwire.rllib import BoardwireMultiAgentEnv, MaskedPPOModule, policy

# Env runners are processes that do not find the modules of tests.
ray.cloudpickle.register_pickle_by_value(outages)
SMALL = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
#: Arguments of private servers.
ARGS = ["--threads", "1"]


def env(game: str = "faraway", **more: Any) -> BoardwireMultiAgentEnv:
    return BoardwireMultiAgentEnv({"game": game, **more})


def lowest(observations: dict[str, Any]) -> dict[str, int]:
    return {agent: int(seen["action_mask"].argmax()) for agent, seen in observations.items()}


def episode(played: BoardwireMultiAgentEnv, seed: int | None) -> list[Any]:
    """All that an episode of lowest legal actions shows."""
    observations, infos = played.reset(seed=seed)
    told: list[Any] = [(observations, infos)]
    while True:
        told.append(played.step(lowest(told[-1][0])))
        if told[-1][2]["__all__"]:
            return told


@MASKLESS
@pytest.mark.parametrize("observation", ["features", "ids"])
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_the_checker_of_rllib_passes(game: str, seats: int, observation: str) -> None:
    check_multiagent_environments(env(game, seats=seats, observation=observation))


@pytest.mark.parametrize("game", [game.id for game in GAMES])
def test_who_owes_a_decision_is_shown_it_and_all_see_the_end(game: str) -> None:
    played = env(game, seats=3, opponents={1: "random"}, illegal_actions="reject")
    assert played.possible_agents == ["seat_0", "seat_2"]
    told = episode(played, 7)
    for observations, *_, infos in told:
        assert observations.keys() == infos.keys()
        for agent, seen in observations.items():
            assert played.get_observation_space(agent).contains(seen)
    for observations, rewards, terminated, truncated, _ in told[1:-1]:
        assert len(observations) == 1
        assert set(rewards.values()) == {0.0}
        assert not any(terminated.values())
        assert not any(truncated.values())
    assert {agent for observations, *_ in told[:-1] for agent in observations} == {"seat_0", "seat_2"}
    observations, rewards, terminated, _, infos = told[-1]
    assert list(observations) == list(rewards) == list(infos) == played.agents
    assert terminated == {"seat_0": True, "seat_2": True, "__all__": True}
    (one, other), (rank, below) = rewards.values(), [info["rank"] for info in infos.values()]
    assert np.sign(one - other) == np.sign(below - rank)
    with pytest.raises(RuntimeError, match="reset"):
        played.step({"seat_0": 0})


def test_a_seed_fixes_all_episodes_and_a_reset_finds_another_server() -> None:
    place, played = ListeningServer("127.0.0.1:0"), env()
    try:
        same = env(address=place.address)
        for seed in (5, None, None):
            np.testing.assert_equal(episode(same, seed), episode(played, seed))
            place.crash()
            place.restart()
    finally:
        place.stop()


def test_a_step_tells_that_the_server_is_gone() -> None:
    place = ListeningServer("127.0.0.1:0")
    try:
        played = env(address=place.address)
        observations, _ = played.reset(seed=1)
        place.crash()
        with pytest.raises(boardwire.BoardwireError):
            played.step(lowest(observations))
        place.restart()
        np.testing.assert_equal(played.reset(seed=1)[0], observations)
    finally:
        place.stop()


def test_an_action_of_nobody_plays_nothing() -> None:
    played = env()
    observations, _ = played.reset(seed=1)
    with pytest.raises(KeyError, match="seat_0"):
        played.step({"seat_1": 0})
    played.step(lowest(observations))


def test_env_runners_share_servers_by_their_index() -> None:
    with tcp_server() as even, tcp_server() as odd:
        for worker in range(4):
            config = EnvContext({"game": "faraway", "address": [even, odd]}, worker)
            played = BoardwireMultiAgentEnv(config)
            played.reset()
            assert played.server == (even, odd)[worker % 2]
            played.close()


def test_another_server_stands_in_for_one_that_is_full_or_gone() -> None:
    nobody = "127.0.0.1:1"
    with tcp_server("--max-environments", "1") as full, tcp_server() as other:
        tables = [env(address=[full, nobody, other]) for _ in range(2)]
        for played in tables:
            played.reset()
        assert [played.server for played in tables] == [full, other]
        with pytest.raises(boardwire.errors.ServerFull):
            env(address=[nobody, full]).reset()
        tables[0].close()
        tables[1].close()
        tables[1].reset()
        assert tables[1].server == full
    with pytest.raises(boardwire.errors.ConnectionLost):
        env(address=[nobody, nobody])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(TypeError, match="gaem"):
        BoardwireMultiAgentEnv({"gaem": "faraway"})
    with pytest.raises(ValueError, match="must not be an empty list"):
        env(address=[])
    with pytest.raises(ValueError, match="`server_args` is for a private server"):
        env(address="127.0.0.1:1", server_args=["--threads", "1"])
    spaces = env(observation="ids")
    with pytest.raises(ValueError, match="no vector `observation`"):
        MaskedPPOModule(
            observation_space=spaces.get_observation_space("seat_0"),
            action_space=spaces.get_action_space("seat_0"),
        )


def test_a_module_chooses_what_is_legal_and_comes_back_from_a_checkpoint(tmp_path: Path) -> None:
    played = env()
    seen = [observations for observations, *_ in episode(played, 1)[:-1]]
    rows = [row for observations in seen for row in observations.values()]
    batch = {
        Columns.OBS: {key: torch.from_numpy(np.stack([row[key] for row in rows])) for key in rows[0]},
    }
    spaces = played.get_observation_space("seat_0"), played.get_action_space("seat_0")
    module = RLModuleSpec(MaskedPPOModule, *spaces, model_config={"fcnet_hiddens": [32]}).build()
    legal = batch[Columns.OBS]["action_mask"] == 1
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        chances = forward(batch)[Columns.ACTION_DIST_INPUTS].softmax(1)
        assert (chances[~legal] == 0).all()
        assert (chances[legal] > 0).all()
    module.save_to_path(tmp_path)
    again = MaskedPPOModule.from_checkpoint(tmp_path)
    assert again.observation_space == spaces[0]
    torch.testing.assert_close(again.compute_values(batch), module.compute_values(batch))
    # Modules that choose alike win as much as they lose.
    one, other = policy(again, played.game_spec), policy(module, played.game_spec)
    assert boardwire.evaluate(one, "faraway", opponents=other, deals=4, reward="win").mean == 0.5


def config(runners: int, **env_config: Any) -> PPOConfig:
    """Two seats of Faraway that one small module plays; an illegal action would end the training."""
    spec = MultiRLModuleSpec(
        rl_module_specs={"all": RLModuleSpec(MaskedPPOModule, model_config={"fcnet_hiddens": [32]})}
    )
    return (
        PPOConfig()
        .environment(
            BoardwireMultiAgentEnv,
            env_config={"game": "faraway", "illegal_actions": "reject", **env_config},
            disable_env_checking=True,
        )
        .multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
        .rl_module(rl_module_spec=spec)
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=2)
        .training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)
    )


def restarted(**how: Any) -> dict[str, Any]:
    return {
        "restart_failed_env_runners": True,
        "delay_between_env_runner_restarts_s": 0.1,
        "env_runner_health_probe_timeout_s": 5,
        **how,
    }


@pytest.fixture
def nodes() -> Iterator[Cluster]:
    """A cluster whose first node, where the trainer is, has room for one env runner."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def machine() -> Iterator[None]:
    """Ray on this machine alone."""
    ray.init(num_cpus=2, log_to_driver=False, **SMALL)
    yield
    ray.shutdown()


def losses(algorithm: Any, iterations: int) -> list[float]:
    """Trains; gives the losses."""
    return [float(algorithm.train()["learners"]["all"]["total_loss"]) for _ in range(iterations)]


def trains_until(algorithm: Any, is_so: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        losses(algorithm, 1)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("recovery", ["environments", "runners"])
def test_training_survives_its_private_server(recovery: str) -> None:
    how = restarted(restart_failed_sub_environments=recovery == "environments")
    algorithm = config(1, server_args=ARGS).fault_tolerance(**how).build_algo()
    try:
        assert np.isfinite(losses(algorithm, 2)).all()
        group = algorithm.env_runner_group
        group.foreach_env_runner(lambda _: kill_private(shared_client(None, ARGS)), local_env_runner=False)
        losses(algorithm, 1)
        # The only runner being gone, there is nothing to learn from until it is back.
        trains_until(algorithm, lambda: group.num_healthy_remote_env_runners() == 1)
        assert np.isfinite(losses(algorithm, 2)).all()
        assert group.num_remote_worker_restarts() == (recovery == "runners")
    finally:
        algorithm.stop()


@pytest.mark.usefixtures("machine")
def test_training_moves_to_a_server_that_is_left() -> None:
    lost = ListeningServer("127.0.0.1:0")
    try:
        with tcp_server() as left:
            how = restarted(restart_failed_sub_environments=True)
            algorithm = config(1, address=[left, lost.address]).fault_tolerance(**how).build_algo()

            def servers() -> list[list[str]]:
                found: list[list[str]] = algorithm.env_runner_group.foreach_env_runner(
                    lambda runner: [each.unwrapped.server for each in runner.env.envs], local_env_runner=False
                )
                return found

            losses(algorithm, 1)
            assert servers() == [[lost.address] * 2]
            lost.crash()
            assert np.isfinite(losses(algorithm, 2)).all()
            assert servers() == [[left] * 2]
            algorithm.stop()
    finally:
        lost.stop()


def test_training_survives_a_node(nodes: Cluster) -> None:
    second = nodes.add_node(num_cpus=1, object_store_memory=SMALL["object_store_memory"])
    nodes.wait_for_nodes()
    algorithm = config(2).fault_tolerance(**restarted()).build_algo()
    try:
        group = algorithm.env_runner_group
        where = group.foreach_env_runner(
            lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
        )
        assert len(set(where)) == 2
        losses(algorithm, 1)
        nodes.remove_node(second, allow_graceful=False)
        assert np.isfinite(losses(algorithm, 2)).all()
        assert group.num_healthy_remote_env_runners() == 1
        nodes.add_node(num_cpus=1, object_store_memory=SMALL["object_store_memory"])
        trains_until(algorithm, lambda: group.num_healthy_remote_env_runners() == 2)
        assert group.num_remote_worker_restarts() == 1
    finally:
        algorithm.stop()
