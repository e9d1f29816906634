"""Policies of this process as opponents: environments show what matches do that are played by hand."""

from __future__ import annotations

import zlib
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from carriers import engine, local
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from tables import IDS, MASKLESS, TABLES, first_legal, last_legal

import boardwire
import boardwire.envs
from boardwire import Decisions, errors

__all__ = ["engine", "local"]

pytestmark = pytest.mark.usefixtures("engine")

MODES = list(AutoresetMode)


def salted(asked: Decisions) -> NDArray[np.int64]:
    """A policy that chooses by all that the seat sees, so that a difference soon shows."""
    legal = [np.flatnonzero(mask) for mask in asked.mask]
    picks = [zlib.crc32(view.tobytes()) % len(some) for view, some in zip(asked.view, legal, strict=True)]
    return np.array([some[pick] for some, pick in zip(legal, picks, strict=True)], np.int64)


def make(game: str = "faraway", **kwargs: Any) -> Any:
    return gymnasium.make(IDS[game], **kwargs).unwrapped


def make_vec(game: str = "faraway", num_envs: int = 5, **kwargs: Any) -> Any:
    return gymnasium.make_vec(IDS[game], num_envs=num_envs, **kwargs)


def one_row(seen: boardwire.Observation, seat: int) -> Decisions:
    return Decisions(seen.view[None], seen.mask[None], np.array([seat], np.uint8), np.array([0]))


def played_by_hand(
    client: boardwire.Client, game: str, seats: int, own: int, seed: int
) -> list[boardwire.Observation]:
    """What one seat sees at its decisions, and at the end, of an episode in which everybody chooses so."""
    shown = []
    with client.create_match(game, players=["agent"] * seats, seed=seed) as match:
        at = [match.join(seat) for seat in range(seats)]
        while not (seen := at[own].observe(wait=False)).over:
            seat = seen.pending[0]
            if seat == own:
                shown.append(seen)
            at[seat].act(int(salted(one_row(at[seat].observe(wait=False), seat))[0]), wait=False)
    return [*shown, seen]


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_an_environment_shows_what_a_match_played_by_hand_shows(
    client: boardwire.Client, game: str, seats: int
) -> None:
    own = seats - 1
    env = make(game, seats=seats, agent_seat=own, opponents=salted, observation="features")
    random = np.random.default_rng(3)
    for first in (3, None):
        expected = played_by_hand(client, game, seats, own, int(random.integers(2**64, dtype=np.uint64)))
        seen, info = env.reset(seed=first)
        over, reward = False, 0.0
        for number, by_hand in enumerate(expected):
            np.testing.assert_array_equal(seen, env.game_spec.features(by_hand.view))
            np.testing.assert_array_equal(info["action_mask"], by_hand.mask)
            assert (info["ply"], info["decision"]) == (by_hand.ply, number)
            assert (reward, over) == (by_hand.reward, by_hand.over)
            if not over:
                action = int(salted(one_row(by_hand, own))[0])
                seen, reward, terminated, truncated, info = env.step(action)
                over = terminated or truncated
        assert over
        assert (tuple(info["scores"]), tuple(info["ranks"])) == (expected[-1].scores, expected[-1].ranks)
    env.close()


@pytest.mark.parametrize(("game", "mode"), [*product(IDS, MODES)])
def test_a_vector_environment_shows_what_single_ones_show(game: str, mode: AutoresetMode) -> None:
    given: dict[str, Any] = {"seats": 3, "agent_seat": 1, "opponents": [last_legal, "random"]}
    given["observation"] = "ids"
    envs = make_vec(game, autoreset_mode=mode, **given)
    singles = [make(game, **given) for _ in range(5)]
    shown, infos = envs.reset(seed=7)
    begun = [env.reset(seed=7 + i) for i, env in enumerate(singles)]
    done = np.zeros(5, np.bool_)
    while not done.all():
        for i in np.flatnonzero(~done):
            for name, values in begun[i][0].items():
                np.testing.assert_array_equal(shown[name][i], values)
            np.testing.assert_array_equal(infos["action_mask"][i], begun[i][1]["action_mask"])
        actions = envs.action_masks().argmax(axis=1)
        if mode is AutoresetMode.DISABLED and done.any():
            # Those that are over would be refused; a reset of them leaves the others alone.
            envs.reset(options={"reset_mask": done.copy()})
            actions = envs.action_masks().argmax(axis=1)
        shown, reward, terminated, truncated, infos = envs.step(actions)
        for i in np.flatnonzero(~done):
            seen, earned, *ends, info = singles[i].step(int(actions[i]))
            assert (reward[i], terminated[i], truncated[i]) == (earned, *ends)
            done[i] = any(ends)
            begun[i] = seen, info
            if not done[i]:
                continue
            results = infos
            if mode is AutoresetMode.SAME_STEP:
                last, results = infos["final_obs"][i], infos["final_info"]
                begun[i][1]["action_mask"] = infos["action_mask"][i]
            else:
                last = {name: values[i] for name, values in shown.items()}
            for name, values in seen.items():
                np.testing.assert_array_equal(last[name], values)
            np.testing.assert_array_equal(results["scores"][i], info["scores"])
            np.testing.assert_array_equal(results["ranks"][i], info["ranks"])
    envs.close()


def test_rows_that_are_over_keep_showing_the_agents_view() -> None:
    given: dict[str, Any] = {"agent_seat": 1, "opponents": first_legal, "observation": "ids"}
    envs = make_vec(autoreset_mode=AutoresetMode.DISABLED, **given)
    envs.reset(seed=1)
    while True:
        shown, _, terminated, _, _ = envs.step(envs.action_masks().argmax(axis=1))
        if terminated.any():
            break
    over = np.flatnonzero(terminated)
    kept = {name: values[over] for name, values in shown.items()}
    shown, _ = envs.reset(options={"reset_mask": ~terminated})
    for name, values in kept.items():
        np.testing.assert_array_equal(shown[name][over], values)
    envs.close()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda asked: np.zeros(len(asked.seat) + 1, np.int64), "must return one integer for each of"),
        (lambda asked: asked.mask.argmax(axis=1) * 1.0, "float64"),
        (lambda asked: asked.mask.argmin(axis=1), "not legal"),
        (lambda asked: np.full(len(asked.seat), -1), "action -1"),
        (lambda asked: np.full(len(asked.seat), 9999), "action 9999"),
    ],
)
def test_a_policy_that_is_wrong_is_named_and_a_reset_goes_on(wrong: Any, message: str) -> None:
    is_wrong = [False]

    def opponent(asked: Decisions) -> Any:
        return wrong(asked) if is_wrong[0] else first_legal(asked)

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
        # What was under way is lost, and said to be.
        with pytest.raises(errors.BoardwireError, match="reset the environment"):
            env.step(0)
        with pytest.raises(errors.BoardwireError, match="reset the environment"):
            envs.step(np.zeros(5, np.int64))
        is_wrong[0] = False
    env.close()
    envs.close()


def test_what_cannot_be_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="seat 1 must be the name of a bot or a policy; got 7"):
        boardwire.envs.BoardwireEnv("faraway", opponents=[7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="must name 1 players, one for each other seat; got 2"):
        boardwire.envs.BoardwireVectorEnv("faraway", opponents=[first_legal, first_legal])


@MASKLESS
def test_the_checker_of_gymnasium_finds_nothing() -> None:
    env = make("faraway", opponents=first_legal)
    check_env(env, skip_render_check=True)
    env.close()
