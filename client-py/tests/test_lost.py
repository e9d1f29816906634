"""What is said to those whose match, batch or server is gone, and what is left to close."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from outages import FixedPlace, create, kill_private, stream_of
from processes import in_child
from proxies import Proxy, proxy_of

import boardwire

pytestmark = pytest.mark.slow

LOST = r"status -9, and the matches and batches in its memory are gone"


def test_what_was_lost_is_said_to_its_holder() -> None:
    with boardwire.connect() as client:
        match, other = create(client), create(client)
        seat = match.join(0)
        batch = client.open_batch("faraway", environments=2)
        left, right = batch.halves()
        actions = batch.reset().mask.argmax(axis=1)
        assert client._private is not None
        # It answers nothing more before its end.
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
            seat.observe,
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
        # Those who hold something of the lost server are told the same; those who name it, by the new one.
        for call in calls[2:-2]:
            with pytest.raises(boardwire.errors.ConnectionLost, match=LOST):
                call()
        for call, kind in zip(calls[-2:], (boardwire.errors.NotFound, boardwire.errors.Gone), strict=True):
            with pytest.raises(kind, match="was started again: what was in its memory is gone"):
                call()
        batch.close()


def test_advice_fits_what_was_called() -> None:
    place = FixedPlace("127.0.0.1:0")
    with boardwire.connect(place.address) as client:
        match = create(client)
        seat = match.join(0)
        batch = client.open_batch("faraway", environments=1)
        kept = client.open_batch("faraway", environments=1, keep=True)
        for one in (batch, kept):
            one.reset()
        place.crash()
        for call, advice in (
            (seat.observe, r"the match continues while the server runs"),
            (seat.observe, r"client\.seat\(match_id, token\)"),
            (match.info, r"the match continues"),
            (match.reset, r"the match continues"),
            (batch.reset, r"a batch ends with its connection: open another"),
            (kept.reset, r"because it was opened with keep"),
            (kept.save, r"because it was opened with keep"),
            (client.games, r"repeat the call when a server responds at this address again"),
            (lambda: create(client), r"repeat the call when a server responds at this address again"),
        ):
            with pytest.raises(boardwire.errors.ConnectionLost, match=advice):
                call()
        # However often nobody has answered, the first call after that is answered.
        for _ in range(20):
            with pytest.raises(boardwire.errors.ConnectionLost):
                client.games()
        place.restore()
        assert client.games()
        with pytest.raises(boardwire.errors.Gone) as told:
            seat.observe(wait=False)
        assert told.value.reason == "MATCH_UNKNOWN"
        with pytest.raises(boardwire.errors.Gone) as told:
            batch.reset()
        assert told.value.reason == "BATCH_UNKNOWN"
    place.end()


def crash(client: boardwire.Client, place: FixedPlace | None) -> None:
    """Kills the client's server, at its address or private."""
    if place:
        place.crash()
    else:
        kill_private(client)


@pytest.mark.parametrize("fixed", [False, True])
def test_the_end_of_a_block_closes_nothing_that_is_gone(fixed: bool) -> None:
    place = FixedPlace("127.0.0.1:0") if fixed else None
    with boardwire.connect(place.address if place else None) as client:
        match, batch = create(client), client.open_batch("faraway", environments=1)
        with batch, match, match.join(0) as seat:
            batch.reset()
            seat.observe(wait=False)
            crash(client, place)
        for closing in (batch, seat, client):
            closing.close()
        # It gives what is known of the match, which nobody knows.
        with pytest.raises(boardwire.errors.ConnectionLost):
            match.close()


@pytest.mark.parametrize("fixed", [False, True])
def test_the_end_of_a_block_does_not_hide_its_failure(fixed: bool) -> None:
    place = FixedPlace("127.0.0.1:0") if fixed else None
    client = boardwire.connect(place.address if place else None)
    match, batch = create(client), client.open_batch("faraway", environments=1)
    batch.reset()

    def step() -> None:
        crash(client, place)
        batch.step([0])

    with pytest.raises(boardwire.errors.ConnectionLost) as caught, client, match, batch:
        step()
    assert caught.traceback[-1].name == "receive", "it is the failure of the step"
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_close_that_is_refused_is_told_unless_the_block_has_failed(client: boardwire.Client) -> None:
    match, batch = create(client), client.open_batch("faraway", environments=1)
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


@pytest.mark.parametrize("patient", [True, False])
def test_a_join_that_was_not_answered_finds_its_seat_again(address: str, patient: bool) -> None:
    with (
        boardwire.connect(address) as host,
        create(host) as match,
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address, timeout=30 if patient else 2) as client,
    ):
        code = match.invitations[0].code
        client.games()
        if patient:
            # Both attempts of the client are cut.
            with pytest.raises(boardwire.errors.ConnectionLost):
                lose_answers(proxy, lambda: 0 in match.info().joined, lambda: client.join(code))
        else:
            with proxy.held(), pytest.raises(boardwire.errors.CallTimeout):
                client.join(code)
        assert 0 in match.info().joined
        with client.join(code) as seat:
            assert seat.observe(wait=False).decision == 0
        with pytest.raises(boardwire.errors.NotPossibleNow) as told:
            client.join(code)
        assert told.value.reason == "INVITATION_USED"


def lose_answers(proxy: Proxy, is_done: Callable[[], bool], call: Callable[[], object]) -> None:
    """Calls; every connection is cut once the server has done what it was asked for, before it tells."""
    ended = threading.Event()

    def cut() -> None:
        while not ended.is_set():
            if is_done():
                proxy.cut()
            time.sleep(0.001)

    cutting = threading.Thread(target=cut)
    with proxy.held():
        cutting.start()
        try:
            call()
        finally:
            ended.set()
            cutting.join()


@pytest.mark.parametrize("keep", [False, True])
def test_a_forgotten_batch_or_search_is_given_back(keep: bool) -> None:
    with boardwire.connect(server_args=["--max-batches", "2"]) as client:
        for _ in range(5):
            batch = client.open_batch("faraway", environments=1, keep=keep)
            batch.reset()
            search = batch.search(1)
            with pytest.raises(boardwire.errors.ServerFull) as told:
                client.open_batch("faraway", environments=1)
            assert told.value.reason == "BATCHES_FULL"
            del batch, search
            gc.collect()
            # A call sends what was left to be sent; its answer may come first.
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.open_batch("faraway", environments=1).close()
                    break
                except boardwire.errors.ServerFull:
                    assert time.monotonic() < deadline


def test_what_a_forked_process_forgets_is_its_parents() -> None:
    with boardwire.connect() as client:
        held = [client.open_batch("faraway", environments=1)]
        step = held[0].reset()

        def forget() -> int:
            held.clear()
            gc.collect()
            return len(client.games())

        assert in_child(forget) == b"3"
        client.games()
        assert held[0].step(step.mask.argmax(axis=1)).mask.any()
