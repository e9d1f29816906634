"""Environments after their server was killed: a step says so, and a reset starts again."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from outages import Server, server, stream_of
from processes import FARAWAY

import boardwire
from boardwire import _shared
from boardwire.pettingzoo import aec_env, parallel_env

__all__ = ["server"]

pytestmark = pytest.mark.slow


class Kind(NamedTuple):
    """A kind of environment, driven like any other."""

    make: Callable[[str | None], Any]
    #: Resets with a seed, or without; gives all that is shown.
    reset: Callable[[Any, Any], Any]
    #: Makes the lowest legal decisions.
    step: Callable[[Any], Any]


def single(address: str | None) -> Any:
    """One seat of a match, without wrappers."""
    return gymnasium.make(FARAWAY, opponents="random", address=address).unwrapped


def vector(mode: str) -> Kind:
    """One seat of many matches."""

    def make(address: str | None) -> Any:
        return gymnasium.make_vec(
            FARAWAY, num_envs=3, opponents="random", autoreset_mode=mode, address=address
        )

    return Kind(
        make, lambda env, seed: env.reset(seed=seed), lambda env: env.step(env.action_masks().argmax(axis=1))
    )


def reset_aec(env: Any, seed: Any) -> Any:
    """Resets all agents in turn."""
    env.reset(seed=seed)
    return env.last()


def step_aec(env: Any) -> Any:
    """The lowest legal decision of the agent selected."""
    return env.step(int(env.last()[0]["action_mask"].argmax()))


def step_parallel(env: Any) -> Any:
    """The lowest legal decision of everybody who owes one."""
    return env.step({agent: int(env._table.seen(agent).mask.argmax()) for agent in env.possible_agents})


def step_single(env: Any) -> Any:
    """The lowest legal decision."""
    return env.step(int(env.action_masks().argmax()))


KINDS = {
    "single": Kind(single, lambda env, seed: env.reset(seed=seed), step_single),
    "vector-next": vector("NextStep"),
    "vector-same": vector("SameStep"),
    "vector-disabled": vector("Disabled"),
    "aec": Kind(lambda address: aec_env("faraway", address=address), reset_aec, step_aec),
    "parallel": Kind(
        lambda address: parallel_env("faraway", address=address),
        lambda env, seed: env.reset(seed=seed),
        step_parallel,
    ),
}

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


@each_kind
def test_a_step_tells_to_reset_and_a_seeded_reset_is_that_of_a_new_environment(
    server: Server, kind: Kind
) -> None:
    env = kind.make(server.address)
    for seed in (3, 4):
        kind.reset(env, seed)
        kind.step(env)
        server.crash()
        for _ in range(2):
            with pytest.raises(boardwire.errors.ConnectionLost, match="reset the environment"):
                kind.step(env)
        server.restart()
        with pytest.raises(boardwire.BoardwireError, match="reset the environment"):
            kind.step(env)
        shown = pickle.dumps(kind.reset(env, 7))
        new = kind.make(server.address)
        assert pickle.dumps(kind.reset(new, 7)) == shown
        assert pickle.dumps(kind.step(new)) == pickle.dumps(kind.step(env))
        new.close()
    env.close()


@each_kind
def test_a_reset_without_seed_goes_on_from_the_environments_own_generator(server: Server, kind: Kind) -> None:
    def follow(tries: int) -> list[bytes]:
        env = kind.make(server.address)
        shown = [kind.reset(env, 7)]
        kind.step(env)
        server.crash()
        for _ in range(tries if server.address else 0):
            with pytest.raises(boardwire.errors.ConnectionLost):
                kind.reset(env, None)
            with pytest.raises((boardwire.BoardwireError, gymnasium.error.ResetNeeded), match="reset"):
                kind.step(env)
        server.restart()
        shown += [kind.reset(env, None), kind.step(env), kind.reset(env, None)]
        env.close()
        return [pickle.dumps(part) for part in shown]

    # Resets that fail draw nothing.
    once = follow(0)
    assert follow(3) == once
    assert len({once[0], once[1], once[3]}) == 3


@pytest.mark.parametrize("kind", [KINDS["single"], KINDS["parallel"]], ids=["single", "parallel"])
def test_the_episodes_of_one_match_are_those_of_the_match_after_it(server: Server, kind: Kind) -> None:
    lucky, unlucky = kind.make(server.address), kind.make(server.address)
    expected = [pickle.dumps(kind.reset(lucky, seed)) for seed in (7, None, None)]
    shown = []
    for seed in (7, None, None):
        shown.append(pickle.dumps(kind.reset(unlucky, seed)))
        server.crash()
        server.restart()
    assert shown == expected
    lucky.close()
    unlucky.close()


@pytest.mark.parametrize("seeds", [[1, 2, 3], [1, None, 3]])
def test_a_vector_environment_recovers_with_a_seed_for_each(server: Server, seeds: Any) -> None:
    kind = KINDS["vector-next"]
    shown = []
    for env in (kind.make(server.address), kind.make(server.address)):
        kind.reset(env, 5)
        server.crash()
        server.restart()
        shown.append(pickle.dumps(kind.reset(env, seeds)))
        env.close()
    assert shown[0] == shown[1]
    if None not in seeds:
        new = kind.make(server.address)
        assert pickle.dumps(kind.reset(new, seeds)) == shown[0]
        new.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_reset_of_some_cannot_bring_back_the_others(server: Server, mode: str) -> None:
    kind = vector(mode)
    env = kind.make(server.address)
    opening = pickle.dumps(kind.reset(env, 7))
    server.crash()
    server.restart()
    some = {"reset_mask": np.array([True, False, True])}
    for seed in (None, 1, [1, 2, 3]):
        with pytest.raises(boardwire.BoardwireError, match="reset all environments") as caught:
            env.reset(seed=seed, options=some)
        assert isinstance(caught.value, boardwire.errors.ConnectionLost | boardwire.errors.Gone)
    assert pickle.dumps(env.reset(seed=7, options={"reset_mask": np.ones(3, np.bool_)})) == opening
    env.reset(options=some)
    env.close()


@each_kind
def test_what_was_closed_or_forgotten_by_a_server_that_runs_is_opened_again(address: str, kind: Kind) -> None:
    env = kind.make(address)
    opening = pickle.dumps(kind.reset(env, 7))
    (env._table._batch if hasattr(env._table, "_batch") else env._table.batch).close()
    with pytest.raises(boardwire.errors.Gone, match="reset the environment"):
        kind.step(env)
    assert pickle.dumps(kind.reset(env, 7)) == opening
    kind.step(env)
    env.close()


def until_idle_too_long(batch: boardwire.Batch) -> None:
    """Waits until the server has closed the batch; to ask with a wrong token does not count as use."""
    stream = stream_of(batch)
    stream._token, token = "wrong", stream._token
    refusal: object = boardwire.errors.AccessDenied
    while refusal is boardwire.errors.AccessDenied:
        with pytest.raises((boardwire.errors.AccessDenied, boardwire.errors.Gone)) as caught:
            batch.save()
        refusal = caught.type
    stream._token = token


def test_a_batch_that_was_idle_too_long_is_opened_again() -> None:
    with boardwire.connect(server_args=["--idle-timeout=1"]) as client:
        kind = KINDS["vector-next"]
        env = kind.make(client.address)
        opening = pickle.dumps(kind.reset(env, 7))
        until_idle_too_long(env._table.batch)
        with pytest.raises(boardwire.errors.Gone, match="reset the environment"):
            kind.step(env)
        assert pickle.dumps(kind.reset(env, 7)) == opening
        env.close()


@each_kind
def test_closing_and_forgetting_after_a_crash_say_nothing(server: Server, kind: Kind) -> None:
    closed, forgotten = kind.make(server.address), kind.make(server.address)
    for env in (closed, forgotten):
        kind.reset(env, 1)
    server.crash()
    closed.close()
    closed.close()
    del forgotten, env
    # Whatever is raised or warned of here is an error of pytest's.
    gc.collect()
    server.restart()
    kind.reset(closed, 1)
    getattr(closed, "close_extras", closed.close)()


@each_kind
def test_another_version_of_the_game_is_not_played_by_old_environments(
    address: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, first = _shared.shared_client(address), kind.make(address)
    kind.reset(first, 1)
    first.close()
    now = client.game("faraway")
    # As if the server had been another one when the environment was made; other tests have the same client.
    old = dict.fromkeys(client._specs, replace(now, digest="of another version"))
    monkeypatch.setattr(client, "_specs", old)
    env = kind.make(address)
    for _ in range(2):
        with pytest.raises(boardwire.BoardwireError, match="another version than when the environment"):
            kind.reset(env, 1)
    new = kind.make(address)
    assert new.unwrapped.game_spec.digest == now.digest
    kind.reset(new, 1)
    for one in (env, new):
        one.close()
