"""The vector environment behaves like the vector environments of Gymnasium."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any
from unittest.mock import Mock

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray
from tables import IDS, TABLES
from transports import engine, local

import boardwire
import boardwire.envs

__all__ = ["engine", "local"]

pytestmark = pytest.mark.usefixtures("engine")

KINDS = [*product(["ids", "features"], ["info", "observation"])]
MODES = list(AutoresetMode)


def make(game: str = "faraway", num_envs: int = 3, **kwargs: Any) -> Any:
    """Creates a vector environment."""
    return gymnasium.make_vec(IDS[game], num_envs=num_envs, **{"opponents": "random", **kwargs})


def lowest(envs: Any) -> NDArray[np.int64]:
    """Returns the lowest legal action of each environment."""
    return np.asarray(envs.action_masks().argmax(axis=1), dtype=np.int64)


def until_one_ends(envs: Any) -> tuple[Any, ...]:
    """Plays lowest legal actions until an episode ends and returns the result of that step."""
    while True:
        obs, reward, terminated, truncated, infos = envs.step(lowest(envs))
        if (terminated | truncated).any():
            return obs, reward, terminated, truncated, infos


def test_make_vec_creates_this_class() -> None:
    envs = make()
    assert isinstance(envs, boardwire.envs.BoardwireVectorEnv)
    assert envs.spec is not None
    assert gymnasium.make_vec(envs.spec).num_envs == 3
    assert "num_envs=3" in repr(envs)


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_observations_are_in_their_spaces_and_have_the_documented_types(game: str, seats: int) -> None:
    for (observation, mask), mode in zip(KINDS, [*MODES[:2], *MODES[:2]], strict=True):
        envs = make(
            game,
            seats=seats,
            agent_seat=seats - 1,
            observation=observation,
            mask=mask,
            autoreset_mode=mode,
            skip_forced=True,
        )
        obs, infos = envs.reset(seed=seats)
        n, ended = envs.num_envs, 0
        while ended < 2 * n:
            assert obs in envs.observation_space
            assert infos["action_mask"].dtype == np.int8
            np.testing.assert_array_equal(infos["action_mask"], envs.action_masks())
            if mask == "observation":
                np.testing.assert_array_equal(obs["action_mask"], infos["action_mask"])
            obs, reward, terminated, truncated, infos = envs.step(lowest(envs))
            assert (reward.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)
            assert reward.shape == terminated.shape == truncated.shape == (n,)
            assert not infos["substituted"].any()
            over = terminated | truncated
            ended += over.sum()
            if over.any():
                results = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
                np.testing.assert_array_equal(results["_scores"], over)
                assert results["scores"].shape == results["ranks"].shape == (n, seats)
                assert (results["ranks"][over] >= 1).all()
                assert not reward[~over].any()
        envs.close()


@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_rows_equal_single_environments(observation: str, mask: str) -> None:
    kwargs: dict[str, Any] = {"observation": observation, "mask": mask}
    envs = make(num_envs=2, **kwargs)
    singles = [gymnasium.make(IDS["faraway"], opponents="random", **kwargs).unwrapped for _ in range(2)]
    expected = [single.reset(seed=7 + number)[0] for number, single in enumerate(singles)]
    obs, _ = envs.reset(seed=7)
    over = np.zeros(2, np.bool_)
    while not over.any():
        assert data_equivalence(list(iterate(envs.observation_space, obs)), expected)
        actions = lowest(envs)
        obs, reward, terminated, truncated, _ = envs.step(actions)
        over = terminated | truncated
        steps = [single.step(int(action)) for single, action in zip(singles, actions, strict=True)]
        expected = [step[0] for step in steps]
        assert reward.tolist() == [step[1] for step in steps]
        assert over.tolist() == [step[2] or step[3] for step in steps]
    for env in (envs, *singles):
        env.close()


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_is_declared_in_metadata(mode: AutoresetMode) -> None:
    for argument in (mode, mode.value):
        envs = make(autoreset_mode=argument)
        # Some wrappers read the metadata, others read the attribute.
        assert envs.metadata["autoreset_mode"] is envs.autoreset_mode is mode


def test_next_step_resets_ignore_the_action_and_have_no_reward_and_no_flags() -> None:
    envs = make(num_envs=4, autoreset_mode=AutoresetMode.NEXT_STEP)
    envs.reset(seed=5)
    _, reward, terminated, truncated, infos = until_one_ends(envs)
    over = terminated | truncated
    assert reward[over].all()
    assert "final_obs" not in infos
    assert not infos["action_mask"][over].any()
    for action in (0, 200):
        twin = make(num_envs=4, autoreset_mode=AutoresetMode.NEXT_STEP)
        twin.reset(seed=5)
        until_one_ends(twin)
        actions = np.where(over, action, lowest(twin))
        _, reward, terminated, truncated, infos = twin.step(actions)
        assert not reward[over].any()
        assert not (terminated | truncated)[over].any()
        assert infos["action_mask"][over].any(axis=1).all()
        assert (infos["ply"][over] < 2).all()
        twin.close()
    envs.close()


@pytest.mark.parametrize(("observation", "mask"), KINDS)
def test_same_step_resets_return_the_last_observation_in_infos(observation: str, mask: str) -> None:
    kwargs: dict[str, Any] = {"num_envs": 4, "observation": observation, "mask": mask}
    envs = make(autoreset_mode=AutoresetMode.SAME_STEP, **kwargs)
    other = make(autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    envs.reset(seed=5)
    other.reset(seed=5)
    obs, reward, terminated, truncated, infos = until_one_ends(envs)
    ended, end_reward, *flags, end_infos = until_one_ends(other)
    over = terminated | truncated
    np.testing.assert_array_equal(reward, end_reward)
    np.testing.assert_array_equal(flags, [terminated, truncated])
    for key in ("_final_obs", "_final_info"):
        np.testing.assert_array_equal(infos[key], over)
    last = list(iterate(other.observation_space, ended))
    for row in range(4):
        if over[row]:
            assert data_equivalence(infos["final_obs"][row], last[row])
            assert infos["final_obs"][row] in envs.single_observation_space
        else:
            assert infos["final_obs"][row] is None
    np.testing.assert_array_equal(infos["final_info"]["scores"][over], end_infos["scores"][over])
    assert "scores" not in infos
    assert infos["action_mask"].any(axis=1).all()
    opening, _ = other.reset(options={"reset_mask": over})
    assert data_equivalence(opening, obs)
    envs.close()
    other.close()


def test_disabled_mode_needs_a_reset_of_the_finished_rows() -> None:
    envs = make(num_envs=4, autoreset_mode=AutoresetMode.DISABLED, observation="ids")
    envs.reset(seed=8)
    obs, _, terminated, truncated, _ = until_one_ends(envs)
    over = terminated | truncated
    with pytest.raises(boardwire.errors.EpisodeOver):
        envs.step(lowest(envs))
    opening, infos = envs.reset(options={"reset_mask": over})
    for name in obs:
        np.testing.assert_array_equal(opening[name][~over], obs[name][~over])
    assert infos["action_mask"].any(axis=1).all()
    assert (infos["ply"][over] < 2).all()
    envs.step(lowest(envs))
    envs.close()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False, False], TypeError),
        (np.array([1, 0, 0]), TypeError),
        (np.array([True]), ValueError),
        (np.zeros(3, np.bool_), ValueError),
    ],
)
def test_invalid_reset_masks_are_rejected(mask: Any, error: type[Exception]) -> None:
    envs = make()
    envs.reset(seed=1)
    with pytest.raises(error):
        envs.reset(options={"reset_mask": mask})
    envs.close()


SEEDS = [7, np.int64(7), [1, 2, 3], np.array([1, 2, 3]), [1, None, 3]]


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_a_seed_determines_all_later_episodes(seed: Any) -> None:
    def play(envs: Any, seed: Any) -> list[bytes]:
        envs.reset(seed=3)
        results = [pickle.dumps(envs.reset(seed=seed)[0])]
        results += [pickle.dumps(envs.step(lowest(envs))) for _ in range(120)]
        return results

    one, other = make(), make()
    first = play(one, seed)
    assert play(one, seed) == first
    if None not in np.atleast_1d(np.array(seed, dtype=object)):
        other.reset()
        other.step(lowest(other))
        assert play(other, seed) == first
    assert play(one, 8)[0] != first[0]
    assert len(set(first)) > 100
    one.close()
    other.close()


def test_one_seed_is_for_the_first_row_and_later_rows_count_up() -> None:
    def play(seed: Any, num_envs: int, **kwargs: Any) -> NDArray[np.float32]:
        envs = make(num_envs=num_envs, observation="features", **kwargs)
        observations = [envs.reset(seed=seed)[0]]
        observations += [envs.step(lowest(envs))[0] for _ in range(80)]
        envs.close()
        return np.stack(observations, axis=1)

    whole = play(7, 4)
    np.testing.assert_array_equal(play([7, 8, 9, 10], 4), whole)
    np.testing.assert_array_equal(play(7, 2), whole[:2])
    # The same seeds in other rows give the same first episodes.
    np.testing.assert_array_equal(play([9, 8, 7, 7], 4)[:, :10], whole[[2, 1, 0, 0], :10])


def test_a_partial_reset_uses_the_seeds_of_its_rows_and_changes_no_other_row() -> None:
    envs = make(num_envs=3, observation="features")
    opening, _ = envs.reset(seed=7)
    before, *_ = envs.step(lowest(envs))
    after, _ = envs.reset(seed=7, options={"reset_mask": np.array([False, True, True])})
    np.testing.assert_array_equal(after[1:], opening[1:])
    np.testing.assert_array_equal(after[0], before[0])
    envs.close()


@pytest.mark.parametrize(
    ("seed", "error"),
    [([1, 2], ValueError), (-3, gymnasium.error.Error), ("seven", TypeError), (1.5, TypeError)],
)
def test_invalid_seeds_are_rejected_and_change_nothing(seed: Any, error: type[Exception]) -> None:
    envs = make()
    envs.reset(seed=1)
    expected = envs.step(lowest(envs))[0]
    with pytest.raises(error):
        envs.reset(seed=seed)
    twin = make()
    twin.reset(seed=1)
    assert data_equivalence(twin.step(lowest(twin))[0], expected)
    assert data_equivalence(twin.step(lowest(twin))[0], envs.step(lowest(envs))[0])
    envs.close()
    twin.close()


def test_rows_and_successive_resets_differ() -> None:
    envs = make(observation="features")
    first, _ = envs.reset(seed=1)
    second, _ = envs.reset()
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 6
    envs.close()


def test_steps_need_a_reset_and_a_closed_environment_can_be_reset() -> None:
    envs = make(observation="ids")
    for call in (lambda: envs.step([0, 0, 0]), envs.action_masks):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    opening, _ = envs.reset(seed=1)
    envs.close()
    envs.close()
    again, _ = envs.reset(seed=1)
    assert all((again[name] == values).all() for name, values in opening.items())
    batch = envs._session.batch
    envs.close()
    with pytest.raises(boardwire.errors.Gone):
        batch.reset()


def test_after_a_failed_reset_only_a_full_reset_works(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = make()
    opening, _ = envs.reset(seed=1)
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Batch, "reset", Mock(side_effect=boardwire.errors.CallTimeout("late")))
        with pytest.raises(boardwire.errors.CallTimeout):
            envs.reset(options={"reset_mask": np.array([True, False, True])})
    for call in (lambda: envs.step([0, 0, 0]), envs.action_masks):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset all environments"):
        envs.reset(options={"reset_mask": np.array([True, False, True])})
    np.testing.assert_array_equal(envs.reset(seed=1)[0], opening)
    envs.close()


def test_deleting_an_environment_does_not_close_its_batch() -> None:
    # Gymnasium before 1.3 closes deleted environments, and a forked process inherits environments.
    envs = make()
    envs.reset(seed=1)
    envs.__del__()
    envs.step(envs.action_masks().argmax(axis=1))
    envs.close()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"agent_seat": 2}, "`agent_seat` must be from 0 to 1"),
        ({"opponents": ["random", "random"]}, "must be one player"),
        ({"observation": "pixels"}, "'ids' or 'features'"),
        ({"render_mode": "ansi"}, "renders nothing"),
        ({"autoreset_mode": "never"}, "never"),
        ({"num_envs": 0}, "at least 1"),
        ({"reward": "points"}, "`reward` must be one of rank, win, margin, score; got 'points'"),
    ],
)
def test_constructors_reject_invalid_arguments(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        boardwire.envs.BoardwireVectorEnv("faraway", **kwargs)


def test_illegal_actions_are_replaced_or_rejected() -> None:
    envs = make(illegal_actions="reject")
    _, infos = envs.reset(seed=1)
    illegal = (infos["action_mask"] == 0).argmax(axis=1)
    with pytest.raises(boardwire.errors.IllegalAction):
        envs.step(illegal)
    envs.close()
    envs = make()
    envs.reset(seed=1)
    with pytest.warns(boardwire.envs.IllegalActionWarning) as warned:
        assert envs.step(illegal)[4]["substituted"].all()
    label = envs.game_spec.actions[illegal[0]].label
    assert f"action {illegal[0]} ({label}) of environment 0 was illegal" in str(warned[0].message)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    # A second warning would be an error.
    envs.step((envs.action_masks() == 0).argmax(axis=1))
    envs.close()


# Both warn once when they replace an action.
@pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")
def test_substituted_flags_at_the_end_have_the_layout_of_gymnasium() -> None:
    kwargs: dict[str, Any] = {"opponents": "random", "disable_env_checker": True}
    singles = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make(IDS["faraway"], **kwargs)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    envs = make(autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=7)
    singles.reset(seed=7)
    over = np.zeros(3, np.bool_)
    while not over.any():
        # The first two rows always play an illegal action.
        actions = np.where([True, True, False], (envs.action_masks() == 0).argmax(axis=1), lowest(envs))
        _, _, terminated, truncated, infos = envs.step(actions)
        _, _, *ends, single_infos = singles.step(actions)
        over = terminated | truncated
        np.testing.assert_array_equal([terminated, truncated], ends)
        for name in ("substituted", "_substituted"):
            np.testing.assert_array_equal(infos[name], single_infos[name])
    for name in ("substituted", "_substituted"):
        np.testing.assert_array_equal(infos["final_info"][name], single_infos["final_info"][name])
    assert infos["final_info"]["substituted"].any()
    np.testing.assert_array_equal(infos["substituted"], [True, True, False] & ~over)
    envs.close()
    singles.close()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_wrappers_of_gymnasium_work(mode: AutoresetMode) -> None:
    envs: Any = make(observation="features", autoreset_mode=mode)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    if mode is AutoresetMode.NEXT_STEP:
        # Observation wrappers of Gymnasium support only this mode.
        envs = gymnasium.wrappers.vector.RescaleObservation(envs, np.float32(0), np.float32(1))
    envs = gymnasium.wrappers.vector.DictInfoToList(envs)
    envs.reset(seed=2)
    ended = 0
    for _ in range(200):
        _, _, terminated, truncated, infos = envs.step(lowest(envs.unwrapped))
        over = terminated | truncated
        ended += over.sum()
        for row in np.flatnonzero(over):
            assert infos[row]["episode"]["l"] > 10
    assert ended >= 6
    envs.close()
