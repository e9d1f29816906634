"""Clients, seats and environments cross into other processes."""

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
    by_address,
    by_batch,
    by_env,
    by_pettingzoo,
    by_vector_env,
    env_worker,
    in_child,
    load,
    play,
)

import boardwire
from boardwire._stream import Stream

# Python 3.12 and later warn of every fork beside threads, which connections have.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]


@pytest.fixture(params=["fork", "forkserver", "spawn"])
def context(request: pytest.FixtureRequest) -> Any:
    """Each way to start a process."""
    return multiprocessing.get_context(request.param)


@pytest.mark.parametrize("work", [by_address, by_env, by_batch, by_vector_env, by_pettingzoo])
def test_processes_play_at_once(client: boardwire.Client, context: BaseContext, work: Any) -> None:
    here = [work(client.address, seed) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(work, [client.address] * 4, range(4))) == here


def test_a_fork_takes_client_seat_and_stream_along_and_leaves_the_parents_alone() -> None:
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "random"], seed=3)
        with match.join(0) as seat:
            seen = seat.observe()
            assert in_child(lambda: seat.observe(wait=False).decision) == b"0"
            assert in_child(client.close) == b"None"
            # The child closed what is its own: nothing. Server, channel and stream go on.
            assert seat.act(int(seen.mask.nonzero()[0][0])).decision == 1
            assert in_child(lambda: seat.observe(wait=False).decision) == b"1"
            assert play(seat)


def test_a_fork_takes_a_batch_along_and_leaves_the_parents_stream_alone() -> None:
    with (
        boardwire.connect() as client,
        client.open_batch("faraway", environments=4, opponents={1: "random"}, seed=3) as batch,
    ):
        step = batch.reset()
        actions = step.mask.argmax(axis=1)
        batch.send(actions)
        # What the parent has sent is not the child's to receive; what the child asks, it is answered.
        assert b"ConnectionLost" in in_child(batch.recv)
        mine = batch.recv().view.tobytes()
        assert in_child(lambda: batch.reset(seed=3).view.tobytes()) == repr(step.view.tobytes()).encode()
        assert in_child(lambda: batch.step(actions).view.tobytes()) == repr(mine).encode()
        assert in_child(batch.close) == b"None"
        with pytest.raises(boardwire.errors.Gone) as told:
            batch.reset()
        assert told.value.reason == "BATCH_UNKNOWN"


def test_environments_made_by_forked_workers_play_as_those_made_here() -> None:
    # The private server of this process exists before the workers do, as when a trainer has made one
    # environment to look at its spaces.
    here = gymnasium.make(FARAWAY, opponents="random")
    expected = [here.reset(seed=seed)[1]["action_mask"].tobytes() for seed in range(3)]
    context = multiprocessing.get_context("fork")
    pipes, workers = [], []
    for _ in range(3):
        mine, theirs = context.Pipe()
        workers.append(context.Process(target=env_worker, args=(theirs, lambda: gymnasium.make(FARAWAY))))
        workers[-1].start()
        pipes.append(mine)
    for seed, pipe in enumerate(pipes):
        pipe.send(("reset", seed))
    answers = [pipe.recv() for pipe in pipes]
    assert [info["action_mask"].tobytes() for _, info in answers] == expected
    for _ in range(10):
        for pipe, answer in zip(pipes, answers, strict=True):
            pipe.send(("step", int(answer[-1]["action_mask"].argmax())))
        answers = [pipe.recv() for pipe in pipes]
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(("close", None))
        worker.join(20)
        assert worker.exitcode == 0
    here.reset(seed=1)
    here.close()


def test_a_loaders_forked_workers_read_batches_of_their_own() -> None:
    context = multiprocessing.get_context("fork")
    with boardwire.connect() as client:
        expected = [sample for _, sample in zip(range(30), Samples(client, 5), strict=False)]
        queues = [context.SimpleQueue() for _ in range(2)]
        workers = [
            context.Process(target=load, args=(queue, Samples(client, 5), len(expected))) for queue in queues
        ]
        for worker in workers:
            worker.start()
        for queue in queues:
            assert [queue.get() for _ in expected] == expected
        for worker in workers:
            worker.join(20)
            assert worker.exitcode == 0


def gone(seat_or_batch: boardwire.Seat | boardwire.Batch) -> threading.Event:
    """Set once the call of a stream is no longer there."""
    if isinstance(seat_or_batch, boardwire.Batch):
        stream: Stream = stream_of(seat_or_batch)._stream
    else:
        stream = seat_or_batch._stream._stream
    assert stream.is_open
    gone = threading.Event()
    weakref.finalize(stream, gone.set).atexit = False
    return gone


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Garbage is collected when a test says so."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_forgotten_batch_or_seat_leaves_its_stream(client: boardwire.Client) -> None:
    batch = client.open_batch("faraway", environments=4)
    half, other = batch.halves()
    half.step(batch.reset().mask[half.rows].argmax(axis=1))
    seat = client.create_match("faraway", players=["agent", "random"]).join(0)
    seat.observe(wait=False)
    calls = [gone(batch), gone(seat)]
    del batch, half, other, seat
    assert all(call.wait(20) for call in calls)


def test_a_child_that_ends_in_the_ordinary_way_leaves_the_server_alone() -> None:
    with boardwire.connect() as client:
        client.games()
        child = os.fork()
        if child == 0:
            # What runs at an ordinary exit, without pytest's own.
            client.games()
            (client._private.close())  # type: ignore[union-attr]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert client.games()
