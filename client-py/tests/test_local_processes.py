"""An engine in this process with threads, forks, other processes and signals, and at exit."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from processes import in_child, play_batch, play_vector_env
from tables import lowest
from transports import SHORT_TIMEOUT, SLOW_BOT, local, served

import boardwire
from boardwire.errors import CallTimeout, ConnectionLost, InvalidRequest

__all__ = ["local", "served"]

#: Python 3.12 and later warn of a fork in a process with threads. Connections have threads.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_threads_step_their_own_batches_in_parallel(local: boardwire.Client) -> None:
    def play(batch: boardwire.Batch, views: list[bytes]) -> None:
        step = batch.reset(seed=4)
        for _ in range(300):
            step = batch.step(lowest(step.mask))
            views.append(step.view.tobytes())

    batches = [local.open_batch("faraway", environments=16) for _ in range(4)]
    views: list[list[bytes]] = [[] for _ in batches]
    threads = [threading.Thread(target=play, args=each) for each in zip(batches, views, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert views[0] == views[1] == views[2] == views[3] != []
    for batch in batches:
        batch.close()


def run(program: str, **options: Any) -> subprocess.Popen[str]:
    """Starts a Python program."""
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_ctrl_c_interrupts_thinking_bots() -> None:
    program = """
import boardwire
with boardwire.connect("local:") as client:
    try:
        print("ready", flush=True)
        client.open_batch("faraway", environments=4096, opponents={1: "mc:10000"}, seed=1)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    with run(program) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        # The bots would think for minutes.
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert child.wait(60) == 0


def test_a_process_exits_while_its_threads_work() -> None:
    program = """
import boardwire
client = boardwire.connect("local:")
batch = client.open_batch("faraway", environments=64, opponents={1: "mc:1000"}, seed=1)
actions = batch.reset().mask.argmax(axis=1)
try:
    batch.step(actions, timeout=0.0004)
except boardwire.errors.CallTimeout:
    print("timeout")
"""
    with run(program) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "timeout\n", "")


def play(batch: boardwire.Batch, turns: int = 30) -> int:
    """Plays the lowest legal actions and returns the sum of all views and plies."""
    step, total = batch.reset(seed=6), 0
    for _ in range(turns):
        step = batch.step(lowest(step.mask))
        total += int(step.view.sum()) + int(step.ply.sum())
    return total


@FORKS
@pytest.mark.parametrize("environments", [1, 40, 700, 2500])
def test_a_forked_child_continues_copies_of_batches_and_opens_its_own(
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
def test_a_pending_response_at_a_fork_belongs_to_the_parent(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=16, opponents={1: "mc:1000"}, seed=2) as batch:
        batch.send(lowest(batch.reset().mask))

        def child() -> list[str]:
            raised = []
            for call in (batch.recv, batch.save, batch.reset, batch.close):
                try:
                    call()
                except (ConnectionLost, RuntimeError) as error:
                    raised.append(type(error).__name__)
            with local.open_batch("faraway", environments=2, opponents={1: "mc:4"}) as own:
                own.step(lowest(own.reset().mask))
            return raised

        assert in_child(child) == b"['ConnectionLost', 'RuntimeError', 'ConnectionLost']"
        assert (batch.recv().ply > 0).all()


@FORKS
def test_forks_do_not_hang_while_a_thread_steps(local: boardwire.Client) -> None:
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
def test_a_refusal_before_a_fork_does_not_break_the_batch(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=2) as batch:
        expected = play(batch)
        with pytest.raises(InvalidRequest):
            batch.load(b"nothing")
        assert in_child(lambda: play(batch)) == repr(expected).encode()


@FORKS
def test_a_forked_child_searches_the_batch_of_the_call(local: boardwire.Client) -> None:
    with local.open_batch("faraway", environments=2, seed=1) as batch:
        step = batch.reset()

        def child() -> bool:
            with local.open_batch("rauha", environments=2, seed=2) as own:
                own.reset()
                return bool((batch.search(1).shown.view == step.view).all() and own.search(1).worlds)

        assert in_child(child) == b"True"


@FORKS
def test_after_a_fork_during_a_search_a_batch_works_or_raises(local: boardwire.Client) -> None:
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
                return "lost"
            return "works"

        searching = threading.Thread(target=search)
        searching.start()
        results = {in_child(child) for _ in range(20)}
        stop.set()
        searching.join(60)
        assert results <= {b"'lost'", b"'works'"}


@FORKS
def test_a_fork_after_a_timeout_does_not_hang(local: boardwire.Client) -> None:
    with local.open_batch("faraway", **SLOW_BOT) as batch:
        with pytest.raises(CallTimeout):
            batch.step(lowest(batch.reset().mask), timeout=SHORT_TIMEOUT)

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


def test_a_fork_by_c_code_is_detected() -> None:
    program = """
import ctypes, os
import boardwire
client = boardwire.connect("local:")
batch = client.open_batch("faraway", environments=256, opponents={1: "random"}, seed=1)
step = batch.step(batch.reset(seed=1).mask.argmax(1))
# Python does not notice this fork. The child has no threads that work on batches.
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


def test_nested_forks_work_up_to_the_limit() -> None:
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
    assert "64 or more forks away" in line


@FORKS
def test_a_reimported_module_survives_forks() -> None:
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
    expected = play_batch("local:", 5)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(play_batch, [("local:", 5)] * 2) == [expected] * 2
    assert play_vector_env("local:", 5) == play_vector_env("local:", 5)


def test_a_forked_child_closes_its_copy_of_a_batch(local: boardwire.Client) -> None:
    batch = local.open_batch("faraway", environments=2, seed=1)
    batch.reset()

    def child() -> None:
        # The search creates the batch in the engine of the child.
        batch.search(1).close()
        batch.close()
        with pytest.raises(boardwire.errors.Gone):
            local._connection.call(
                "SearchService/CreateSearch", {"batch_id": batch.id, "worlds": 1}, timeout=30
            )

    assert in_child(child) == b"None"
    assert batch.step(lowest(batch.reset().mask)).view.any()


SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

{imports}
try:
    failure = interpreters.run_string(interpreters.create(), "import boardwire")
except interpreters.RunFailedError as error:
    failure = error
print(getattr(failure, "formatted", failure))
"""


@pytest.mark.parametrize("imports", ["", "import boardwire"])
def test_a_sub_interpreter_is_refused(imports: str) -> None:
    output, errors = run(SUB_INTERPRETER.format(imports=imports)).communicate(timeout=60)
    assert "ImportError" in output, errors
    assert "boardwire cannot run in a sub-interpreter" in output
