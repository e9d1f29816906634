"""The twin for event loops: the same answers as the client that blocks, and what only event loops do."""

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

TWINS = ["Batch", "BatchPart", "Client", "Match", "Search", "Seat"]


def on_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs what a test does on an event loop, which is told of tasks that nobody has awaited."""
    asyncio.run(asyncio.wait_for(test(), 60))


def first(mask: Any) -> int:
    """The first legal action."""
    return int(mask.argmax())


def test_twins_have_the_same_methods_with_the_same_words() -> None:
    for name in TWINS:
        blocks, awaits = getattr(boardwire, name), getattr(aio, name)
        assert inspect.getdoc(blocks) == inspect.getdoc(awaits)
        methods = {name for name in dir(blocks) if name[0] != "_"}
        assert methods == {name for name in dir(awaits) if name[0] != "_"}
        for method in methods:
            one, other = inspect.getattr_static(blocks, method), inspect.getattr_static(awaits, method)
            assert inspect.getdoc(one), method
            assert inspect.getdoc(one) == inspect.getdoc(other)
            if inspect.isfunction(one):
                assert inspect.signature(one).parameters == inspect.signature(other).parameters
                assert one.__name__ == other.__name__ == method
                assert not inspect.iscoroutinefunction(one)


@pytest.mark.parametrize("game", ["faraway", "rauha", "golden_compass"])
def test_a_match_is_the_same_by_either_twin(client: boardwire.Client, address: str, game: str) -> None:
    players = ["agent", "agent", "random"]

    def blocks() -> list[bytes]:
        seen = []
        with client.create_match(game, players=players, seed=4) as match:
            seats = [match.join(0), match.join(1)]
            while not (shown := seats[0].observe(wait=False, text=True)).over:
                seen.append(pickle.dumps(shown))
                for seat in seats:
                    if (one := seat.observe(wait=False)).mask.any():
                        seat.act(first(one.mask), wait=False)
            for seat in seats:
                seat.close()
        return [*seen, pickle.dumps(shown)]

    async def awaits() -> None:
        seen = []
        async with (
            aio.connect(address) as there,
            await there.create_match(game, players=players, seed=4) as match,
        ):
            seats = [await match.join(0), await match.join(1)]
            while not (shown := await seats[0].observe(wait=False, text=True)).over:
                seen.append(pickle.dumps(shown))
                for seat in seats:
                    if (one := await seat.observe(wait=False)).mask.any():
                        await seat.act(first(one.mask), wait=False)
            for seat in seats:
                await seat.close()
        assert [*seen, pickle.dumps(shown)] == blocks()

    on_loop(awaits)


def test_a_batch_is_the_same_by_either_twin(client: boardwire.Client, address: str) -> None:
    def columns(step: boardwire.BatchStep) -> list[bytes]:
        return [pickle.dumps(getattr(step, field.name)) for field in fields(boardwire.BatchStep)]

    def blocks() -> list[list[bytes]]:
        with client.open_batch("rauha", environments=6, seed=9, opponents={1: "random"}) as batch:
            parts, shown = batch.halves(), batch.reset()
            steps = [shown]
            for part in parts:
                part.send(shown.mask[part.rows].argmax(axis=1))
            for _ in range(40):
                for part in parts:
                    steps.append(part.recv())
                    part.send(steps[-1].mask.argmax(axis=1))
            steps += [part.recv() for part in parts]
            steps.append(batch.load(batch.save()))
            return [columns(step) for step in steps]

    async def awaits() -> None:
        async with (
            aio.connect(address) as there,
            await there.open_batch("rauha", environments=6, seed=9, opponents={1: "random"}) as batch,
        ):
            parts, shown = batch.halves(), await batch.reset()
            steps = [shown]
            for part in parts:
                await part.send(shown.mask[part.rows].argmax(axis=1))
            for _ in range(40):
                for part in parts:
                    steps.append(await part.recv())
                    await part.send(steps[-1].mask.argmax(axis=1))
            steps += [await part.recv() for part in parts]
            steps.append(await batch.load(await batch.save()))
        assert [columns(step) for step in steps] == blocks()

    on_loop(awaits)


def test_many_seats_wait_in_one_thread(address: str) -> None:
    async def play(seat: aio.Seat) -> boardwire.Observation:
        async with seat:
            seen = await seat.observe()
            while not seen.over:
                seen = await seat.act(first(seen.mask))
            return seen

    async def match(client: aio.Client, seed: int) -> None:
        async with await client.create_match("faraway", players=["agent"] * 3, seed=seed) as match:
            seats = [await match.join(seat) for seat in range(3)]
            ends = await asyncio.gather(*(play(seat) for seat in seats))
            assert {end.outcome for end in ends} == {ends[0].outcome}

    async def matches() -> None:
        async with aio.connect(address) as client:
            await asyncio.gather(*(match(client, seed) for seed in range(8)))

    on_loop(matches)


def test_what_is_asked_of_a_server_is_what_blocks(client: boardwire.Client, address: str) -> None:
    async def ask() -> None:
        there = await aio.connect(address)
        labels = {"run": os.urandom(8).hex()}
        match = await there.create_match(
            "faraway", players=["agent", "agent", "random"], labels=labels, seed=1
        )
        seat = await there.join(match.invitations[0])
        assert await there.games() == client.games()
        assert (await there.server()).version == client.server().version
        assert (await there.game("rauha", seats=4)).digest == client.game("rauha", seats=4).digest
        listed = there.matches("faraway", labels=labels)
        assert isinstance(listed, AsyncIterator)
        assert [info.id async for info in listed] == [match.id]
        again = await there.seat(match.id, seat.token)
        assert (await again.info()).joined == (0, 2)
        seen = await again.observe(wait=False, actions=True)
        assert seen.actions[0].label == match.spec.actions[seen.actions[0].index].label
        await again.resign()
        assert (await match.info()).state == "over"
        await match.reset()
        assert (await match.info()).episode == 1
        await match.resign(1)
        assert (await match.close()).state == "closed"
        await there.close()

    on_loop(ask)


def test_refusals_are_the_same_exceptions(address: str) -> None:
    async def refused() -> None:
        async with aio.connect(address) as client:
            with pytest.raises(boardwire.errors.NotFound, match="chess"):
                await client.game("chess")
            with pytest.raises(boardwire.errors.NotFound) as told:
                await client.join("0" * 32)
            assert told.value.reason == "INVITATION_UNKNOWN"
            with pytest.raises(ValueError, match="is not one of"):
                client.matches(states=["ended"])  # type: ignore[list-item]
            match = await client.create_match("faraway", players=["agent", "random"])
            for seat in (await match.join(0), (await client.seat(match.id, match.host_token))):
                async with seat:
                    with pytest.raises(boardwire.BoardwireError) as caught:
                        await seat.act(200)
                    assert caught.value.reason in ("ACTION_OUT_OF_RANGE", "SEAT_ONLY")

    on_loop(refused)


def test_an_answer_that_is_late_is_a_timeout_and_the_next_call_opens_another_stream(address: str) -> None:
    async def late() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"]) as match,
            await match.join(0) as seat,
        ):
            seen = await seat.observe(wait=False)
            await seat.act(first(seen.mask), wait=False)
            for _ in range(2):
                with pytest.raises(boardwire.errors.CallTimeout, match=r"within 0\.1 s"):
                    await seat.observe(timeout=0.1)
            assert (await seat.observe(wait=False)).decision == 1

    on_loop(late)


def test_a_cancelled_task_takes_nobodys_answer(address: str) -> None:
    async def cancelled() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"], seed=3) as match,
            await match.join(0) as seat,
        ):
            await seat.act(first((await seat.observe(wait=False)).mask), wait=False)
            waiting = asyncio.create_task(seat.observe())
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            other = await match.join(1)
            await other.act(first((await other.observe(wait=False)).mask), wait=False)
            seen = await seat.observe()
            assert seen.decision == 1
            assert seen.mask.any()

    on_loop(cancelled)


def test_a_task_that_is_cancelled_while_it_asks_ends_the_stream_alone(address: str) -> None:
    async def cancelled() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "random"], seed=3) as match,
            await match.join(0) as seat,
        ):
            asking = asyncio.create_task(seat.observe(wait=False))
            # It opens the stream, and waits until that is open.
            await asyncio.sleep(0)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            seen = await seat.observe(wait=False)
            assert (await seat.act(first(seen.mask))).decision == 1

    on_loop(cancelled)


def test_who_waits_on_a_stream_that_another_task_closes_is_told(address: str) -> None:
    async def closed() -> None:
        async with (
            aio.connect(address) as client,
            await client.create_match("faraway", players=["agent", "agent"]) as match,
        ):
            seat = await match.join(0)
            await seat.act(first((await seat.observe(wait=False)).mask), wait=False)
            waiting = asyncio.create_task(seat.observe())
            await asyncio.sleep(0.1)
            await seat.close()
            with pytest.raises(boardwire.errors.ConnectionLost, match="this process closed the stream"):
                await waiting

    on_loop(closed)


def test_a_cut_connection_is_lost_and_made_again(address: str) -> None:
    async def cut() -> None:
        proxy = Proxy(address)
        async with (
            aio.connect(proxy.address) as client,
            await client.create_match("faraway", players=["agent", "random"], seed=1) as match,
            await match.join(0) as seat,
        ):
            seen = await seat.observe()
            proxy.cut_after(answers=0)
            # It is sent once more. Whether it has come to the server before the cut or not: it counts once.
            assert (await seat.act(first(seen.mask))).decision == 1
            assert proxy.cuts == 1
            async with await client.open_batch("faraway", environments=4, seed=2, keep=True) as kept:
                step = await kept.reset()
                proxy.cut_after(answers=0)
                step = await kept.step(step.mask.argmax(axis=1))
                assert (step.ply == 1).all()
            assert proxy.cuts == 2
        proxy.close()

    on_loop(cut)


@pytest.mark.slow
def test_a_private_server_starts_again_and_ends_with_its_client() -> None:
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
        with pytest.raises(ValueError, match="an address is"):
            await aio.connect("localhost")
        monkeypatch.setenv("BOARDWIRE_BINARY", "/nowhere")
        with pytest.raises(boardwire.errors.StartError, match="/nowhere"):
            async with aio.connect():
                raise AssertionError

    on_loop(start)


def test_a_client_goes_from_one_event_loop_to_the_next(address: str) -> None:
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


def test_a_failure_to_close_hides_none_of_the_block_and_what_is_gone_needs_no_closing(address: str) -> None:
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
                with pytest.raises(boardwire.errors.Gone) as told:
                    await batch.reset()
                assert told.value.reason == "BATCH_UNKNOWN"

    on_loop(leave)


def test_a_batch_takes_the_same_arrays(address: str) -> None:
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


def test_the_modules_of_event_loops_are_made_of_those_that_block(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "tools" / "aio.py"
    if not path.exists():
        pytest.skip("an installed package has no tools")
    spec = importlib.util.spec_from_file_location("make_aio", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.make(tmp_path)
    for made in tmp_path.iterdir():
        kept = Path(aio.__file__).with_name(made.name)
        assert kept.read_text() == made.read_text(), "run: make aio"
