"""Clients, seats, batches and environments in forked and spawned processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import BaseContext
from typing import Any

import gymnasium
import pytest
from outages import stream_of
from processes import (
    FARAWAY,
    Samples,
    env_worker,
    in_child,
    load_samples,
    play,
    play_batch,
    play_env,
    play_match,
    play_pettingzoo,
    play_vector_env,
)

import boardwire
from boardwire._stream import Stream

# Python 3.12 and later warn of a fork in a process with threads. Connections have threads.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]


@pytest.fixture(params=["fork", "forkserver", "spawn"])
def context(request: pytest.FixtureRequest) -> Any:
    """Each start method of multiprocessing."""
    return multiprocessing.get_context(request.param)


@pytest.mark.parametrize("work", [play_match, play_env, play_batch, play_vector_env, play_pettingzoo])
def test_processes_play_in_parallel(client: boardwire.Client, context: BaseContext, work: Any) -> None:
    expected = [work(client.address, seed) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(work, [client.address] * 4, range(4))) == expected


def test_a_forked_child_uses_client_and_seat_without_effect_on_the_parent() -> None:
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "random"], seed=3)
        with match.join(0) as seat:
            obs = seat.observe()
            assert in_child(lambda: seat.observe(wait=False).decision) == b"0"
            assert in_child(client.close) == b"None"
            # The child owns no server, channel or stream, so its close ends none.
            assert seat.act(int(obs.mask.nonzero()[0][0])).decision == 1
            assert in_child(lambda: seat.observe(wait=False).decision) == b"1"
            assert play(seat)


def test_a_forked_child_uses_a_batch_without_effect_on_the_parents_stream() -> None:
    with (
        boardwire.connect() as client,
        client.open_batch("faraway", environments=4, opponents={1: "random"}, seed=3) as batch,
    ):
        step = batch.reset()
        actions = step.mask.argmax(axis=1)
        batch.send(actions)
        # The child cannot receive the parent's response, but it can send its own requests.
        assert b"ConnectionLost" in in_child(batch.recv)
        received = batch.recv().view.tobytes()
        assert in_child(lambda: batch.reset(seed=3).view.tobytes()) == repr(step.view.tobytes()).encode()
        assert in_child(lambda: batch.step(actions).view.tobytes()) == repr(received).encode()
        assert in_child(batch.close) == b"None"
        with pytest.raises(boardwire.errors.Gone) as caught:
            batch.reset()
        assert caught.value.reason == "BATCH_UNKNOWN"


def test_environments_of_forked_workers_play_like_those_of_the_parent() -> None:
    # The private server exists before the workers, as when a trainer reads the spaces first.
    env = gymnasium.make(FARAWAY, opponents="random")
    expected = [env.reset(seed=seed)[1]["action_mask"].tobytes() for seed in range(3)]
    context = multiprocessing.get_context("fork")
    pipes, workers = [], []
    for _ in range(3):
        parent_end, child_end = context.Pipe()
        workers.append(context.Process(target=env_worker, args=(child_end, lambda: gymnasium.make(FARAWAY))))
        workers[-1].start()
        pipes.append(parent_end)
    for seed, pipe in enumerate(pipes):
        pipe.send(("reset", seed))
    responses = [pipe.recv() for pipe in pipes]
    assert [info["action_mask"].tobytes() for _, info in responses] == expected
    for _ in range(10):
        for pipe, response in zip(pipes, responses, strict=True):
            pipe.send(("step", int(response[-1]["action_mask"].argmax())))
        responses = [pipe.recv() for pipe in pipes]
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(("close", None))
        worker.join(20)
        assert worker.exitcode == 0
    env.reset(seed=1)
    env.close()


def test_forked_workers_of_a_loader_open_their_own_batches() -> None:
    context = multiprocessing.get_context("fork")
    with boardwire.connect() as client:
        expected = [sample for _, sample in zip(range(30), Samples(client, 5), strict=False)]
        queues = [context.SimpleQueue() for _ in range(2)]
        workers = [
            context.Process(target=load_samples, args=(queue, Samples(client, 5), len(expected)))
            for queue in queues
        ]
        for worker in workers:
            worker.start()
        for queue in queues:
            assert [queue.get() for _ in expected] == expected
        for worker in workers:
            worker.join(20)
            assert worker.exitcode == 0


def when_freed(seat_or_batch: boardwire.Seat | boardwire.Batch) -> threading.Event:
    """Returns an event that is set when the stream is freed."""
    if isinstance(seat_or_batch, boardwire.Batch):
        stream: Stream = stream_of(seat_or_batch)._stream
    else:
        stream = seat_or_batch._stream._stream
    assert stream.is_open
    freed = threading.Event()
    weakref.finalize(stream, freed.set).atexit = False
    return freed


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Disables automatic garbage collection during a test."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_an_unreferenced_batch_or_seat_frees_its_stream(client: boardwire.Client) -> None:
    batch = client.open_batch("faraway", environments=4)
    half, other = batch.halves()
    half.step(batch.reset().mask[half.rows].argmax(axis=1))
    seat = client.create_match("faraway", players=["agent", "random"]).join(0)
    seat.observe(wait=False)
    freed = [when_freed(batch), when_freed(seat)]
    del batch, half, other, seat
    assert all(event.wait(20) for event in freed)


def test_a_child_that_exits_normally_does_not_stop_the_server() -> None:
    with boardwire.connect() as client:
        client.games()
        child = os.fork()
        if child == 0:
            # The same work as at a normal exit, without the exit handlers of pytest.
            client.games()
            (client._private.close())  # type: ignore[union-attr]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert client.games()
