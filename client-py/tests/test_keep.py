"""Batches opened with `keep` survive a lost connection: no step is lost, and none is applied twice."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
from outages import break_stream, stream_of
from proxies import Proxy, proxy_of
from tables import lowest

import boardwire
from boardwire._batch import open_transport
from boardwire.errors import CallTimeout, ConnectionLost, IllegalAction, StaleRequest

N = 6
_T = TypeVar("_T")


def retried(call: Callable[[], _T]) -> _T:
    """Retries a call until no connection breaks, and returns its result."""
    while True:
        try:
            return call()
        except ConnectionLost:
            continue


def open_batch(client: boardwire.Client, *, keep: bool = True) -> boardwire.Batch:
    """Opens a batch; all batches play the same."""
    return client.open_batch("faraway", environments=N, seed=3, keep=keep, columns=["episodes"])


#: Where the proxy cuts: before or within the request, before or within the response.
CUTS = [{"requests": 0}, {"requests": 20}, {"responses": 0}, {"responses": 300}]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_step_is_applied_once_when_its_connection_is_cut(address: str, cut: dict[str, int]) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        boardwire.connect(address) as direct,
        open_batch(client) as batch,
        open_batch(direct) as reference,
    ):
        step, expected = batch.reset(), reference.reset()
        for turn in range(30):
            if turn % 5 == 2:
                proxy.cut_after(**cut)
            step = retried(lambda step=step: batch.step(lowest(step.mask)))  # type: ignore[misc]
            expected = reference.step(lowest(expected.mask))
            assert pickle.dumps(step) == pickle.dumps(expected)
        assert proxy.cuts == 6


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_reset_is_applied_once_when_its_connection_is_cut(address: str, cut: dict[str, int]) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        open_batch(client) as batch,
    ):
        batch.reset()
        for number in range(1, 5):
            proxy.cut_after(**cut)
            step = batch.reset()
            assert step.episode is not None
            assert step.episode.tolist() == [number] * N
        assert proxy.cuts == 4


def play_by_halves(batch: boardwire.Batch, disturb: Callable[[], None]) -> list[bytes]:
    """Plays the halves in turn and returns all steps, pickled."""
    step, steps = retried(batch.reset), []
    halves = batch.halves()
    for half in halves:
        retried(lambda half=half: half.send(lowest(step.mask[half.rows])))  # type: ignore[misc]
    for _ in range(60):
        for half in halves:
            disturb()
            received = retried(half.recv)
            steps.append(pickle.dumps(received))
            retried(lambda half=half, received=received: half.send(lowest(received.mask)))  # type: ignore[misc]
    return steps


@pytest.mark.parametrize("seed", range(4))
def test_halves_in_flight_continue_wherever_connections_are_cut(address: str, seed: int) -> None:
    random = np.random.default_rng(seed)

    def disturb(proxy: Proxy) -> None:
        if random.random() < 0.3:
            kind = ("requests", "responses")[int(random.integers(2))]
            proxy.cut_after(**{kind: int(random.integers(0, 1000))})

    with proxy_of(address) as proxy, boardwire.connect(proxy.address) as client, open_batch(client) as batch:
        disturbed = play_by_halves(batch, lambda: disturb(proxy))
        cuts = proxy.cuts
    with boardwire.connect(address) as client, open_batch(client) as batch:
        assert play_by_halves(batch, lambda: None) == disturbed
    assert cuts >= 5


def test_responses_in_flight_are_received_in_order_after_a_break(client: boardwire.Client) -> None:
    def play(cut: bool) -> list[bytes]:
        with client.open_batch(
            "faraway", environments=N, seed=3, keep=True, illegal_actions="seeded_legal"
        ) as batch:
            batch.reset()
            left, right = batch.halves()
            for part in (left, right, left, right):
                part.send(np.zeros(N // 2, np.uint8))
            if cut:
                break_stream(batch)
            steps = [part.recv() for part in (left, left, right, right)]
            assert [step.ply.max() for step in steps] == [1, 2, 1, 2]
            return [pickle.dumps(step) for step in steps]

    assert play(cut=True) == play(cut=False)


def test_a_refused_request_uses_no_request_number(client: boardwire.Client) -> None:
    with open_batch(client) as batch:
        step = batch.reset()
        for _ in range(2):
            with pytest.raises(IllegalAction):
                batch.step((~step.mask).argmax(axis=1))
        break_stream(batch)
        assert (batch.step(lowest(step.mask)).ply == 1).all()


def test_requests_stay_in_sequence_after_parts_resets_and_snapshots(client: boardwire.Client) -> None:
    with open_batch(client) as batch:
        step = batch.reset()
        for count in (2, 3, 1):
            masks = step.mask.copy()
            for part in batch.parts(count)[: max(count - 1, 1)]:
                masks[part.rows] = part.step(lowest(masks[part.rows])).mask
            step = batch.step(lowest(masks))
        snapshot = batch.save()
        step = batch.load(snapshot)
        step = batch.step(lowest(step.mask))
        step = batch.reset(where=np.arange(N) < 2)
        assert (batch.step(lowest(step.mask)).ply[:2] == 1).all()


def test_a_batch_notices_steps_of_a_second_client(client: boardwire.Client) -> None:
    with open_batch(client) as batch:
        step = batch.reset()
        connection, about = client._connection, stream_of(batch).about
        second = open_transport(connection, batch.token, about, batch.spec, keep=False, timeout=30)
        other = boardwire.Batch(second, connection, batch.token)
        other.step(lowest(step.mask))
        with pytest.raises(StaleRequest) as caught:
            batch.step(lowest(step.mask))
        assert caught.value.code == "ABORTED"


def test_without_keep_a_broken_stream_loses_its_responses(client: boardwire.Client) -> None:
    with open_batch(client, keep=False) as batch:
        step = batch.reset(seed=1)
        left, right = batch.halves()
        for part in (left, right):
            part.send(lowest(step.mask[part.rows]))
        break_stream(batch)
        for part in (left, right):
            with pytest.raises(ConnectionLost):
                part.recv()
            with pytest.raises(RuntimeError, match="no response is pending"):
                part.recv()
        again = batch.reset(seed=1)
        assert pickle.dumps(again) == pickle.dumps(step)
        assert (batch.step(lowest(again.mask)).ply == 1).all()


def test_a_repeated_reset_is_applied_once(address: str) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        client.open_batch("faraway", environments=N, seed=3, keep=True, columns=["episodes"]) as batch,
    ):
        batch.reset()
        with proxy.hold_responses(), pytest.raises(CallTimeout):
            batch.reset(timeout=0.05)
        step = batch.reset()
        assert step.episode is not None
        assert (step.episode == 1).all()
        with proxy.hold_responses(), pytest.raises(CallTimeout):
            batch.reset(timeout=0.05)
        assert not batch.reset(seed=4).ply.any(), "a reset with another seed is a new request"


def test_without_keep_no_step_follows_a_lost_response(address: str) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        open_batch(client, keep=False) as batch,
    ):
        step = batch.reset(seed=1)
        left, right = batch.halves()
        with proxy.hold_responses(), pytest.raises(CallTimeout):
            left.step(lowest(step.mask[left.rows]), timeout=0.05)
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="the result of its step is unknown"):
                left.step(lowest(step.mask[left.rows]))
        assert (right.step(lowest(step.mask[right.rows])).ply == 1).all(), "the other half lost nothing"
        mask = np.arange(N) < N // 2
        step = batch.reset(where=mask, seed=1)
        assert (left.step(lowest(step.mask[left.rows])).ply == 1).all()


def test_a_batch_continues_after_a_late_response(address: str) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address) as client,
        open_batch(client) as batch,
    ):
        step = batch.reset()
        with proxy.hold_responses(), pytest.raises(CallTimeout):
            batch.step(lowest(step.mask), timeout=0.05)
        with pytest.raises(RuntimeError, match="a response is pending"):
            batch.step(lowest(step.mask))
        assert batch.save()
        step = batch.recv()
        assert (step.ply == 1).all()
        with proxy.hold_responses(), pytest.raises(CallTimeout):
            batch.step(lowest(step.mask), timeout=0.05)
        assert batch.save()
        # A reset discards the pending step.
        step = batch.reset()
        assert not step.ply.any()
        assert (batch.step(lowest(step.mask)).ply == 1).all()
