"""The async client: the same results as the blocking client, and cancelled or concurrent tasks."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import os
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outages import kill
from proxies import Proxy

import boardwire
from boardwire import aio

CLASSES = ["Batch", "BatchPart", "Client", "Match", "Search", "Seat"]


def on_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs a coroutine function on an event loop for at most 60 seconds."""
    asyncio.run(asyncio.wait_for(test(), 60))


def first_legal(mask: Any) -> int:
    """Returns the first legal action."""
    return int(mask.argmax())


def test_both_clients_have_the_same_methods_and_docstrings() -> None:
    for name in CLASSES:
        blocking, awaiting = getattr(boardwire, name), getattr(aio, name)
        assert inspect.getdoc(blocking) == inspect.getdoc(awaiting)
        methods = {name for name in dir(blocking) if name[0] != "_"}
        assert methods == {name for name in dir(awaiting) if name[0] != "_"}
        for method in methods:
            one, other = (inspect.getattr_static(each, method) for each in (blocking, awaiting))
            assert inspect.getdoc(one), method
            assert inspect.getdoc(one) == inspect.getdoc(other)
            if inspect.isfunction(one):
                assert inspect.signature(one).parameters == inspect.signature(other).parameters
                assert one.__name__ == other.__name__ == method
                assert not inspect.iscoroutinefunction(one)


@pytest.mark.parametrize("game", ["faraway", "rauha", "golden_compass"])
def test_both_clients_play_the_same_match(client: boardwire.Client, address: str, game: str) -> None:
    players = ["agent", "agent", "random"]

    def blocking() -> list[bytes]:
        history = []
        with client.create_match(game, players=players, seed=4) as match:
            seats = [match.join(0), match.join(1)]
            while not (obs := seats[0].observe(wait=False, text=True)).over:
                history.append(pickle.dumps(obs))
                for seat in seats:
                    if (own := seat.observe(wait=False)).mask.any():
                        seat.act(first_legal(own.mask), wait=False)
            for seat in seats:
                seat.close()
        return [*history, pickle.dumps(obs)]

    async def awaiting() -> None:
        history = []
        async with (
            aio.connect(address) as aio_client,
            await aio_client.create_match(game, players=players, seed=4) as match,
        ):
            seats = [await match.join(0), await match.join(1)]
            while not (obs := await seats[0].observe(wait=False, text=True)).over:
                history.append(pickle.dumps(obs))
                for seat in seats:
                    if (own := await seat.observe(wait=False)).mask.any():
                        await seat.act(first_legal(own.mask), wait=False)
            for seat in seats:
                await seat.close()
        assert [*history, pickle.dumps(obs)] == blocking()

    on_loop(awaiting)


def test_both_clients_step_the_same_batch(client: boardwire.Client, address: str) -> None:
    def columns(step: boardwire.BatchStep) -> list[bytes]:
        return [pickle.dumps(getattr(step, field.name)) for field in fields(boardwire.BatchStep)]

    def blocking() -> list[list[bytes]]:
        with client.open_batch("rauha", environments=6, seed=9, opponents={1: "random"}) as batch:
            parts, step = batch.halves(), batch.reset()
            steps = [step]
            for part in parts:
                part.send(step.mask[part.rows].argmax(axis=1))
            for _ in range(40):
                for part in parts:
                    steps.append(part.recv())
                    part.send(steps[-1].mask.argmax(axis=1))
            steps += [part.recv() for part in parts]
            steps.append(batch.load(batch.save()))
            return [columns(step) for step in steps]

    async def awaiting() -> None:
        async with (
            aio.connect(address) as aio_client,
            await aio_client.open_batch("rauha", environments=6, seed=9, opponents={1: "random"}) as batch,
        ):
            parts, step = batch.halves(), await batch.reset()
            steps = [step]
            for part in parts:
                await part.send(step.mask[part.rows].argmax(axis=1))
            for _ in range(40):
                for part in parts:
                    steps.append(await part.recv())
                    await part.send(steps[-1].mask.argmax(axis=1))
            steps += [await part.recv() for part in parts]
            steps.append(await batch.load(await batch.save()))
        assert [columns(step) for step in steps] == blocking()

    on_loop(awaiting)


def test_many_seats_wait_in_one_thread(address: str) -> None:
    async def play(seat: aio.Seat) -> boardwire.Observation:
        async with seat:
            obs = await seat.observe()
            while not obs.over:
                obs = await seat.act(first_legal(obs.mask))
            return obs

    async def match(client: aio.Client, seed: int) -> None:
        async with await client.create_match("faraway", players=["agent"] * 3, seed=seed) as match:
            seats = [await match.join(seat) for seat in range(3)]
            ends = await asyncio.gather(*(play(seat) for seat in seats))
            assert {end.outcome for end in ends} == {ends[0].outcome}

    async def matches() -> None:
        async with aio.connect(address) as client:
            await asyncio.gather(*(match(client, seed) for seed in range(8)))

    on_loop(matches)


def test_both_clients_get_the_same_from_a_server(client: boardwire.Client, address: str) -> None:
    async def compare() -> None:
        aio_client = await aio.connect(address)
        labels = {"run": os.urandom(8).hex()}
        match = await aio_client.create_match(
            "faraway", players=["agent", "agent", "random"], labels=labels, seed=1
        )
        seat = await aio_client.join(match.invitations[0])
        assert await aio_client.games() == client.games()
        assert (await aio_client.server()).version == client.server().version
        assert (await aio_client.game("rauha", seats=4)).digest == client.game("rauha", seats=4).digest
        listed = aio_client.matches("faraway", labels=labels)
        assert isinstance(listed, AsyncIterator)
        assert [info.id async for info in listed] == [match.id]
        rejoined = await aio_client.seat(match.id, seat.token)
        assert (await rejoined.info()).joined == (0, 2)
        obs = await rejoined.observe(wait=False, actions=True)
        assert obs.actions[0].label == match.spec.actions[obs.actions[0].index].label
        await rejoined.resign()
        assert (await match.info()).state == "over"
        await match.reset()
        assert (await match.info()).episode == 1
        await match.resign(1)
        assert (await match.close()).state == "closed"
        await aio_client.close()

    on_loop(compare)


def test_the_async_client_raises_the_same_exceptions(address: str) -> None:
    async def refused() -> None:
        async with aio.connect(address) as client:
            with pytest.raises(boardwire.errors.NotFound, match="chess"):
                await client.game("chess")
            with pytest.raises(boardwire.errors.NotFound) as not_found:
                await client.join("0" * 32)
            assert not_found.value.reason == "INVITATION_UNKNOWN"
            with pytest.raises(ValueError, match=r"`states` may have .*; got .ended."):
                client.matches(states=["ended"])  # type: ignore[list-item]
            match = await client.create_match("faraway", players=["agent", "random"])
            for seat in (await match.join(0), (await client.seat(match.id, match.host_token))):
                async with seat:
                    with pytest.raises(boardwire.BoardwireError) as caught:
                        await seat.act(200)
                    assert caught.value.reason in ("ACTION_OUT_OF_RANGE", "SEAT_ONLY")

    on_loop(refused)


def test_a_late_response_is_a_timeout_and_the_next_call_opens_another_stream(address: str) -> None:
    async def late() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"]) as match,
            await match.join(0) as seat,
        ):
            obs = await seat.observe(wait=False)
            await seat.act(first_legal(obs.mask), wait=False)
            for _ in range(2):
                with pytest.raises(boardwire.errors.CallTimeout, match=r"within 0\.1 s"):
                    await seat.observe(timeout=0.1)
            assert (await seat.observe(wait=False)).decision == 1

    on_loop(late)


def test_a_cancelled_task_does_not_take_a_later_response(address: str) -> None:
    async def cancelled() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"], seed=3) as match,
            await match.join(0) as seat,
        ):
            await seat.act(first_legal((await seat.observe(wait=False)).mask), wait=False)
            waiting = asyncio.create_task(seat.observe())
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            other = await match.join(1)
            await other.act(first_legal((await other.observe(wait=False)).mask), wait=False)
            obs = await seat.observe()
            assert obs.decision == 1
            assert obs.mask.any()

    on_loop(cancelled)


def test_cancelling_a_request_ends_only_the_stream(address: str) -> None:
    async def cancelled() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "random"], seed=3) as match,
            await match.join(0) as seat,
        ):
            request = asyncio.create_task(seat.observe(wait=False))
            # Let the task start to open the stream.
            await asyncio.sleep(0)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            obs = await seat.observe(wait=False)
            assert (await seat.act(first_legal(obs.mask))).decision == 1

    on_loop(cancelled)


def test_a_waiting_task_gets_an_error_when_another_task_closes_the_stream(address: str) -> None:
    async def closed() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"]) as match,
        ):
            seat = await match.join(0)
            await seat.act(first_legal((await seat.observe(wait=False)).mask), wait=False)
            waiting = asyncio.create_task(seat.observe())
            await asyncio.sleep(0.1)
            await seat.close()
            with pytest.raises(boardwire.errors.ConnectionLost, match="this process closed the stream"):
                await waiting

    on_loop(closed)


def test_the_client_retries_after_a_cut_connection(address: str) -> None:
    async def cut() -> None:
        proxy = Proxy(address)
        async with (
            aio.connect(proxy.address) as client,
            await client.create_match("faraway", players=["agent", "random"], seed=1) as match,
            await match.join(0) as seat,
        ):
            obs = await seat.observe()
            proxy.cut_after(responses=0)
            # The client sends the action twice. The server applies it once, even if it received both.
            assert (await seat.act(first_legal(obs.mask))).decision == 1
            assert proxy.cuts == 1
            async with await client.open_batch("faraway", environments=4, seed=2, keep=True) as batch:
                step = await batch.reset()
                proxy.cut_after(responses=0)
                step = await batch.step(step.mask.argmax(axis=1))
                assert (step.ply == 1).all()
            assert proxy.cuts == 2
        proxy.close()

    on_loop(cut)


@pytest.mark.slow
def test_a_private_server_restarts_and_ends_with_its_client() -> None:
    async def serve() -> None:
        async with aio.connect() as client:
            match = await client.create_match("faraway", players=["agent", "random"])
            assert client._private is not None
            process = client._private._process
            kill(process)
            with pytest.raises(boardwire.errors.ConnectionLost, match="ended with status -9"):
                await match.info()
            assert len(await client.games()) == 3
            process = client._private._process
            assert process.poll() is None
        assert process.poll() is not None

    on_loop(serve)


@pytest.mark.slow
def test_a_private_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start() -> None:
        with pytest.raises(boardwire.errors.StartError, match="--no-such-flag"):
            await aio.connect(server_args=["--no-such-flag"])
        with pytest.raises(ValueError, match="an address must be"):
            await aio.connect("localhost")
        monkeypatch.setenv("BOARDWIRE_BINARY", "/nowhere")
        with pytest.raises(boardwire.errors.StartError, match="/nowhere"):
            async with aio.connect():
                raise AssertionError

    on_loop(start)


def test_a_client_works_on_one_event_loop_after_another(address: str) -> None:
    async def connected() -> aio.Client:
        return await aio.connect(address)

    client = asyncio.run(connected())
    for _ in range(2):

        async def ask() -> None:
            assert len(await client.games()) == 3
            seat = await (await client.create_match("faraway", players=["agent", "random"])).join(0)
            async with seat:
                assert (await seat.observe(wait=False)).episode == 0

        asyncio.run(ask())
    asyncio.run(client.close())


def test_leaving_a_block_hides_no_exception_and_accepts_closed_objects(address: str) -> None:
    async def leave() -> None:
        async with aio.connect(address) as client:
            match = await client.create_match("faraway", players=["agent", "random"])
            match.id = "none"
            await match.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)
            await match.__aexit__(None, None, None)
            async with await client.create_match("faraway", players=["agent", "random"]) as match:
                await match.close()
            async with await client.open_batch("faraway", environments=1) as batch:
                await batch.close()
                with pytest.raises(boardwire.errors.Gone) as caught:
                    await batch.reset()
                assert caught.value.reason == "BATCH_UNKNOWN"

    on_loop(leave)


def test_a_batch_checks_actions_and_pending_responses(address: str) -> None:
    async def step() -> None:
        async with (
            aio.connect(address) as client,
            await client.open_batch("faraway", environments=4, illegal_actions="seeded_legal") as batch,
        ):
            await batch.reset(where=np.array([True, False, True, False]), seeds=[1, 2])
            with pytest.raises(ValueError, match="`actions` must have shape"):
                await batch.step([0])
            await batch.send(np.zeros(4, np.int64))
            with pytest.raises(RuntimeError, match="a response is pending"):
                await batch.step(np.zeros(4, np.uint8))
            assert (await batch.recv()).ply.max() == 1
            with pytest.raises(RuntimeError, match="no response is pending"):
                await batch.recv()

    on_loop(step)


def test_the_async_modules_are_generated_from_the_blocking_ones(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "tools" / "aio.py"
    if not path.exists():
        pytest.skip("an installed package has no tools")
    spec = importlib.util.spec_from_file_location("make_aio", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.make(tmp_path)
    for generated in tmp_path.iterdir():
        committed = Path(aio.__file__).with_name(generated.name)
        assert committed.read_text() == generated.read_text(), "run: make aio"
