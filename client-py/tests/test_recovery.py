"""Environments whose server was killed: a step raises an error, and a reset recovers."""

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
    """The same operations for each kind of environment."""

    make: Callable[[str | None], Any]
    #: Resets with or without a seed and returns the result.
    reset: Callable[[Any, Any], Any]
    #: Plays the lowest legal actions and returns the result.
    step: Callable[[Any], Any]


def single(address: str | None) -> Any:
    """Creates an environment of one seat, without wrappers."""
    return gymnasium.make(FARAWAY, opponents="random", address=address).unwrapped


def vector(mode: str) -> Kind:
    """A vector environment with this autoreset mode."""

    def make(address: str | None) -> Any:
        return gymnasium.make_vec(
            FARAWAY, num_envs=3, opponents="random", autoreset_mode=mode, address=address
        )

    return Kind(
        make, lambda env, seed: env.reset(seed=seed), lambda env: env.step(env.action_masks().argmax(axis=1))
    )


def reset_aec(env: Any, seed: Any) -> Any:
    """Resets an AEC environment."""
    env.reset(seed=seed)
    return env.last()


def step_aec(env: Any) -> Any:
    """Plays the lowest legal action of the selected agent."""
    return env.step(int(env.last()[0]["action_mask"].argmax()))


def step_parallel(env: Any) -> Any:
    """Plays the lowest legal action of each agent."""
    return env.step({agent: int(env._masks[agent].argmax()) for agent in env.possible_agents})


def step_single(env: Any) -> Any:
    """Plays the lowest legal action."""
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
def test_a_step_raises_and_a_seeded_reset_equals_a_new_environment(server: Server, kind: Kind) -> None:
    env = kind.make(server.address)
    for seed in (3, 4):
        kind.reset(env, seed)
        kind.step(env)
        server.crash()
        with pytest.raises(boardwire.errors.ConnectionLost, match="reset the environment"):
            kind.step(env)
        for restart in (False, True):
            if restart:
                server.restart()
            with pytest.raises(gymnasium.error.ResetNeeded):
                kind.step(env)
        opening = pickle.dumps(kind.reset(env, 7))
        new = kind.make(server.address)
        assert pickle.dumps(kind.reset(new, 7)) == opening
        assert pickle.dumps(kind.step(new)) == pickle.dumps(kind.step(env))
        new.close()
    env.close()


@each_kind
def test_a_reset_without_seed_continues_the_generator_of_the_environment(server: Server, kind: Kind) -> None:
    def results(failed_resets: int) -> list[bytes]:
        env = kind.make(server.address)
        observed = [kind.reset(env, 7)]
        kind.step(env)
        server.crash()
        for _ in range(failed_resets if server.address else 0):
            with pytest.raises(boardwire.errors.ConnectionLost):
                kind.reset(env, None)
            with pytest.raises((boardwire.BoardwireError, gymnasium.error.ResetNeeded), match="reset"):
                kind.step(env)
        server.restart()
        observed += [kind.reset(env, None), kind.step(env), kind.reset(env, None)]
        env.close()
        return [pickle.dumps(part) for part in observed]

    # A failed reset draws no random number.
    once = results(0)
    assert results(3) == once
    assert len({once[0], once[1], once[3]}) == 3


@pytest.mark.parametrize("kind", [KINDS["single"], KINDS["parallel"]], ids=["single", "parallel"])
def test_episodes_are_the_same_with_and_without_crashes(server: Server, kind: Kind) -> None:
    undisturbed, crashed = kind.make(server.address), kind.make(server.address)
    expected = [pickle.dumps(kind.reset(undisturbed, seed)) for seed in (7, None, None)]
    openings = []
    for seed in (7, None, None):
        openings.append(pickle.dumps(kind.reset(crashed, seed)))
        server.crash()
        server.restart()
    assert openings == expected
    undisturbed.close()
    crashed.close()


@pytest.mark.parametrize("seeds", [[1, 2, 3], [1, None, 3]])
def test_a_vector_environment_recovers_with_one_seed_per_row(server: Server, seeds: Any) -> None:
    kind = KINDS["vector-next"]
    openings = []
    for env in (kind.make(server.address), kind.make(server.address)):
        kind.reset(env, 5)
        server.crash()
        server.restart()
        openings.append(pickle.dumps(kind.reset(env, seeds)))
        env.close()
    assert openings[0] == openings[1]
    if None not in seeds:
        new = kind.make(server.address)
        assert pickle.dumps(kind.reset(new, seeds)) == openings[0]
        new.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_partial_reset_after_a_crash_is_an_error(server: Server, mode: str) -> None:
    kind = vector(mode)
    env = kind.make(server.address)
    opening = pickle.dumps(kind.reset(env, 7))
    server.crash()
    server.restart()
    two_rows = {"reset_mask": np.array([True, False, True])}
    lost: Any = (boardwire.errors.ConnectionLost, boardwire.errors.Gone)
    for seed, error in (
        (None, lost),
        (1, gymnasium.error.ResetNeeded),
        ([1, 2, 3], gymnasium.error.ResetNeeded),
    ):
        with pytest.raises(error, match="reset all environments"):
            env.reset(seed=seed, options=two_rows)
    assert pickle.dumps(env.reset(seed=7, options={"reset_mask": np.ones(3, np.bool_)})) == opening
    env.reset(options=two_rows)
    env.close()


@each_kind
def test_a_reset_reopens_a_batch_that_was_closed(address: str, kind: Kind) -> None:
    env = kind.make(address)
    opening = pickle.dumps(kind.reset(env, 7))
    env._session.batch.close()
    with pytest.raises(boardwire.errors.Gone, match="reset the environment"):
        kind.step(env)
    assert pickle.dumps(kind.reset(env, 7)) == opening
    kind.step(env)
    env.close()


def wait_for_idle_timeout(batch: boardwire.Batch) -> None:
    """Waits until the server closes the batch. A call with a wrong token does not count as use."""
    stream = stream_of(batch)
    stream._token, token = "wrong", stream._token
    error: object = boardwire.errors.AccessDenied
    while error is boardwire.errors.AccessDenied:
        with pytest.raises((boardwire.errors.AccessDenied, boardwire.errors.Gone)) as caught:
            batch.save()
        error = caught.type
    stream._token = token


def test_a_reset_reopens_a_batch_after_its_idle_timeout() -> None:
    with boardwire.connect(server_args=["--idle-timeout=1"]) as client:
        kind = KINDS["vector-next"]
        env = kind.make(client.address)
        opening = pickle.dumps(kind.reset(env, 7))
        wait_for_idle_timeout(env._session.batch)
        with pytest.raises(boardwire.errors.Gone, match="reset the environment"):
            kind.step(env)
        assert pickle.dumps(kind.reset(env, 7)) == opening
        env.close()


@each_kind
def test_closing_or_deleting_after_a_crash_raises_nothing(server: Server, kind: Kind) -> None:
    closed, deleted = kind.make(server.address), kind.make(server.address)
    for env in (closed, deleted):
        kind.reset(env, 1)
    server.crash()
    closed.close()
    closed.close()
    del deleted, env
    # Pytest turns each warning and each error of a finalizer into a failure.
    gc.collect()
    server.restart()
    kind.reset(closed, 1)
    getattr(closed, "close_extras", closed.close)()


@each_kind
def test_an_environment_rejects_another_version_of_its_game(
    address: str, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, first = _shared.shared_client(address), kind.make(address)
    kind.reset(first, 1)
    first.close()
    current = client.game("faraway")
    # Simulates a server that had another version when the environment was created.
    old = dict.fromkeys(client._specs, replace(current, digest="of another version"))
    monkeypatch.setattr(client, "_specs", old)
    env = kind.make(address)
    for _ in range(2):
        with pytest.raises(boardwire.BoardwireError, match="another version than when the environment"):
            kind.reset(env, 1)
    new = kind.make(address)
    assert new.unwrapped.game_spec.digest == current.digest
    kind.reset(new, 1)
    for one in (env, new):
        one.close()
