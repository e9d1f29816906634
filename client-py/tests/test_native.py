"""The wire of the extension, where it differs from grpcio's."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np
import pytest
from outages import FixedPlace, create
from processes import in_child
from proxies import proxy_of

import boardwire
from boardwire import _convert, _core
from boardwire._native import NativeChannel
from boardwire.v1 import batch_pb2, catalog_pb2


def channel_of(client: boardwire.Client) -> Any:
    """What a client's calls go over."""
    return client._connection.stubs.channel


def test_it_is_taken_where_it_can_be(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with boardwire.connect(address) as client:
        client.games()
        assert isinstance(channel_of(client), NativeChannel)
    monkeypatch.setenv("BOARDWIRE_WIRE", "grpcio")
    with boardwire.connect(address) as client:
        client.games()
        assert isinstance(channel_of(client), grpc.Channel)


def test_steps_are_not_copied(address: str) -> None:
    with boardwire.connect(address) as client, client.open_batch("faraway", environments=3, seed=1) as batch:
        kept = [batch.reset()]
        assert isinstance(kept[0], _core.Step)
        images = [kept[0].view.copy()]
        for _ in range(20):
            kept.append(batch.step(kept[-1].mask.argmax(axis=1)))
            images.append(kept[-1].view.copy())
        # Every step has memory of its own, for as long as anything of it is held.
        views = [step.view for step in kept]
        del kept
        for view, image in zip(views, images, strict=True):
            assert not view.flags.owndata
            assert not view.flags.writeable
            np.testing.assert_array_equal(view, image)


def test_a_connection_that_broke_while_nobody_waited_is_opened_anew(address: str) -> None:
    with proxy_of(address) as proxy, boardwire.connect(proxy.address) as client:
        client.games()
        before = channel_of(client)
        proxy.cut_after(answers=0)
        with pytest.raises(boardwire.errors.ConnectionLost):
            client.server()
        proxy.cut_after()
        assert client.games()
        assert channel_of(client) is not before


def test_a_server_that_stops_is_lost_and_not_at_fault() -> None:
    place = FixedPlace("127.0.0.1:0")
    with boardwire.connect(place.address) as client:
        seat = create(client).join(0).stream()
        batch = client.open_batch("faraway", environments=1)
        seen, shown = seat.observe(), batch.reset()
        assert place._process.stdin is not None
        place._process.stdin.close()

        # Until it has stopped it answers: each call goes on from the answer before.
        def act() -> None:
            nonlocal seen
            seen = seat.reset() if seen.over else seat.act(int(seen.mask.argmax()))

        def step() -> None:
            nonlocal shown
            shown = batch.step(shown.mask.argmax(axis=1))

        calls: list[Callable[[], object]] = [act, step, client.games]
        raised: set[type[boardwire.errors.BoardwireError]] = set()
        failed = [False] * len(calls)
        deadline = time.monotonic() + 60
        while not all(failed):
            assert time.monotonic() < deadline
            for at, call in enumerate(calls):
                try:
                    call()
                except boardwire.errors.BoardwireError as error:
                    raised.add(type(error))
                    failed[at] = True
        assert all(issubclass(kind, boardwire.errors.ConnectionLost) for kind in raised), raised
    place.end()


def test_targets_that_say_how_names_are_resolved_are_left_to_grpcio(address: str) -> None:
    port = address.rpartition(":")[2]
    for target in (f"ipv4:127.0.0.1:{port}", f"dns:///localhost:{port}"):
        with boardwire.connect(target) as client:
            assert client.games()
            assert isinstance(channel_of(client), grpc.Channel)
    with boardwire.connect(f"localhost:{port}") as client:
        assert client.games()
        assert isinstance(channel_of(client), NativeChannel)


def test_what_is_too_large_is_refused_before_it_is_sent(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=1) as batch:
        batch.reset()
        with pytest.raises(boardwire.errors.BoardwireError, match="67108864 bytes") as caught:
            batch.load(bytes(64 * 1024 * 1024 + 1))
        assert caught.value.code == "RESOURCE_EXHAUSTED"


def test_a_closed_connection_ends_though_a_child_holds_its_socket(address: str) -> None:
    with proxy_of(address) as proxy:
        client = boardwire.connect(proxy.address)
        client.games()
        assert proxy.connections == 1
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        try:
            client.close()
            deadline = time.monotonic() + 60
            while proxy.connections and time.monotonic() < deadline:
                time.sleep(0.01)
            assert proxy.connections == 0
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_closing_a_client_ends_what_waits(address: str) -> None:
    client = boardwire.connect(address)
    match = client.create_match("faraway", players=["agent", "agent"])
    seat = match.join(0)
    seats = [seat, client.seat(match.id, seat.token).stream()]
    seat.act(int(seat.observe().mask.argmax()), wait=False)
    raised: list[BaseException] = []

    def wait(seat: boardwire.Seat) -> None:
        try:
            seat.observe(wait=True, timeout=60)
        except boardwire.errors.BoardwireError as error:
            raised.append(error)

    threads = [threading.Thread(target=wait, args=(seat,)) for seat in seats]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    run_close = threading.Thread(target=client.close)
    run_close.start()
    for thread in (run_close, *threads):
        thread.join(60)
        assert not thread.is_alive()
    assert [type(error) for error in raised] == [boardwire.errors.ConnectionLost] * 2


def test_threads_share_a_connection(address: str) -> None:
    def play(seed: int) -> tuple[int, ...]:
        match = client.create_match("faraway", players=["agent", "random"], seed=seed)
        with match, match.join(0).stream() as seat:
            seen = seat.observe(wait=True)
            while not seen.over:
                seen = seat.act(int(seen.mask.argmax()))
            return seen.scores

    with boardwire.connect(address) as client, futures.ThreadPoolExecutor(8) as threads:
        assert list(threads.map(play, [3] * 24)) == [play(3)] * 24


def test_a_child_opens_a_connection_of_its_own(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, seed=1) as batch:
        step = batch.step(batch.reset().mask.argmax(axis=1))

        def child() -> bool:
            # Neither the parent's streams nor its channel are used, nor closed with what holds them.
            shown = client.open_batch("faraway", environments=2, seed=1).reset()
            return bool(shown.mask.any()) and isinstance(channel_of(client), NativeChannel)

        assert in_child(child) == b"True"
        assert in_child(lambda: os._exit(0)) == b""
        assert batch.step(step.mask.argmax(axis=1)).mask.any()


class Strange(grpc.GenericRpcHandler):
    """A server whose batches are of other tables than it says."""

    def __init__(self, client: boardwire.Client) -> None:
        """Describes games as a true server does."""
        self._client = client

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        """Answers what opening a batch and resetting it take."""
        name = call.method.rpartition("/")[2]
        if name == "GetGame":
            stub = self._client._connection.stubs.catalog
            return grpc.unary_unary_rpc_method_handler(
                lambda request, _: stub.GetGame(request, timeout=10, metadata=()),
                catalog_pb2.GetGameRequest.FromString,
                catalog_pb2.GetGameResponse.SerializeToString,
            )
        if name == "OpenBatch":
            spec = self._client.game("faraway")
            about = batch_pb2.Batch(
                id="b",
                config=batch_pb2.BatchConfig(
                    game="faraway",
                    environments=1,
                    line_ups=[batch_pb2.LineUp(players=_convert.players(["agent"] * 2))],
                    autoreset=batch_pb2.AUTORESET_MODE_SAME_STEP,
                ),
                agents=2,
                spec_digest=spec.digest,
            )
            opened = batch_pb2.OpenBatchResponse(batch=about, token="t").SerializeToString()
            return grpc.unary_unary_rpc_method_handler(lambda _, __: opened)
        return grpc.stream_stream_rpc_method_handler(self._answers)

    @staticmethod
    def _answers(requests: Iterator[bytes], _: grpc.ServicerContext) -> Iterator[bytes]:
        for request in requests:
            tag = batch_pb2.RunBatchRequest.FromString(request).tag
            rows = batch_pb2.Step(seat=b"\0", view=b"\0\0\0")
            yield batch_pb2.RunBatchResponse(tag=tag, step=rows).SerializeToString()


def test_columns_of_other_lengths_are_no_arrays(client: boardwire.Client) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Strange(client)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with (
            boardwire.connect(f"127.0.0.1:{port}") as strange,
            pytest.raises(boardwire.errors.ServerFault, match="its columns have other lengths"),
        ):
            strange.open_batch("faraway", environments=1).reset()
    finally:
        server.stop(0)
