"""Errors of lost matches, batches and servers, and how their objects are closed."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from outages import ListeningServer, create_match, kill_private, stream_of
from processes import in_child
from proxies import Proxy, proxy_of

import boardwire

pytestmark = pytest.mark.slow

LOST = r"status -9, and the matches and batches in its memory are gone"


def test_calls_of_lost_objects_raise_connection_lost() -> None:
    with boardwire.connect() as client:
        match, other = create_match(client), create_match(client)
        seat = match.join(0)
        batch = client.open_batch("faraway", environments=2)
        left, right = batch.halves()
        actions = batch.reset().mask.argmax(axis=1)
        assert client._private is not None
        # The server sends no more responses.
        client._private._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, client._private._process.pid, os.WSTOPPED | os.WNOWAIT)
        for part in (left, right):
            part.send(actions[part.rows])
        kill_private(client)
        calls: list[Callable[[], object]] = [
            left.recv,
            right.recv,
            batch.reset,
            batch.save,
            seat.observe,
            seat.replay,
            seat.info,
            match.info,
            match.reset,
            match.close,
            lambda: other.join(0),
            lambda: client.join(other.invitations[0]),
            lambda: client.seat(match.id, seat.token),
        ]
        for call in calls:
            with pytest.raises(boardwire.errors.ConnectionLost, match=LOST):
                call()
        client.games()
        # Objects of the lost server raise the same error. The new server refuses their ids and codes.
        for call in calls[2:-2]:
            with pytest.raises(boardwire.errors.ConnectionLost, match=LOST):
                call()
        for call, kind in zip(calls[-2:], (boardwire.errors.NotFound, boardwire.errors.Gone), strict=True):
            with pytest.raises(kind, match="was started again: what was in its memory is gone"):
                call()
        batch.close()


def test_the_advice_of_an_error_fits_the_call() -> None:
    server = ListeningServer("127.0.0.1:0")
    with boardwire.connect(server.address) as client:
        match = create_match(client)
        seat = match.join(0)
        batch = client.open_batch("faraway", environments=1)
        kept = client.open_batch("faraway", environments=1, keep=True)
        for one in (batch, kept):
            one.reset()
        server.crash()
        for call, advice in (
            (seat.observe, r"the match continues while the server runs.*client\.seat\(match_id, token\)"),
            (match.info, r"the match continues"),
            (match.reset, r"the match continues"),
            (batch.reset, r"a batch ends with its connection: open another"),
            (kept.reset, r"because it was opened with keep"),
            (kept.save, r"because it was opened with keep"),
            (client.games, r"repeat the call when a server responds at this address again"),
            (lambda: create_match(client), r"repeat the call when a server responds at this address again"),
        ):
            with pytest.raises(boardwire.errors.ConnectionLost, match=advice):
                call()
        # After any number of failed calls, the first call to the restarted server succeeds.
        for _ in range(20):
            with pytest.raises(boardwire.errors.ConnectionLost):
                client.games()
        server.restart()
        assert client.games()
        with pytest.raises(boardwire.errors.Gone) as caught:
            seat.observe(wait=False)
        assert caught.value.reason == "MATCH_UNKNOWN"
        with pytest.raises(boardwire.errors.Gone) as caught:
            batch.reset()
        assert caught.value.reason == "BATCH_UNKNOWN"
    server.stop()


def crash(client: boardwire.Client, server: ListeningServer | None) -> None:
    """Kills the client's server: the listening one, or its private one."""
    if server:
        server.crash()
    else:
        kill_private(client)


@pytest.mark.parametrize("listening", [False, True])
def test_leaving_a_block_after_a_crash_raises_nothing(listening: bool) -> None:
    server = ListeningServer("127.0.0.1:0") if listening else None
    with boardwire.connect(server.address if server else None) as client:
        match, batch = create_match(client), client.open_batch("faraway", environments=1)
        with batch, match, match.join(0) as seat:
            batch.reset()
            seat.observe(wait=False)
            crash(client, server)
        for closing in (batch, seat, client):
            closing.close()
        # This call returns the state of the match, but the state is lost.
        with pytest.raises(boardwire.errors.ConnectionLost):
            match.close()


@pytest.mark.parametrize("listening", [False, True])
def test_leaving_a_block_does_not_hide_its_exception(listening: bool) -> None:
    server = ListeningServer("127.0.0.1:0") if listening else None
    client = boardwire.connect(server.address if server else None)
    match, batch = create_match(client), client.open_batch("faraway", environments=1)
    batch.reset()

    def step() -> None:
        crash(client, server)
        batch.step([0])

    with pytest.raises(boardwire.errors.ConnectionLost) as caught, client, match, batch:
        step()
    assert caught.traceback[-1].name == "receive", "the exception is that of the step"
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_refused_close_raises_unless_the_block_has_failed(client: boardwire.Client) -> None:
    match, batch = create_match(client), client.open_batch("faraway", environments=1)
    host_token, match.host_token = match.host_token, ""
    stream = stream_of(batch)
    token, stream._token = stream._token, ""
    for one in (match, batch):
        with pytest.raises(boardwire.errors.AccessDenied), one:
            pass
        with pytest.raises(KeyError, match="the body's"), one:
            raise KeyError("the body's")
    match.host_token, stream._token = host_token, token
    match.close()
    batch.close()


@pytest.mark.parametrize("by_cut", [True, False])
def test_a_join_without_a_response_can_be_repeated(address: str, by_cut: bool) -> None:
    with (
        boardwire.connect(address) as host,
        create_match(host) as match,
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address, timeout=30 if by_cut else 2) as client,
    ):
        code = match.invitations[0].code
        client.games()
        if by_cut:
            # The proxy cuts both attempts of the client.
            with pytest.raises(boardwire.errors.ConnectionLost):
                lose_responses(proxy, lambda: 0 in match.info().joined, lambda: client.join(code))
        else:
            with proxy.hold_responses(), pytest.raises(boardwire.errors.CallTimeout):
                client.join(code)
        assert 0 in match.info().joined
        with client.join(code) as seat:
            assert seat.observe(wait=False).decision == 0
        with pytest.raises(boardwire.errors.NotPossibleNow) as caught:
            client.join(code)
        assert caught.value.reason == "INVITATION_USED"


def lose_responses(proxy: Proxy, is_done: Callable[[], bool], call: Callable[[], object]) -> None:
    """Makes a call; the proxy cuts all connections after the server has acted and before it responds."""
    done = threading.Event()

    def cut() -> None:
        while not done.is_set():
            if is_done():
                proxy.cut()
            time.sleep(0.001)

    cutting = threading.Thread(target=cut)
    with proxy.hold_responses():
        cutting.start()
        try:
            call()
        finally:
            done.set()
            cutting.join()


@pytest.mark.parametrize("keep", [False, True])
def test_an_unreferenced_batch_or_search_is_closed(keep: bool) -> None:
    with boardwire.connect(server_args=["--max-batches", "2"]) as client:
        for _ in range(5):
            batch = client.open_batch("faraway", environments=1, keep=keep)
            batch.reset()
            search = batch.search(1)
            with pytest.raises(boardwire.errors.ServerFull) as caught:
                client.open_batch("faraway", environments=1)
            assert caught.value.reason == "BATCHES_FULL"
            del batch, search
            gc.collect()
            # The next call sends the pending close, but its own response may come first.
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.open_batch("faraway", environments=1).close()
                    break
                except boardwire.errors.ServerFull:
                    assert time.monotonic() < deadline


def test_a_forked_child_does_not_close_the_parents_batch() -> None:
    with boardwire.connect() as client:
        batches = [client.open_batch("faraway", environments=1)]
        step = batches[0].reset()

        def drop() -> int:
            batches.clear()
            gc.collect()
            return len(client.games())

        assert in_child(drop) == b"3"
        client.games()
        assert batches[0].step(step.mask.argmax(axis=1)).mask.any()
