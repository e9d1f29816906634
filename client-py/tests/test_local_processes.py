"""An engine in this process beside threads, forks, other processes and signals, and at its end."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from carriers import SOON, THINKING, local, served
from processes import by_batch, by_vector_env, in_child
from tables import lowest

import boardwire
from boardwire.errors import CallTimeout, ConnectionLost, InvalidRequest

__all__ = ["local", "served"]

#: Python 3.12 and later warn of every fork beside threads, which connections have.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_threads_step_batches_of_their_own_and_one_together(local: boardwire.Client) -> None:
    def play(batch: boardwire.Batch, seen: list[bytes]) -> None:
        step = batch.reset(seed=4)
        for _ in range(300):
            step = batch.step(lowest(step.mask))
            seen.append(step.view.tobytes())

    batches = [local.open_batch("faraway", environments=16) for _ in range(4)]
    seen: list[list[bytes]] = [[] for _ in batches]
    threads = [threading.Thread(target=play, args=each) for each in zip(batches, seen, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen[0] == seen[1] == seen[2] == seen[3] != []
    for batch in batches:
        batch.close()


def run(program: str, **more: Any) -> subprocess.Popen[str]:
    """Starts a program of Python."""
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_ctrl_c_is_heard_while_bots_think() -> None:
    program = """
import boardwire
with boardwire.connect("local:") as client:
    try:
        print("ready", flush=True)
        client.open_batch("faraway", environments=4096, opponents={1: "mc:10000"}, seed=1)
    except KeyboardInterrupt:
        print("heard", flush=True)
"""
    with run(program) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        # The bots would think for minutes.
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "heard\n"
        assert child.wait(60) == 0


def test_a_process_ends_while_its_threads_work() -> None:
    program = """
import boardwire
client = boardwire.connect("local:")
batch = client.open_batch("faraway", environments=64, opponents={1: "mc:1000"}, seed=1)
actions = batch.reset().mask.argmax(axis=1)
try:
    batch.step(actions, timeout=0.0004)
except boardwire.errors.CallTimeout:
    print("under way")
"""
    with run(program) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "under way\n", "")


def play(batch: boardwire.Batch, turns: int = 30) -> int:
    """Plays on with lowest legal actions; gives a sum over all that is shown."""
    step, seen = batch.reset(seed=6), 0
    for _ in range(turns):
        step = batch.step(lowest(step.mask))
        seen += int(step.view.sum()) + int(step.ply.sum())
    return seen


@FORKS
@pytest.mark.parametrize("environments", [1, 40, 700, 2500])
def test_a_forked_child_goes_on_with_copies_of_batches_and_opens_its_own(
    local: boardwire.Client, environments: int
) -> None:
    with local.open_batch("faraway", environments=environments) as batch:
        expected = play(batch)

        def child() -> list[int]:
            with local.open_batch("faraway", environments=environments) as own:
                return [play(batch), play(own)]

        assert in_child(child) == repr([expected] * 2).encode()
        assert play(batch) == expected


@FORKS
def test_what_is_under_way_at_a_fork_is_the_parents(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=16, opponents={1: "mc:1000"}, seed=2) as batch:
        batch.send(lowest(batch.reset().mask))

        def child() -> list[str]:
            said = []
            for call in (batch.recv, batch.save, batch.reset, batch.close):
                try:
                    call()
                except (ConnectionLost, RuntimeError) as error:
                    said.append(type(error).__name__)
            with local.open_batch("faraway", environments=2, opponents={1: "mc:4"}) as own:
                own.step(lowest(own.reset().mask))
            return said

        assert in_child(child) == b"['ConnectionLost', 'RuntimeError', 'ConnectionLost']"
        assert (batch.recv().ply > 0).all()


@FORKS
def test_forks_beside_threads_that_step_hang_nobody(local: boardwire.Client) -> None:
    stop = threading.Event()

    def step() -> None:
        with local.open_batch("faraway", environments=3000) as batch:
            while not stop.is_set():
                play(batch, 3)

    stepping = threading.Thread(target=step)
    stepping.start()
    with local.open_batch("rauha", environments=2500) as batch:
        expected = play(batch, 5)
        for _ in range(20):
            assert in_child(lambda: play(batch, 5)) == repr(expected).encode()
    stop.set()
    stepping.join(60)
    assert not stepping.is_alive()


@FORKS
def test_what_was_refused_before_a_fork_tears_nothing(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=2) as batch:
        expected = play(batch)
        with pytest.raises(InvalidRequest):
            batch.load(b"nothing")
        assert in_child(lambda: play(batch)) == repr(expected).encode()


@FORKS
def test_a_forked_child_searches_the_batch_that_it_says(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=2, seed=1) as batch:
        shown = batch.reset()

        def child() -> bool:
            with local.open_batch("rauha", environments=2, seed=2) as own:
                own.reset()
                return bool((batch.search(1).shown.view == shown.view).all() and own.search(1).worlds)

        assert in_child(child) == b"True"


@FORKS
def test_a_fork_beside_a_search_leaves_a_batch_whole_or_says_that_it_is_torn(local: boardwire.Client) -> None:
    with local.open_batch("golden_compass", environments=3000) as batch:
        batch.reset()
        stop = threading.Event()

        def search() -> None:
            while not stop.is_set():
                batch.search(1).close()

        def child() -> str:
            try:
                batch.reset()
            except ConnectionLost:
                return "torn"
            return "whole"

        searching = threading.Thread(target=search)
        searching.start()
        said = {in_child(child) for _ in range(20)}
        stop.set()
        searching.join(60)
        assert said <= {b"'torn'", b"'whole'"}


@FORKS
def test_a_fork_after_a_call_that_nobody_waits_for_any_more_hangs_nobody(local: boardwire.Client) -> None:
    with local.open_batch("faraway", **THINKING) as batch:
        with pytest.raises(CallTimeout):
            batch.step(lowest(batch.reset().mask), timeout=SOON)

        def child() -> str:
            try:
                batch.recv()
            except ConnectionLost:
                return "lost"
            return "received"

        assert in_child(child) == b"'lost'"
        batch.recv()


@FORKS
def test_threads_of_a_forked_child_share_its_engine(local: boardwire.Client) -> None:
    def child() -> list[bool]:
        opened: list[bool] = []

        def work() -> None:
            with local.open_batch("faraway", environments=1) as batch:
                opened.append(bool((batch.reset().ply == 0).all()))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return opened

    for _ in range(5):
        assert in_child(child) == repr([True] * 6).encode()


def test_a_fork_by_a_c_program_is_noticed() -> None:
    program = """
import ctypes, os
import boardwire
client = boardwire.connect("local:")
batch = client.open_batch("faraway", environments=256, opponents={1: "random"}, seed=1)
step = batch.step(batch.reset(seed=1).mask.argmax(1))
# Python hears nothing of it. The threads that work on batches are gone in the child.
child = ctypes.PyDLL(None).fork()
step = batch.step(step.mask.argmax(1))
os.write(1, f"{step.view.sum()}\\n".encode())
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    with run(program) as parent:
        output, errors = parent.communicate(timeout=60)
    assert parent.returncode == 0, errors
    of_child, of_parent = output.split()
    assert of_child == of_parent


def test_forks_of_forks_work_as_deep_as_is_said() -> None:
    program = """
import os, sys
import boardwire
client = boardwire.connect("local:")
client.open_batch("faraway", environments=4, seed=1)
for depth in range(1, 65):
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    try:
        client.open_batch("faraway", environments=4, seed=1).close()
    except boardwire.BoardwireError as error:
        print(depth, error, flush=True)
os._exit(0)
"""
    with run(program) as first:
        output, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    (line,) = output.splitlines()
    assert line.startswith("64 ")
    assert "64 forks or more" in line


@FORKS
def test_a_module_that_is_imported_again_survives_forks() -> None:
    program = """
import os, sys, gc
import boardwire
os.register_at_fork(before=gc.collect)
client = boardwire.connect("local:")
client.open_batch("faraway", environments=1).search(1)
del client, boardwire
for name in [name for name in sys.modules if name.startswith("boardwire")]:
    del sys.modules[name]
import boardwire
with boardwire.connect("local:") as client, client.open_batch("faraway", environments=3000) as batch:
    batch.reset()
    child = os.fork()
    if child == 0:
        batch.reset()
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""
    with run(program) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "0\n", "")


def test_other_processes_play_the_same() -> None:
    expected = by_batch("local:", 5)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(by_batch, [("local:", 5)] * 2) == [expected] * 2
    assert by_vector_env("local:", 5) == by_vector_env("local:", 5)


def test_a_batch_that_a_forked_child_closed_is_gone_from_its_engine(local: boardwire.Client) -> None:
    batch = local.open_batch("faraway", environments=2, seed=1)
    batch.reset()

    def child() -> None:
        # A search needs the batch in the engine of the child.
        batch.search(1).close()
        batch.close()
        with pytest.raises(boardwire.errors.Gone):
            local._connection.call(
                "SearchService/CreateSearch", {"batch_id": batch.id, "worlds": 1}, timeout=30
            )

    assert in_child(child) == b"None"
    assert batch.step(lowest(batch.reset().mask)).view.any()
