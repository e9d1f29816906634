"""Python policies as opponents: environments give the same observations as matches."""

from __future__ import annotations

import zlib
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from tables import IDS, MASKLESS, TABLES, first_legal, last_legal
from transports import engine, local

import boardwire
import boardwire.envs
from boardwire import Decisions

__all__ = ["engine", "local"]

pytestmark = pytest.mark.usefixtures("engine")

MODES = list(AutoresetMode)


def salted(decisions: Decisions) -> NDArray[np.int64]:
    """A policy whose action depends on each byte of the view, so that any difference changes the episode."""
    legal = [np.flatnonzero(mask) for mask in decisions.mask]
    picks = [zlib.crc32(view.tobytes()) % len(some) for view, some in zip(decisions.view, legal, strict=True)]
    return np.array([some[pick] for some, pick in zip(legal, picks, strict=True)], np.int64)


def make(game: str = "faraway", **kwargs: Any) -> Any:
    return gymnasium.make(IDS[game], **kwargs).unwrapped


def make_vec(game: str = "faraway", num_envs: int = 5, **kwargs: Any) -> Any:
    return gymnasium.make_vec(IDS[game], num_envs=num_envs, **kwargs)


def one_row(obs: boardwire.Observation, seat: int) -> Decisions:
    return Decisions(obs.view[None], obs.mask[None], np.array([seat], np.uint8), np.array([0]))


def observations_of_match(
    client: boardwire.Client, game: str, seats: int, own: int, seed: int
) -> list[boardwire.Observation]:
    """Plays an episode with the same policy at all seats; returns what one seat observes."""
    observations = []
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        joined = [match.join(seat) for seat in range(seats)]
        while not (obs := joined[own].observe(wait=False)).over:
            seat = obs.pending[0]
            if seat == own:
                observations.append(obs)
            joined[seat].act(int(salted(one_row(joined[seat].observe(wait=False), seat))[0]), wait=False)
    return [*observations, obs]


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_environment_equals_a_match(client: boardwire.Client, game: str, seats: int) -> None:
    own = seats - 1
    env = make(game, seats=seats, agent_seat=own, opponents=salted, observation="features")
    random = np.random.default_rng(3)
    for first in (3, None):
        expected = observations_of_match(
            client, game, seats, own, int(random.integers(2**64, dtype=np.uint64))
        )
        obs, info = env.reset(seed=first)
        over, reward = False, 0.0
        for number, by_hand in enumerate(expected):
            np.testing.assert_array_equal(obs, env.game_spec.features(by_hand.view))
            np.testing.assert_array_equal(info["action_mask"], by_hand.mask)
            assert (info["ply"], info["decision"]) == (by_hand.ply, number)
            assert (reward, over) == (by_hand.reward, by_hand.over)
            if not over:
                action = int(salted(one_row(by_hand, own))[0])
                obs, reward, terminated, truncated, info = env.step(action)
                over = terminated or truncated
        assert over
        assert (tuple(info["scores"]), tuple(info["ranks"])) == (expected[-1].scores, expected[-1].ranks)
    env.close()


@pytest.mark.parametrize(("game", "mode"), [*product(IDS, MODES)])
def test_a_vector_environment_equals_single_environments(game: str, mode: AutoresetMode) -> None:
    kwargs: dict[str, Any] = {
        "seats": 3,
        "agent_seat": 1,
        "opponents": [last_legal, "random"],
        "observation": "ids",
    }
    envs = make_vec(game, autoreset_mode=mode, **kwargs)
    singles = [make(game, **kwargs) for _ in range(5)]
    obs, infos = envs.reset(seed=7)
    singly = [env.reset(seed=7 + i) for i, env in enumerate(singles)]
    done = np.zeros(5, np.bool_)
    while not done.all():
        for i in np.flatnonzero(~done):
            for name, values in singly[i][0].items():
                np.testing.assert_array_equal(obs[name][i], values)
            np.testing.assert_array_equal(infos["action_mask"][i], singly[i][1]["action_mask"])
        actions = envs.action_masks().argmax(axis=1)
        if mode is AutoresetMode.DISABLED and done.any():
            # A step rejects finished environments. Their reset does not change the other rows.
            envs.reset(options={"reset_mask": done.copy()})
            actions = envs.action_masks().argmax(axis=1)
        obs, reward, terminated, truncated, infos = envs.step(actions)
        for i in np.flatnonzero(~done):
            single, earned, *ends, info = singles[i].step(int(actions[i]))
            assert (reward[i], terminated[i], truncated[i]) == (earned, *ends)
            done[i] = any(ends)
            singly[i] = single, info
            if not done[i]:
                continue
            results = infos
            if mode is AutoresetMode.SAME_STEP:
                last, results = infos["final_obs"][i], infos["final_info"]
                singly[i][1]["action_mask"] = infos["action_mask"][i]
            else:
                last = {name: values[i] for name, values in obs.items()}
            for name, values in single.items():
                np.testing.assert_array_equal(last[name], values)
            np.testing.assert_array_equal(results["scores"][i], info["scores"])
            np.testing.assert_array_equal(results["ranks"][i], info["ranks"])
    envs.close()


def test_finished_rows_keep_the_observation_of_the_agent() -> None:
    kwargs: dict[str, Any] = {"agent_seat": 1, "opponents": first_legal, "observation": "ids"}
    envs = make_vec(autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    envs.reset(seed=1)
    while True:
        obs, _, terminated, _, _ = envs.step(envs.action_masks().argmax(axis=1))
        if terminated.any():
            break
    over = np.flatnonzero(terminated)
    finished = {name: values[over] for name, values in obs.items()}
    obs, _ = envs.reset(options={"reset_mask": ~terminated})
    for name, values in finished.items():
        np.testing.assert_array_equal(obs[name][over], values)
    envs.close()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda decisions: np.zeros(len(decisions.seat) + 1, np.int64),
            "must return one integer for each of",
        ),
        (lambda decisions: decisions.mask.argmax(axis=1) * 1.0, "float64"),
        (lambda decisions: decisions.mask.argmin(axis=1), "not legal"),
        (lambda decisions: np.full(len(decisions.seat), -1), "action -1"),
        (lambda decisions: np.full(len(decisions.seat), 9999), "action 9999"),
    ],
)
def test_an_error_names_the_wrong_policy_and_a_reset_recovers(wrong: Any, message: str) -> None:
    is_wrong = [False]

    def opponent(decisions: Decisions) -> Any:
        return wrong(decisions) if is_wrong[0] else first_legal(decisions)

    env, envs = make(opponents=opponent), make_vec(opponents=opponent)
    for _ in range(2):
        _, info = env.reset(seed=4)
        envs.reset(seed=4)
        is_wrong[0] = True
        with pytest.raises(ValueError, match=message) as raised:
            env.step(int(info["action_mask"].argmax()))
        assert "the opponent at seat 1" in str(raised.value)
        with pytest.raises(ValueError, match=message):
            envs.step(envs.action_masks().argmax(axis=1))
        # The error discards the episode.
        for call in (lambda: env.step(0), lambda: envs.step(np.zeros(5, np.int64)), env.action_masks):
            with pytest.raises(gymnasium.error.ResetNeeded):
                call()
        is_wrong[0] = False
    env.close()
    envs.close()


def test_constructors_reject_invalid_opponents() -> None:
    with pytest.raises(TypeError, match="seat 1 must be the name of a bot or a policy; got 7"):
        boardwire.envs.BoardwireEnv("faraway", opponents=[7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="must be one player, or one for each of 1 other seats; got 2"):
        boardwire.envs.BoardwireVectorEnv("faraway", opponents=[first_legal, first_legal])


@MASKLESS
def test_check_env_passes() -> None:
    env = make("faraway", opponents=first_legal)
    check_env(env, skip_render_check=True)
    env.close()
