"""An engine in this process returns the same arrays and the same errors as a server."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from tables import TABLES, lowest
from transports import SHORT_TIMEOUT, SLOW_BOT, local, served

import boardwire
from boardwire import aio
from boardwire.errors import CallTimeout, Gone, InvalidRequest, NotServed

__all__ = ["local", "served"]

COLUMNS = [field.name for field in fields(boardwire.BatchStep)]
DERIVED = ["mask", "terminated", "truncated", "over", "substituted", "forfeited"]

#: Settings of batches, in addition to game, seats and seed.
CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bots": {"opponents": {0: "greedy"}, "columns": ["scores"], "autoreset": "same_step", "reward": "margin"},
    "everything": {
        "columns": ["scores", "final_views", "episodes", "oracle", "advice_shares"],
        "advice": "greedy:2",
        "illegal_actions": "seeded_legal",
        "skip_forced": True,
    },
    "forfeits": {"illegal_actions": "forfeit", "columns": ["scores", "final_views"], "reward": "win"},
    "searched": {"opponents": {1: "mc:4"}, "columns": ["episodes"]},
}


def assert_same(one: boardwire.BatchStep, other: boardwire.BatchStep) -> None:
    """Asserts that all columns of two steps have equal types, shapes and contents."""
    for name in (*COLUMNS, *DERIVED):
        a, b = getattr(one, name), getattr(other, name)
        assert type(a) is type(b), name
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape, a.flags.writeable) == (b.dtype, b.shape, b.flags.writeable), name
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            assert a == b, name


@pytest.mark.parametrize(("game", "seats"), TABLES)
@pytest.mark.parametrize("config", CONFIGS)
def test_all_columns_equal_those_of_a_server(
    served: boardwire.Client, local: boardwire.Client, game: str, seats: int, config: str
) -> None:
    random = np.random.default_rng(seats)
    settings: dict[str, Any] = dict(environments=9, seats=seats, seed=3, **CONFIGS[config])
    illegal = settings.get("illegal_actions") is not None
    with served.open_batch(game, **settings) as one, local.open_batch(game, **settings) as other:
        assert one.spec.digest == other.spec.digest
        a, b = one.reset(), other.reset()
        for turn in range(40 if config == "searched" else 120):
            assert_same(a, b)
            actions = (random.random(a.mask.shape) * (a.mask + 1e-9)).argmax(axis=1)
            if illegal and turn % 5 == 0:
                actions[turn % 9] = random.integers(a.action_count)
            if turn % 3 == 0:
                actions = actions.astype(np.uint8)
            mask = None if turn % 4 else random.random(9) < 0.7
            if mask is not None and not mask.any():
                mask = None
            a, b = one.step(actions, where=mask), other.step(actions, where=mask)
        assert_same(a.part(slice(2, 7)), b.part(slice(2, 7)))
        for row in range(9):
            assert a.legal(row) == b.legal(row) == np.flatnonzero(a.mask[row]).tolist()
        assert_same(one.reset(where=np.arange(9) < 4), other.reset(where=np.arange(9) < 4))
        assert_same(one.reset(seeds=range(9)), other.reset(seeds=range(9)))
        saved = [batch.save(np.arange(9) % 2 == 0) for batch in (one, other)]
        assert_same(one.reset(seed=5), other.reset(seed=5))
        loads = [
            batch.load(each, np.arange(9) % 2 == 0) for batch, each in zip((one, other), saved, strict=True)
        ]
        assert_same(*loads)


@pytest.mark.parametrize("environments", [65, 600, 2100])
def test_large_batches_on_several_threads_equal_those_of_a_server(
    served: boardwire.Client, local: boardwire.Client, environments: int
) -> None:
    settings: dict[str, Any] = {"environments": environments, "seed": 8, "columns": ["scores"]}
    with served.open_batch("rauha", **settings) as one, local.open_batch("rauha", **settings) as other:
        assert_same(a := one.reset(), other.reset())
        masks = a.mask.copy()
        for _ in range(40):
            assert_same(a := one.step(lowest(masks)), other.step(lowest(masks)))
            masks = a.mask.copy()
            halves = list(zip(one.halves(), other.halves(), strict=True))
            for pair in halves:
                for half in pair:
                    half.send(lowest(masks[half.rows]))
            for half, other_half in halves:
                assert_same(a := half.recv(), other_half.recv())
                masks[half.rows] = a.mask


def errors_of(client: boardwire.Client) -> list[tuple[type[BaseException], str, Any, Any]]:
    """Returns the errors of invalid requests, without batch and search ids."""
    batch = client.open_batch("faraway", environments=3, seed=1)
    step = batch.reset()
    legal = lowest(step.mask)
    over = client.open_batch("faraway", environments=2, seed=1, autoreset="disabled", opponents={1: "random"})
    ended = over.reset()
    while not ended.over.any():
        ended = over.step(lowest(ended.mask))
    closed = client.open_batch("faraway", environments=1)
    closed.close()
    saved = client.open_batch("rauha", environments=3, seed=1).save()
    search = batch.search(2)
    calls: list[Callable[[], object]] = [
        lambda: batch.step((~step.mask).argmax(axis=1)),
        lambda: batch.step(np.full(3, 200, np.uint8)),
        lambda: batch.step(np.full(3, 300)),
        lambda: batch.step(np.zeros(2, np.uint8)),
        lambda: batch.step(np.zeros((3, 1), np.uint8)),
        lambda: batch.step([0.5, 1, 2]),
        lambda: batch.step(legal, where=np.zeros(3, np.bool_)),
        lambda: batch.reset(where=np.ones(2, np.bool_)),
        lambda: batch.reset(seeds=[1, 2]),
        lambda: batch.reset(seed=-1),
        lambda: batch.recv(),
        lambda: batch.parts(4),
        lambda: batch.load(b""),
        lambda: batch.load(b"x" * 500),
        lambda: batch.load(saved),
        lambda: over.step(lowest(ended.mask)),
        lambda: over.search(),
        lambda: closed.step(np.zeros(1, np.uint8)),
        lambda: closed.save(),
        lambda: search.advance([0], [200]),
        lambda: search.advance([9], [0]),
        lambda: search.advance([0, 0], [0, 0]),
        lambda: search.rollout([0], playouts=1 << 20),
        lambda: batch.search(1, places=1),
        lambda: batch.search(0),
        lambda: client.game("chess"),
        lambda: client.game("faraway", seats=9),
        lambda: client.game("faraway", options={"no": "such"}),
        lambda: client.game("rauha", options={"side": "C"}),
        lambda: client.open_batch("chess", environments=1),
        lambda: client.open_batch("faraway", environments=0),
        lambda: client.open_batch("faraway", environments=1 << 31),
        lambda: client.open_batch("faraway", environments=1, opponents={1: "unknown"}),
        lambda: client.open_batch("faraway", environments=1, opponents={0: "random", 1: "random"}),
        lambda: client.open_batch("faraway", environments=1, advice="unknown"),
        lambda: client.open_batch("faraway", environments=1, columns=["advice_shares"]),
        lambda: client.open_batch("faraway", environments=1, line_ups=[["agent", "random"]] * 2000),
    ]
    found: list[tuple[type[BaseException], str, Any, Any]] = []
    for at, call in enumerate(calls):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        error = caught.value
        metadata = {**getattr(error, "metadata", {})}
        ids = [value for name, value in metadata.items() if name in ("batch_id", "search_id")]
        text = re.sub("|".join(map(re.escape, ids)) or "$^", "ID", str(error))
        kept = {name: value for name, value in metadata.items() if value not in ids}
        found.append((type(error), f"{at}: {text}", getattr(error, "code", None), kept))
    for each in (batch, over):
        each.close()
    return found


def test_errors_equal_those_of_a_server(served: boardwire.Client, local: boardwire.Client) -> None:
    for one, other in zip(errors_of(served), errors_of(local), strict=True):
        assert one == other


def test_the_arrays_of_a_step_share_its_memory(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=4, columns=["scores"]) as batch:
        step = batch.reset()
        assert isinstance(step, boardwire.BatchStep)
        base: Any = step.view.base
        assert base is step
        assert np.shares_memory(step.view, step.view)
        with pytest.raises(ValueError, match="read-only"):
            step.view[0, 0] = 1
        copy = pickle.loads(pickle.dumps(step))
        assert type(copy) is boardwire.BatchStep
        for name in (*COLUMNS, *DERIVED):
            np.testing.assert_array_equal(getattr(copy, name), getattr(step, name))
        view, image = step.view, step.view.copy()
        del step
        for _ in range(20):
            batch.reset()
        np.testing.assert_array_equal(view, image)


def test_calls_that_need_a_server_raise_an_error(local: boardwire.Client) -> None:
    for call in (
        lambda: local.create_match("faraway", players=["agent", "agent"]),
        lambda: list(local.matches()),
        lambda: local.join("code"),
        lambda: list(local.watch("match")),
    ):
        with pytest.raises(NotServed, match="needs a server"):
            call()
    for settings in ({"tls": True}, {"token": "word"}, {"server_args": ["--log-level=warn"]}):
        with pytest.raises(ValueError, match=r"local:|private server"):
            boardwire.connect("local:", **settings)


def test_a_local_client_describes_its_engine_as_a_server(local: boardwire.Client) -> None:
    info = local.server()
    assert (info.version, info.protocols) == (boardwire.__version__, ("boardwire.v1",))
    assert [bot.name for bot in info.bots] == ["random", "greedy", "mc", "search"]
    assert local.address == "local:"


def test_snapshots_load_in_another_engine_but_not_in_a_server(
    served: boardwire.Client, local: boardwire.Client
) -> None:
    with local.open_batch("faraway", environments=2, seed=1) as batch:
        step = batch.step(lowest(batch.reset().mask))
        saved = batch.save()
    with boardwire.connect("local:") as other, other.open_batch("faraway", environments=2) as batch:
        np.testing.assert_array_equal(batch.load(saved).view, step.view)
    with served.open_batch("faraway", environments=2) as batch, pytest.raises(InvalidRequest):
        batch.load(saved)


def test_closing_the_client_ends_its_batches() -> None:
    with boardwire.connect("local:") as client:
        batch = client.open_batch("faraway", environments=1)
        batch.reset()
    with pytest.raises(Gone):
        batch.reset()
    batch.close()


def test_a_response_can_be_received_after_a_timeout_of_recv(local: boardwire.Client) -> None:
    with local.open_batch("faraway", **SLOW_BOT) as batch:
        step = batch.reset()
        batch.send(lowest(step.mask))
        with pytest.raises(CallTimeout):
            batch.recv(timeout=SHORT_TIMEOUT)
        with pytest.raises(RuntimeError, match="a response is pending"):
            batch.save()
        assert (batch.recv().ply > 0).all()
        batch.save()


def test_an_event_loop_runs_while_bots_think() -> None:
    async def play() -> int:
        async with aio.connect("local:") as client:
            batch = await client.open_batch("faraway", **SLOW_BOT)
            async with batch:
                step = await batch.reset()
                ticks, stepping = 0, asyncio.ensure_future(batch.step(lowest(step.mask)))
                while not stepping.done():
                    await asyncio.sleep(0)
                    ticks += 1
                assert_same(await stepping, expected)
                return ticks

    with (
        boardwire.connect("local:") as client,
        client.open_batch("faraway", **SLOW_BOT) as batch,
    ):
        expected = batch.step(lowest(batch.reset().mask))
    assert asyncio.run(play()) > 5


def test_two_tasks_wait_for_parts_of_one_batch() -> None:
    async def play() -> list[boardwire.BatchStep]:
        async with aio.connect("local:") as client, await client.open_batch("faraway", **SLOW_BOT) as batch:
            step, parts = await batch.reset(), batch.halves()
            for part in parts:
                await part.send(lowest(step.mask[part.rows]))
            return list(await asyncio.gather(*(part.recv() for part in parts)))

    with boardwire.connect("local:") as client, client.open_batch("faraway", **SLOW_BOT) as batch:
        expected = batch.step(lowest(batch.reset().mask))
    for step in asyncio.run(play()):
        rows = slice(step.first, step.first + len(step.seat))
        np.testing.assert_array_equal(step.view, expected.view[rows])
        np.testing.assert_array_equal(step.ply, expected.ply[rows])


def test_a_cancelled_recv_loses_no_response() -> None:
    async def play() -> None:
        async with aio.connect("local:") as client, await client.open_batch("faraway", **SLOW_BOT) as batch:
            step = await batch.reset()
            for _ in range(4):
                await batch.send(lowest(step.mask))
                while True:
                    with contextlib.suppress(asyncio.TimeoutError):
                        step = await asyncio.wait_for(batch.recv(), 0.01)
                        break
            assert (step.ply > 0).all()

    asyncio.run(play())


def play_pipelined(client: boardwire.Client) -> list[bytes]:
    """Sends requests while bots think about earlier ones, and returns the results."""
    settings = SLOW_BOT | {"opponents": {1: "mc:60"}}
    with client.open_batch("faraway", **settings, illegal_actions="first_legal") as batch:
        batch.reset()
        actions, steps = np.zeros(16, np.uint8), []
        batch.send(actions)
        batch.send(actions + 1)
        batch.send(actions + 2)
        steps += [batch.recv() for _ in range(3)]
        batch.send(actions)
        batch.send(actions)
        # The reset discards the pending responses.
        steps.append(batch.reset(seed=9))
        steps.append(batch.step(actions))
        return [pickle.dumps((each.view, each.ply, each.flags)) for each in steps]


def test_pipelined_requests_are_executed_in_order(served: boardwire.Client, local: boardwire.Client) -> None:
    assert play_pipelined(local) == play_pipelined(served)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_actions_of_common_types_take_the_fast_path(local: boardwire.Client, dtype: Any) -> None:
    with local.open_batch("faraway", environments=3) as batch:
        actions = lowest(batch.reset().mask).astype(dtype)
        assert batch._step_without_waiting is not None
        for outside in (-1, 256):
            assert batch._step_without_waiting(np.full(3, outside, np.int64)) is None
        step = batch._step_without_waiting(actions)
        assert step is not None
        np.testing.assert_array_equal(step.ply, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_a_step_can_be_received_after_its_timeout(local: boardwire.Client, dtype: Any) -> None:
    with local.open_batch("faraway", **SLOW_BOT) as batch, local.open_batch("faraway", **SLOW_BOT) as other:
        actions = lowest(batch.reset().mask).astype(dtype)
        other.reset()
        with pytest.raises(CallTimeout):
            batch.step(actions, timeout=SHORT_TIMEOUT)
        assert_same(batch.recv(), other.step(actions))


def test_a_cancelled_task_loses_no_response() -> None:
    async def play() -> boardwire.BatchStep:
        async with (
            aio.connect("local:") as client,
            await client.open_batch("faraway", **SLOW_BOT) as batch,
        ):
            actions = lowest((await batch.reset()).mask)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(batch.step(actions), 0.001)
            return await batch.recv()

    with boardwire.connect("local:") as client, client.open_batch("faraway", **SLOW_BOT) as batch:
        expected = batch.step(lowest(batch.reset().mask))
    assert_same(asyncio.run(play()), expected)


def test_ids_are_never_reused() -> None:
    with boardwire.connect("local:") as client:
        first = client.open_batch("faraway", environments=1)
        client.close()
        second = client.open_batch("faraway", environments=1)
        assert first.id != second.id
        del first
        second.reset()
        assert second.search(2).worlds == 2
