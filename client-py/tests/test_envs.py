"""The Gymnasium environments: third-party checkers, spaces, seeds, rewards and refusals."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector.utils import batch_space
from tables import IDS, MASKLESS, TABLES
from transports import engine, local

import boardwire
import boardwire.envs

__all__ = ["engine", "local"]

pytestmark = pytest.mark.usefixtures("engine")

ENCODINGS = [*product(["ids", "features"], ["info", "observation"])]


def make(game: str, **kwargs: Any) -> Any:
    """Creates an environment without wrappers."""
    return gymnasium.make(IDS[game], **kwargs).unwrapped


def finish(env: Any, info: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Plays first legal actions to the end; returns the sum of rewards and the last info."""
    total, over = 0.0, False
    while not over:
        assert info["action_mask"].any()
        _, reward, terminated, truncated, info = env.step(int(info["action_mask"].nonzero()[0][0]))
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        total, over = total + reward, terminated or truncated
    return total, info


def test_importing_registers_every_game_the_server_lists() -> None:
    assert {"boardwire/Faraway-v0"} <= set(IDS.values()) <= set(gymnasium.registry)
    with boardwire.connect("local:") as client:
        assert boardwire.register(client) == list(IDS.values())


PROGRAM = """
import sys
starts = []
sys.addaudithook(lambda event, _: starts.append(event) if event in FORBIDDEN else None)
import boardwire, gymnasium
print(starts, "boardwire/Faraway-v0" in gymnasium.registry)
import subprocess
subprocess.run(["true"], check=True)
assert starts, "the audit hook sees nothing"
"""


def test_importing_starts_no_process_and_needs_no_binary(tmp_path: Path) -> None:
    calls = ("fork", "forkpty", "exec", "posix_spawn", "spawn", "system")
    forbidden = {"subprocess.Popen", *(f"os.{call}" for call in calls)}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"FORBIDDEN = {forbidden}\n{PROGRAM}"],
        env={**os.environ, "BOARDWIRE_BINARY": str(tmp_path / "nothing")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[] True\n"


@pytest.mark.parametrize(
    ("game", "word"), [("faraway", "Faraway"), ("golden_compass", "GoldenCompass"), ("rauha", "Rauha")]
)
def test_ids_follow_the_spelling_of_gymnasium(game: str, word: str) -> None:
    assert boardwire.envs.environment_id(game, 1) == f"boardwire/{word}-v0"


@MASKLESS
@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize(("observation", "mask"), ENCODINGS)
def test_check_env_passes(game: str, observation: str, mask: str) -> None:
    env = make(game, observation=observation, mask=mask, render_mode="ansi")
    check_env(env, skip_render_check=False)
    env.close()


def test_large_values_have_a_type_that_frameworks_support() -> None:
    dtypes = set()
    for game, name in IDS.items():
        env = make(game, observation="ids")
        for field, space in env.observation_space.spaces.items():
            assert space.dtype == (np.uint8 if env.game_spec.fields[field].max < 256 else np.int32), (
                name,
                field,
            )
            dtypes.add(space.dtype)
        env.close()
    assert dtypes == {np.dtype(np.uint8), np.dtype(np.int32)}


@MASKLESS
@pytest.mark.parametrize("game", IDS)
@pytest.mark.parametrize(("observation", "mask"), ENCODINGS)
def test_a_local_and_a_remote_environment_match_over_1000_steps(
    address: str, game: str, observation: str, mask: str
) -> None:
    kwargs = {"observation": observation, "mask": mask, "render_mode": "ansi"}
    local_env, remote_env = make(game, **kwargs), make(game, address=address, **kwargs)
    check_environments_match(local_env, remote_env, num_steps=1000, seed=3)
    local_env.close()
    remote_env.close()


def test_decisions_of_bots_do_not_depend_on_their_speed() -> None:
    def episode() -> list[bytes]:
        env = make("faraway", seats=4)
        _, info = env.reset(seed=3)
        steps, over = [], False
        while not over:
            obs, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[:1].sum()))
            steps.append(pickle.dumps((obs, info)))
            over = terminated or truncated
        env.close()
        return steps

    first = episode()
    assert all(episode() == first for _ in range(10))


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_observations_lie_in_their_spaces_at_every_step(game: str, seats: int) -> None:
    for observation, mask in ENCODINGS:
        env = make(
            game, seats=seats, agent_seat=seats - 1, opponents="random", observation=observation, mask=mask
        )
        obs, info = env.reset(seed=seats)
        over = False
        while not over:
            assert obs in env.observation_space
            np.testing.assert_array_equal(info["action_mask"], env.action_masks())
            # `Space.sample` needs `int8`; tensors are masked by bools.
            assert (info["action_mask"].dtype, env.action_masks().dtype) == (np.int8, np.bool_)
            if mask == "observation":
                np.testing.assert_array_equal(obs["action_mask"], info["action_mask"])
            obs, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
            assert not info["substituted"]
            over = terminated or truncated
        assert obs in env.observation_space
        assert not env.action_masks().any()
        assert info["scores"].shape == info["ranks"].shape == (seats,)
        env.close()


@pytest.mark.parametrize(("observation", "mask"), ENCODINGS)
def test_the_encoder_has_the_spaces_of_an_environment(
    local: boardwire.Client, observation: Any, mask: Any
) -> None:
    env = make("faraway", observation=observation, mask=mask)
    encode = boardwire.envs.ObservationEncoder(env.game_spec, observation, mask)
    assert (encode.observation_space, encode.action_space) == (env.observation_space, env.action_space)
    with local.open_batch("faraway", environments=3, seed=1) as batch:
        step = batch.reset()
        assert encode(step.view, step.mask) in batch_space(encode.observation_space, 3)
        assert encode(step.view[0], step.mask[0]) in encode.observation_space
    env.close()


def test_a_seed_determines_all_later_episodes() -> None:
    env = make("faraway")

    def openings(seed: int) -> list[bytes]:
        return [pickle.dumps(env.reset(seed=start)[0]) for start in (seed, None, None)]

    assert openings(1) == openings(1)
    assert len(set(openings(1) + openings(2))) == 6
    env.close()


def test_reset_works_at_any_time_and_after_close() -> None:
    env = make("faraway", opponents="random")
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].nonzero()[0][0]))
    _, info = env.reset(seed=1)
    finish(env, info)
    with pytest.raises(boardwire.errors.EpisodeOver):
        env.step(0)
    env.close()
    env.close()
    _, info = env.reset(seed=1)
    finish(env, info)
    env.close()


def test_rewards_follow_the_setting() -> None:
    returns: dict[str, float] = {}
    for reward in ("rank", "win", "margin", "score"):
        env = make("faraway", seats=3, opponents=["random", "greedy"], agent_seat=1, reward=reward)
        _, info = env.reset(seed=5)
        returns[reward], info = finish(env, info)
        env.close()
    scores = info["scores"].tolist()
    assert returns["score"] == scores[1]
    assert returns["margin"] == scores[1] - max(scores[0], scores[2])
    assert returns["rank"] == 2 - info["ranks"][1]
    assert returns["win"] == (info["ranks"][1] == 1)


def test_illegal_actions_can_be_refused() -> None:
    env = make("faraway", illegal_actions="reject")
    _, info = env.reset(seed=1)
    with pytest.raises(boardwire.errors.IllegalAction):
        env.step(int((info["action_mask"] == 0).nonzero()[0][0]))
    with pytest.raises(boardwire.errors.IllegalAction):
        env.step(env.action_space.n)
    finish(env, info)
    env.close()


@pytest.mark.parametrize("address", [None, "local:"])
def test_a_forfeit_has_results_of_the_same_shape(address: str | None) -> None:
    env: Any = gymnasium.make("boardwire/Faraway-v0", illegal_actions="forfeit", address=address)
    _, info = env.reset(seed=1)
    _, _, terminated, _, info = env.step(int((info["action_mask"] == 0).argmax()))
    assert terminated
    assert [info[name].shape for name in ("scores", "ranks")] == [(2,), (2,)]
    assert not info["scores"].any()
    env.close()


def test_only_the_first_replaced_illegal_action_gives_a_warning() -> None:
    env = make("faraway")
    _, info = env.reset(seed=1)
    illegal = int((info["action_mask"] == 0).argmax())
    message = (
        rf"action {illegal} \({env.game_spec.actions[illegal].label}\) of seat 0 was illegal.*'seeded_legal'"
    )
    with pytest.warns(boardwire.envs.IllegalActionWarning, match=message) as warned:
        *_, info = env.step(illegal)
    assert info["substituted"]
    assert warned[0].filename == __file__
    *_, info = env.step(int((info["action_mask"] == 0).argmax()))
    assert info["substituted"]
    env.close()


def test_the_warning_points_at_the_caller_of_wrappers() -> None:
    env: Any = gymnasium.make(IDS["faraway"])
    _, info = env.reset(seed=1)
    with pytest.warns(boardwire.envs.IllegalActionWarning) as warned:
        env.step(int((info["action_mask"] == 0).argmax()))
    assert warned[0].filename == __file__
    env.close()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"agent_seat": 2}, "`agent_seat` must be from 0 to 1"),
        ({"agent_seat": -1}, "`agent_seat` must be from 0 to 1"),
        ({"opponents": ["random", "random"]}, "must be one player, or one for each of 1 other seats; got 2"),
        ({"observation": "pixels"}, "'ids' or 'features'"),
        ({"mask": "nowhere"}, "'info' or 'observation'"),
        ({"render_mode": "film"}, "or 'ansi'; got 'film'"),
        ({"opponents": "agent"}, "'agent' is not a bot"),
        ({"reward": "points"}, "`reward` must be one of rank, win, margin, score; got 'points'"),
        ({"illegal_actions": "shrug"}, "`illegal_actions` must be one of reject, .*; got 'shrug'"),
    ],
)
def test_invalid_arguments_are_refused_by_the_constructor(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        boardwire.envs.BoardwireEnv("faraway", **kwargs)


def test_steps_need_a_reset() -> None:
    env = make("faraway")
    for call in (lambda: env.step(0), env.action_masks):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()


@pytest.mark.parametrize("failure", [boardwire.errors.CallTimeout, boardwire.errors.ConnectionLost])
def test_after_a_failed_reset_only_reset_works(
    monkeypatch: pytest.MonkeyPatch, failure: type[boardwire.BoardwireError]
) -> None:
    env, other = (make("faraway", render_mode="ansi") for _ in range(2))
    for each in (env, other):
        each.reset(seed=1)
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Batch, "reset", Mock(side_effect=failure("no response")))
        with pytest.raises(failure):
            env.reset()
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])
    for each in (env, other):
        each.close()


@pytest.mark.parametrize("opponents", ["greedy", lambda decisions: decisions.mask.argmax(axis=1)])
@pytest.mark.parametrize("failure", [boardwire.errors.CallTimeout("no response"), KeyboardInterrupt()])
def test_after_an_interrupted_step_only_reset_works(
    monkeypatch: pytest.MonkeyPatch, opponents: Any, failure: BaseException
) -> None:
    def interrupted(batch: boardwire.Batch, actions: Any) -> None:
        batch.send(actions)
        raise failure

    env, other = (make("faraway", render_mode="ansi", opponents=opponents) for _ in range(2))
    for each in (env, other):
        each.reset(seed=1)
    with monkeypatch.context() as broken:
        broken.setattr(boardwire.Batch, "step", interrupted)
        with pytest.raises(type(failure)):
            env.step(int(env.action_masks().argmax()))
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])
    for each in (env, other):
        each.step(int(each.action_masks().argmax()))
        each.close()


def test_render_returns_text_only_in_mode_ansi() -> None:
    for mode, kind in ((None, type(None)), ("ansi", str)):
        env = make("faraway", render_mode=mode)
        env.reset(seed=1)
        assert type(env.render()) is kind
        env.close()


def test_options_are_strings_integers_or_bools(client: boardwire.Client) -> None:
    def options(guard: Any) -> Any:
        return client.game("golden_compass", options={"stall_guard_turns": guard}).options

    for guard in ("7", 7, np.int64(7)):
        assert options(guard) == {"stall_guard_turns": "7"}
    with pytest.raises(
        TypeError, match=r"option 'stall_guard_turns' must be a string, an integer or a bool; got 7\.5"
    ):
        options(7.5)


def test_options_reach_the_game() -> None:
    env = make("faraway", options={"variant": "advanced"}, skip_forced=True, observation="ids")
    obs, info = env.reset(seed=1)
    assert np.count_nonzero(obs["hand"]) == 5
    finish(env, info)
    env.close()


def test_vector_environments_run_in_processes() -> None:
    envs = gymnasium.make_vec(
        IDS["faraway"], num_envs=2, vectorization_mode="async", opponents="random", observation="features"
    )
    obs, infos = envs.reset(seed=4)
    for _ in range(40):
        # A row that has just ended is reset by the next step, whatever its action.
        rows = [mask if mask.any() else None for mask in infos["action_mask"]]
        actions = np.array([envs.single_action_space.sample(mask) for mask in rows])
        obs, _, _, _, infos = envs.step(actions)
        assert obs in envs.observation_space
    envs.close()
