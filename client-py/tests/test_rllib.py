"""The games in RLlib: its checker, training with masks, and lost servers and nodes."""

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
from boardwire.envs import IllegalActionWarning

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

# Env runners are processes that cannot import the modules of tests.
ray.cloudpickle.register_pickle_by_value(outages)
SMALL = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
#: Arguments of private servers.
ARGS = ["--threads", "1"]


def env(game: str = "faraway", **more: Any) -> BoardwireMultiAgentEnv:
    return BoardwireMultiAgentEnv({"game": game, **more})


def lowest(observations: dict[str, Any]) -> dict[str, int]:
    return {agent: int(obs["action_mask"].argmax()) for agent, obs in observations.items()}


def episode(environment: BoardwireMultiAgentEnv, seed: int | None) -> list[Any]:
    """Plays lowest legal actions and returns the results of all steps."""
    observations, infos = environment.reset(seed=seed)
    steps: list[Any] = [(observations, infos)]
    while True:
        steps.append(environment.step(lowest(steps[-1][0])))
        if steps[-1][2]["__all__"]:
            return steps


@MASKLESS
@pytest.mark.parametrize("observation", ["features", "ids"])
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_check_multiagent_environments_passes(game: str, seats: int, observation: str) -> None:
    check_multiagent_environments(env(game, seats=seats, observation=observation))


@pytest.mark.parametrize("game", [game.id for game in GAMES])
def test_pending_agents_get_observations_and_all_agents_get_the_end(game: str) -> None:
    environment = env(game, seats=3, opponents={1: "random"}, illegal_actions="reject")
    assert environment.possible_agents == ["seat_0", "seat_2"]
    steps = episode(environment, 7)
    for observations, *_, infos in steps:
        assert observations.keys() == infos.keys()
        for agent, obs in observations.items():
            assert environment.get_observation_space(agent).contains(obs)
    for observations, rewards, terminated, truncated, _ in steps[1:-1]:
        assert len(observations) == 1
        assert set(rewards.values()) == {0.0}
        assert not any(terminated.values())
        assert not any(truncated.values())
    assert {agent for observations, *_ in steps[:-1] for agent in observations} == {"seat_0", "seat_2"}
    observations, rewards, terminated, _, infos = steps[-1]
    assert list(observations) == list(rewards) == list(infos) == environment.agents
    assert terminated == {"seat_0": True, "seat_2": True, "__all__": True}
    (reward, other_reward), (rank, other_rank) = rewards.values(), [info["rank"] for info in infos.values()]
    assert np.sign(reward - other_reward) == np.sign(other_rank - rank)
    with pytest.raises(RuntimeError, match="reset"):
        environment.step({"seat_0": 0})


def test_a_seed_determines_all_episodes_across_restarts_of_the_server() -> None:
    server, environment = ListeningServer("127.0.0.1:0"), env()
    try:
        same = env(address=server.address)
        for seed in (5, None, None):
            np.testing.assert_equal(episode(same, seed), episode(environment, seed))
            server.crash()
            server.restart()
    finally:
        server.stop()


def test_a_step_raises_when_the_server_is_gone() -> None:
    server = ListeningServer("127.0.0.1:0")
    try:
        environment = env(address=server.address)
        observations, _ = environment.reset(seed=1)
        server.crash()
        with pytest.raises(boardwire.BoardwireError):
            environment.step(lowest(observations))
        server.restart()
        np.testing.assert_equal(environment.reset(seed=1)[0], observations)
    finally:
        server.stop()


def test_a_step_without_the_pending_agents_changes_nothing() -> None:
    environment = env()
    observations, _ = environment.reset(seed=1)
    with pytest.raises(KeyError, match="seat_0"):
        environment.step({"seat_1": 0})
    environment.step(lowest(observations))


def test_an_illegal_action_is_replaced_with_a_warning_and_in_the_infos_of_its_agent() -> None:
    played = env(seats=2)
    observations, _ = played.reset(seed=1)
    illegal = int((observations["seat_0"]["action_mask"] == 0).argmax())
    with pytest.warns(IllegalActionWarning, match="of seat_0 was illegal") as warned:
        observations, *_, infos = played.step({"seat_0": illegal})
    assert warned[0].filename == __file__
    assert not infos["seat_1"]["substituted"]
    while "seat_0" not in observations:
        observations, *_, infos = played.step(lowest(observations))
    assert infos["seat_0"]["substituted"]
    played.close()


def test_the_worker_index_selects_the_server() -> None:
    with tcp_server() as even, tcp_server() as odd:
        for worker in range(4):
            config = EnvContext({"game": "faraway", "address": [even, odd]}, worker)
            environment = BoardwireMultiAgentEnv(config)
            environment.reset()
            assert environment.server == (even, odd)[worker % 2]
            environment.close()


def test_a_reset_uses_the_next_server_when_one_is_full_or_gone() -> None:
    gone = "127.0.0.1:1"
    with tcp_server("--max-environments", "1") as full, tcp_server() as other:
        tables = [env(address=[full, gone, other]) for _ in range(2)]
        for environment in tables:
            environment.reset()
        assert [environment.server for environment in tables] == [full, other]
        with pytest.raises(boardwire.errors.ServerFull):
            env(address=[gone, full]).reset()
        tables[0].close()
        tables[1].close()
        tables[1].reset()
        assert tables[1].server == full
    with pytest.raises(boardwire.errors.ConnectionLost):
        env(address=[gone, gone])


def test_invalid_configurations_are_rejected() -> None:
    with pytest.raises(TypeError, match="gaem"):
        BoardwireMultiAgentEnv({"gaem": "faraway"})
    for opponents in ({2: "greedy"}, {-1: "greedy"}, {1: "agent"}):
        with pytest.raises(ValueError, match="`opponents` must map seats from 0 to 1 to bots; got"):
            env(seats=2, opponents=opponents)
    with pytest.raises(ValueError, match="must not be an empty list"):
        env(address=[])
    with pytest.raises(ValueError, match="`server_args` and `binary` are for a private server"):
        env(address="127.0.0.1:1", server_args=["--threads", "1"])
    spaces = env(observation="ids")
    with pytest.raises(ValueError, match="no vector `observation`"):
        MaskedPPOModule(
            observation_space=spaces.get_observation_space("seat_0"),
            action_space=spaces.get_action_space("seat_0"),
        )


def test_a_module_plays_legal_actions_and_survives_a_checkpoint(tmp_path: Path) -> None:
    environment = env()
    steps = [observations for observations, *_ in episode(environment, 1)[:-1]]
    rows = [row for observations in steps for row in observations.values()]
    batch = {
        Columns.OBS: {key: torch.from_numpy(np.stack([row[key] for row in rows])) for key in rows[0]},
    }
    spaces = environment.get_observation_space("seat_0"), environment.get_action_space("seat_0")
    module = RLModuleSpec(MaskedPPOModule, *spaces, model_config={"fcnet_hiddens": [32]}).build()
    legal = batch[Columns.OBS]["action_mask"] == 1
    for forward in (module.forward_inference, module.forward_exploration, module.forward_train):
        probabilities = forward(batch)[Columns.ACTION_DIST_INPUTS].softmax(1)
        assert (probabilities[~legal] == 0).all()
        assert (probabilities[legal] > 0).all()
    module.save_to_path(tmp_path)
    again = MaskedPPOModule.from_checkpoint(tmp_path)
    assert again.observation_space == spaces[0]
    torch.testing.assert_close(again.compute_values(batch), module.compute_values(batch))
    # Equal modules win half of their matches.
    loaded, saved = policy(again, environment.game_spec), policy(module, environment.game_spec)
    assert boardwire.evaluate(loaded, "faraway", opponents=saved, deals=4, reward="win").mean == 0.5


def config(runners: int, **env_config: Any) -> PPOConfig:
    """One small module plays both seats of Faraway. An illegal action would end the training."""
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


def fault_tolerance(**options: Any) -> dict[str, Any]:
    return {
        "restart_failed_env_runners": True,
        "delay_between_env_runner_restarts_s": 0.1,
        "env_runner_health_probe_timeout_s": 5,
        **options,
    }


@pytest.fixture
def nodes() -> Iterator[Cluster]:
    """A cluster whose first node runs the trainer and has CPUs for one env runner."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def single_machine() -> Iterator[None]:
    """Ray on this machine only."""
    ray.init(num_cpus=2, log_to_driver=False, **SMALL)
    yield
    ray.shutdown()


def losses(algorithm: Any, iterations: int) -> list[float]:
    """Trains and returns the loss of each iteration."""
    return [float(algorithm.train()["learners"]["all"]["total_loss"]) for _ in range(iterations)]


def train_until(algorithm: Any, condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        losses(algorithm, 1)


@pytest.mark.usefixtures("single_machine")
@pytest.mark.parametrize("recovery", ["environments", "runners"])
def test_training_survives_a_killed_private_server(recovery: str) -> None:
    options = fault_tolerance(restart_failed_sub_environments=recovery == "environments")
    algorithm = config(1, server_args=ARGS).fault_tolerance(**options).build_algo()
    try:
        assert np.isfinite(losses(algorithm, 2)).all()
        group = algorithm.env_runner_group
        group.foreach_env_runner(lambda _: kill_private(shared_client(None, ARGS)), local_env_runner=False)
        losses(algorithm, 1)
        # Without its only runner, the learner gets no samples until the runner restarts.
        train_until(algorithm, lambda: group.num_healthy_remote_env_runners() == 1)
        assert np.isfinite(losses(algorithm, 2)).all()
        assert group.num_remote_worker_restarts() == (recovery == "runners")
    finally:
        algorithm.stop()


@pytest.mark.usefixtures("single_machine")
def test_training_moves_to_another_server() -> None:
    lost = ListeningServer("127.0.0.1:0")
    try:
        with tcp_server() as remaining:
            options = fault_tolerance(restart_failed_sub_environments=True)
            algorithm = config(1, address=[remaining, lost.address]).fault_tolerance(**options).build_algo()

            def servers() -> list[list[str]]:
                addresses: list[list[str]] = algorithm.env_runner_group.foreach_env_runner(
                    lambda runner: [each.unwrapped.server for each in runner.env.envs], local_env_runner=False
                )
                return addresses

            losses(algorithm, 1)
            assert servers() == [[lost.address] * 2]
            lost.crash()
            assert np.isfinite(losses(algorithm, 2)).all()
            assert servers() == [[remaining] * 2]
            algorithm.stop()
    finally:
        lost.stop()


def test_training_survives_a_lost_node(nodes: Cluster) -> None:
    second = nodes.add_node(num_cpus=1, object_store_memory=SMALL["object_store_memory"])
    nodes.wait_for_nodes()
    algorithm = config(2).fault_tolerance(**fault_tolerance()).build_algo()
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
        train_until(algorithm, lambda: group.num_healthy_remote_env_runners() == 2)
        assert group.num_remote_worker_restarts() == 1
    finally:
        algorithm.stop()
