"""Stable-Baselines3 over one batch: its checker, its algorithms, and what the class promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from numpy.typing import NDArray
from tables import GAMES, IDS, MASKLESS, first_legal

import boardwire

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.callbacks import StopTrainingOnRewardThreshold
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

import boardwire.sb3

# Sizes for a training that ends in a second and learns nothing.
SMALL: dict[str, Any] = {"n_steps": 32, "batch_size": 128, "n_epochs": 1, "seed": 1, "device": "cpu"}


def make(game: str = "faraway", num_envs: int = 4, **kwargs: Any) -> Any:
    """Creates environments that reject illegal actions."""
    return boardwire.sb3.VecEnv(
        game, num_envs, **{"opponents": "random", "illegal_actions": "reject", **kwargs}
    )


def lowest(envs: Any) -> NDArray[np.int64]:
    """Returns the lowest legal action of each environment."""
    return np.asarray(get_action_masks(envs).argmax(axis=1), np.int64)


@MASKLESS
@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize("mask", ["info", "observation"])
def test_check_env_passes(game: str, mask: str) -> None:
    env = gymnasium.make(IDS[game], observation="features", mask=mask)
    check_env(env)
    env.close()


@MASKLESS
# It accepts fields of several axes, and warns that its default networks flatten them.
@pytest.mark.filterwarnings("ignore:Your observation .* has an unconventional shape:UserWarning")
@pytest.mark.parametrize("game", IDS)
def test_check_env_passes_for_named_fields(game: str) -> None:
    env = gymnasium.make(IDS[game], observation="ids")
    check_env(env)
    env.close()


@pytest.mark.parametrize(
    ("observation", "mask"), [("features", "info"), ("ids", "info"), ("ids", "observation")]
)
def test_steps_equal_those_of_the_gymnasium_vector_environment(observation: str, mask: str) -> None:
    kwargs: dict[str, Any] = {"opponents": "random", "observation": observation, "mask": mask}
    envs = make(agent_seat=1, **kwargs)
    twin = gymnasium.make_vec(IDS["faraway"], 4, agent_seat=1, autoreset_mode="SameStep", **kwargs)
    assert envs.seed(5) == [5, 6, 7, 8]
    obs, twin_obs, ended = envs.reset(), twin.reset(seed=5)[0], 0
    while ended < 8:
        assert data_equivalence(obs, twin_obs)
        actions = lowest(envs)
        obs, reward, over, infos = envs.step(actions)
        twin_obs, twin_reward, terminated, truncated, twin_infos = twin.step(actions)
        assert (reward.dtype, over.dtype) == (np.float32, np.bool_)
        np.testing.assert_array_equal(reward, twin_reward)
        np.testing.assert_array_equal(over, terminated | truncated)
        for row, info in enumerate(infos):
            assert bool(info) == over[row]
            if over[row]:
                ended += 1
                assert data_equivalence(info["terminal_observation"], twin_infos["final_obs"][row])
                assert info["TimeLimit.truncated"] is False
                np.testing.assert_array_equal(info["ranks"], twin_infos["final_info"]["ranks"][row])
                np.testing.assert_array_equal(info["scores"], twin_infos["final_info"]["scores"][row])
                assert info["is_success"] is bool(info["ranks"][1] == 1)
    envs.close()
    twin.close()


def test_truncated_episodes_have_the_flag_of_sb3(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = make(num_envs=2)
    envs.reset()
    terminated, truncated = np.zeros(2, np.bool_), np.array([False, True])
    last = np.array([None, "last"], dtype=object)
    results = {"scores": np.zeros((2, 2), np.int32), "ranks": np.zeros((2, 2), np.int32)}
    vector_infos = {"final_info": results, "final_obs": last}
    monkeypatch.setattr(
        envs.vector, "step", lambda _: (None, np.zeros(2), terminated, truncated, vector_infos)
    )
    _, _, over, infos = envs.step(np.zeros(2, np.int64))
    np.testing.assert_array_equal(over, truncated)
    assert infos[0] == {}
    assert infos[1]["terminal_observation"] == "last"
    assert infos[1]["TimeLimit.truncated"] is True
    assert infos[1]["is_success"] is False
    envs.close()


def test_masks_differ_per_environment_and_attributes_are_shared() -> None:
    envs = make(num_envs=3)
    envs.reset()
    assert is_masking_supported(envs)
    masks = envs.env_method("action_masks")
    assert [(mask.dtype, mask.shape) for mask in masks] == [(np.bool_, (len(envs.game_spec.actions),))] * 3
    np.testing.assert_array_equal(get_action_masks(envs), envs.vector.action_masks().astype(np.bool_))
    np.testing.assert_array_equal(envs.env_method("action_masks", indices=[2, 0]), [masks[2], masks[0]])
    np.testing.assert_array_equal(envs.env_method("action_masks", indices=1), [masks[1]])
    with pytest.raises(AttributeError, match="no method fly"):
        envs.env_method("fly")
    assert not envs.has_attr("fly")
    assert envs.get_attr("agent_seat") == [0, 0, 0]
    assert envs.get_attr("agent_seat", indices=[1]) == [0]
    envs.set_attr("note", "ours")
    assert envs.get_attr("note", indices=2) == ["ours"]
    with pytest.raises(ValueError, match="note for all"):
        envs.set_attr("note", "mine", indices=[1])
    assert envs.env_is_wrapped(Monitor) == [False] * 3
    assert envs.env_is_wrapped(Monitor, indices=0) == [False]
    assert envs.render_mode is None
    envs.close()


def test_a_seed_applies_to_one_reset_and_determines_the_later_ones() -> None:
    envs = make()

    def openings() -> list[bytes]:
        envs.seed(3)
        return [envs.reset().tobytes() for _ in range(3)]

    first = openings()
    assert openings() == first
    assert len(set(first)) == 3
    envs.set_options({"colour": "none"})
    envs.reset()
    envs.close()


def test_illegal_actions_are_rejected_or_replaced_with_a_warning() -> None:
    envs = make()
    envs.reset()
    illegal = (~get_action_masks(envs)).argmax(axis=1)
    with pytest.raises(boardwire.errors.IllegalAction):
        envs.step(illegal)
    envs.close()
    envs = make(illegal_actions="seeded_legal")
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(illegal)
    envs.reset()
    with pytest.warns(boardwire.envs.IllegalActionWarning) as warned:
        envs.step(illegal)
    assert warned[0].filename == __file__
    envs.close()


@pytest.mark.parametrize("game", [game.id for game in GAMES])
@pytest.mark.parametrize("network", ["MlpPolicy", "MultiInputPolicy"])
def test_maskable_ppo_trains_on_each_game(game: str, network: str, tmp_path: Path) -> None:
    kwargs = {} if network == "MlpPolicy" else {"observation": "ids"}
    envs = VecMonitor(make(game, 8, **kwargs))
    model = MaskablePPO(network, envs, **SMALL)
    model.learn(1024)
    assert model.num_timesteps == 1024
    assert all(episode["l"] > 3 for episode in model.ep_info_buffer)
    assert len(model.ep_success_buffer) == len(model.ep_info_buffer) > 0
    model.save(tmp_path / "model")
    spec = envs.get_attr("game_spec")[0]
    again = boardwire.sb3.policy(MaskablePPO.load(tmp_path / "model"), spec)
    evaluations = [
        boardwire.evaluate(policy, game, opponents="random", deals=4)
        for policy in (boardwire.sb3.policy(model, spec), again)
    ]
    np.testing.assert_array_equal(evaluations[0].rewards, evaluations[1].rewards)
    envs.close()


def test_equal_seeds_give_equal_networks() -> None:
    def parameters() -> list[NDArray[np.float32]]:
        envs = make()
        model = MaskablePPO("MlpPolicy", envs, **SMALL)
        model.learn(256)
        envs.close()
        return [each.detach().numpy() for each in model.policy.parameters()]

    for one, other in zip(parameters(), parameters(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_policy_normalizes_observations_like_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = VecNormalize(VecMonitor(make(num_envs=8)))
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    model.learn(256, callback=boardwire.sb3.EvaluationCallback(deals=2))
    observations: list[NDArray[np.float32]] = []
    predict = model.predict

    def record(obs: NDArray[np.float32], **kwargs: Any) -> Any:
        observations.append(obs)
        return predict(obs, **kwargs)

    monkeypatch.setattr(model, "predict", record)
    policy = boardwire.sb3.policy(model, envs.get_attr("game_spec")[0])
    boardwire.evaluate(policy, "faraway", opponents="random", deals=2)
    # Features are never negative, so a negative value was normalized.
    assert min(each.min() for each in observations) < -1
    envs.close()


def test_the_best_model_is_saved_with_its_normalization(tmp_path: Path) -> None:
    envs = VecNormalize(make(num_envs=8))
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    callback = boardwire.sb3.EvaluationCallback(deals=8, best=tmp_path / "best.zip")
    model.learn(256, callback=callback)
    spec = envs.get_attr("game_spec")[0]
    bare = make(num_envs=1)
    normalize = VecNormalize.load(str(tmp_path / "best_vecnormalize.pkl"), bare)
    again = MaskablePPO.load(tmp_path / "best")
    view = bare.vector.reset(seed=1)[0]
    np.testing.assert_array_equal(normalize.normalize_obs(view), envs.normalize_obs(view))
    policy = boardwire.sb3.policy(again, spec, normalize=normalize)
    evaluation = boardwire.evaluate(policy, "faraway", opponents="random", deals=8, reward="win")
    np.testing.assert_array_equal(evaluation.rewards, callback.evaluations[-1][1]["random"].rewards)
    envs.close()
    bare.close()


def test_a_model_can_be_an_opponent_and_rejects_other_tables() -> None:
    envs = make()
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    spec = envs.game_spec
    rivals = make(opponents=boardwire.sb3.policy(model, spec, deterministic=False))
    MaskablePPO("MlpPolicy", rivals, **SMALL).learn(128)
    result = boardwire.versus(
        {"model": boardwire.sb3.policy(model, spec), "first": first_legal}, "faraway", deals=2, reward="win"
    )
    assert 0 <= result.evaluations["model", "first"].mean <= 1
    with boardwire.connect() as client, pytest.raises(ValueError, match="those of faraway at 3 seats"):
        boardwire.sb3.policy(model, client.game("faraway", seats=3))
    envs.close()
    rivals.close()


def test_evaluate_policy_of_sb3_accepts_the_environments() -> None:
    envs = VecMonitor(make(reward="win"))
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=8)
    assert 0 <= mean <= 1
    envs.close()


def test_the_callback_evaluates_over_the_same_deals_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    envs = make(num_envs=8)
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    callback = boardwire.sb3.EvaluationCallback(
        ("greedy", "random"), every=256, deals=4, best=tmp_path / "best.zip", verbose=1
    )
    model.set_logger(configure(str(tmp_path), ["json"]))
    model.learn(512, callback=callback)
    model.logger.close()
    # A rollout has 256 steps. The last evaluation includes the last update.
    assert [steps for steps, _ in callback.evaluations] == [256, 512]
    last = callback.evaluations[-1][1]
    assert list(last) == ["greedy", "random"]
    spec = envs.game_spec
    policy = boardwire.sb3.policy(model, spec)
    again = boardwire.evaluate(policy, "faraway", opponents="random", deals=4, reward="win")
    np.testing.assert_array_equal(last["random"].rewards, again.rewards)
    lines = map(json.loads, (tmp_path / "progress.json").read_text().splitlines())
    figures = [line for line in lines if "eval/win_rate_random" in line][-1]
    assert figures["time/total_timesteps"] == 512
    assert figures["eval/win_rate_random"] == again.mean
    assert again.interval == (figures["eval/win_rate_random_low"], figures["eval/win_rate_random_high"])
    assert callback.best_mean_reward == max(by_bot["random"].mean for _, by_bot in callback.evaluations)
    assert MaskablePPO.load(tmp_path / "best.zip").num_timesteps in (256, 512)
    assert f"512 timesteps, wins against random: {again}" in capsys.readouterr().out
    envs.close()


def test_names_of_bots_can_be_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bots = ["greedy", "policy:faraway:argmax", *(f"policy:{'a' * 60}-{end}" for end in "xy")]
    opponents_played = []

    def redirected(*args: Any, opponents: str, **kwargs: Any) -> boardwire.Evaluation:
        opponents_played.append(opponents)
        return boardwire.evaluate(*args, opponents="random", **kwargs)

    monkeypatch.setattr(boardwire.sb3, "evaluate", redirected)
    envs = make(num_envs=8)
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    model.set_logger(configure(str(tmp_path), ["json", "stdout", "log"]))
    model.learn(256, callback=boardwire.sb3.EvaluationCallback(bots, deals=2))
    model.logger.close()
    assert opponents_played == bots
    figures = json.loads((tmp_path / "progress.json").read_text().splitlines()[-1])
    ends = ("", "_low", "_high")
    assert {f"eval/win_rate_{bot}{end}" for bot in bots for end in ends} <= set(figures)
    for table in (capsys.readouterr().out, (tmp_path / "log.txt").read_text()):
        names = {line.split()[1] for line in table.splitlines() if "win_rate_" in line}
        assert names == {*(f"win_rate_greedy{end}" for end in ends), "win_rate_policy:faraway:argmax"}
    envs.close()


def test_the_callback_rejects_anything_but_a_sequence_of_bots() -> None:
    for bots in ("greedy", ()):
        with pytest.raises(ValueError, match="must be a sequence of bots"):
            boardwire.sb3.EvaluationCallback(bots)


def test_callbacks_of_sb3_can_stop_training_at_an_evaluation() -> None:
    envs = make(num_envs=8)
    model = MaskablePPO("MlpPolicy", envs, **SMALL)
    stop = StopTrainingOnRewardThreshold(0.0)
    model.learn(
        1024, callback=boardwire.sb3.EvaluationCallback(every=256, deals=2, callback_on_new_best=stop)
    )
    assert model.num_timesteps < 1024
    envs.close()
