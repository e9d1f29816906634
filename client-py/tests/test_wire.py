"""Connections: addresses, timeouts, lost connections, and large or wrong messages."""

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
from outages import ListeningServer, create_match
from processes import in_child
from proxies import proxy_of
from raw import players

import boardwire
from boardwire import _core, errors
from boardwire_v1 import batch_pb2


def test_steps_are_not_copied(address: str) -> None:
    with boardwire.connect(address) as client, client.open_batch("faraway", environments=3, seed=1) as batch:
        steps = [batch.reset()]
        assert isinstance(steps[0], _core.Step)
        copies = [steps[0].view.copy()]
        for _ in range(20):
            steps.append(batch.step(steps[-1].mask.argmax(axis=1)))
            copies.append(steps[-1].view.copy())
        # Each step owns its memory, which lives as long as any of its arrays.
        views = [step.view for step in steps]
        del steps
        for view, copy in zip(views, copies, strict=True):
            assert not view.flags.owndata
            assert not view.flags.writeable
            np.testing.assert_array_equal(view, copy)


def test_the_next_call_reopens_a_broken_connection(address: str) -> None:
    with proxy_of(address) as proxy, boardwire.connect(proxy.address) as client:
        client.games()
        proxy.cut_after(responses=0)
        with pytest.raises(errors.ConnectionLost):
            client.server()
        proxy.cut_after()
        assert client.games()
        proxy.cut()
        assert client.games()


@pytest.mark.slow
def test_a_server_that_stops_raises_only_connection_lost() -> None:
    server = ListeningServer("127.0.0.1:0")
    with boardwire.connect(server.address) as client:
        seat = create_match(client).join(0)
        batch = client.open_batch("faraway", environments=1)
        obs, batch_step = seat.observe(wait=False), batch.reset()
        assert server._process.stdin is not None
        server._process.stdin.close()

        # The server still responds while it stops. So each call starts from the state that the previous
        # response left.
        def act() -> None:
            nonlocal obs
            obs = seat.reset() if obs.over else seat.act(int(obs.mask.argmax()))

        def step() -> None:
            nonlocal batch_step
            batch_step = batch.step(batch_step.mask.argmax(axis=1))

        calls: list[Callable[[], object]] = [act, step, client.games]
        raised: set[type[errors.BoardwireError]] = set()
        failed = [False] * len(calls)
        deadline = time.monotonic() + 60
        while not all(failed):
            assert time.monotonic() < deadline
            for index, call in enumerate(calls):
                try:
                    call()
                except errors.BoardwireError as error:
                    raised.add(type(error))
                    failed[index] = True
        assert all(issubclass(kind, errors.ConnectionLost) for kind in raised), raised
    server.stop()


def test_a_too_large_message_is_rejected_before_it_is_sent(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=1) as batch:
        batch.reset()
        with pytest.raises(errors.BoardwireError, match="67108864 bytes") as caught:
            batch.load(bytes(64 * 1024 * 1024 + 1))
        assert caught.value.code == "RESOURCE_EXHAUSTED"


def test_closing_ends_a_connection_whose_socket_a_child_inherited(address: str) -> None:
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


def test_closing_a_client_ends_its_waiting_calls(address: str) -> None:
    client = boardwire.connect(address)
    match = client.create_match("faraway", players=["agent", "agent"])
    seat = match.join(0)
    seats = [seat, client.seat(match.id, seat.token)]
    seat.act(int(seat.observe(wait=False).mask.argmax()), wait=False)
    raised: list[BaseException] = []

    def wait(seat: boardwire.Seat) -> None:
        try:
            seat.observe(timeout=60)
        except errors.BoardwireError as error:
            raised.append(error)

    threads = [threading.Thread(target=wait, args=(seat,)) for seat in seats]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    closing = threading.Thread(target=client.close)
    closing.start()
    for thread in (closing, *threads):
        thread.join(60)
        assert not thread.is_alive()
    assert [type(error) for error in raised] == [errors.ConnectionLost] * 2


def test_threads_share_a_connection(address: str) -> None:
    def play(seed: int) -> tuple[int, ...]:
        match = client.create_match("faraway", players=["agent", "random"], seed=seed)
        with match, match.join(0) as seat:
            obs = seat.observe()
            while not obs.over:
                obs = seat.act(int(obs.mask.argmax()))
            return obs.scores

    with boardwire.connect(address) as client, futures.ThreadPoolExecutor(8) as threads:
        assert list(threads.map(play, [3] * 24)) == [play(3)] * 24


def test_a_child_opens_its_own_connection(client: boardwire.Client) -> None:
    with client.open_batch("faraway", environments=2, seed=1) as batch:
        step = batch.step(batch.reset().mask.argmax(axis=1))

        def child() -> bool:
            # The child neither uses nor closes the streams and the channel of the parent.
            opening = client.open_batch("faraway", environments=2, seed=1).reset()
            return bool(opening.mask.any())

        assert in_child(child) == b"True"
        assert in_child(lambda: os._exit(0)) == b""
        assert batch.step(step.mask.argmax(axis=1)).mask.any()


class InconsistentServer(grpc.GenericRpcHandler):
    """A server whose steps have other lengths than its batch."""

    def __init__(self, client: boardwire.Client) -> None:
        """Takes the client of a real server, which describes the games."""
        self._client = client

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        """Handles the calls that open and reset a batch."""
        name = call.method.rpartition("/")[2]
        if name == "GetGame":
            return grpc.unary_unary_rpc_method_handler(
                lambda request, _: self._client._connection.call(
                    "CatalogService/GetGame", _core.decode("GetGameRequest", request), timeout=10
                ),
                None,
                lambda response: _core.encode("GetGameResponse", response),
            )
        if name == "OpenBatch":
            spec = self._client.game("faraway")
            batch = batch_pb2.Batch(
                id="b",
                config=batch_pb2.BatchConfig(
                    game="faraway",
                    environments=1,
                    line_ups=[batch_pb2.LineUp(players=players(["agent"] * 2))],
                    autoreset=batch_pb2.AUTORESET_MODE_SAME_STEP,
                ),
                agents=2,
                spec_digest=spec.digest,
            )
            opened = batch_pb2.OpenBatchResponse(batch=batch, token="t").SerializeToString()
            return grpc.unary_unary_rpc_method_handler(lambda _, __: opened)
        return grpc.stream_stream_rpc_method_handler(self._responses)

    @staticmethod
    def _responses(requests: Iterator[bytes], _: grpc.ServicerContext) -> Iterator[bytes]:
        for request in requests:
            tag = batch_pb2.RunBatchRequest.FromString(request).tag
            rows = batch_pb2.Step(seat=b"\0", view=b"\0\0\0")
            yield batch_pb2.RunBatchResponse(tag=tag, step=rows).SerializeToString()


def test_columns_of_wrong_lengths_are_an_error(client: boardwire.Client) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[InconsistentServer(client)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with (
            boardwire.connect(f"127.0.0.1:{port}") as connected,
            pytest.raises(errors.ServerFault, match="a column of the batch has the wrong length"),
        ):
            connected.open_batch("faraway", environments=1).reset()
    finally:
        server.stop(0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nowhere", "the port is missing"),
        ("", "the port is missing"),
        (":50051", "the host is not a valid name"),
        ("a b:1", "the host is not a valid name"),
        ("localhost:", "from 1 to 65535"),
        ("localhost:0", "from 1 to 65535"),
        ("localhost:65536", "from 1 to 65535"),
        ("localhost:+1", "from 1 to 65535"),
        ("localhost:http", "from 1 to 65535"),
        ("http://localhost:1", "omit http://"),
        ("grpc://localhost:1", "omit grpc://"),
        ("ada@localhost:1", "must not contain a user or a path"),
        ("localhost/games:1", "must not contain a user or a path"),
        ("::1:50051", "must be in brackets"),
        ("[localhost]:1", "only an IPv6 address may"),
        ("dns:localhost:1", "must be in brackets"),
        ("unix:", "the path is empty"),
    ],
)
def test_an_invalid_address_is_rejected_at_once(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"an address must be 'host:port' or 'unix:/path'; got .*{reason}"):
        boardwire.connect(text)


def test_a_client_has_the_parsed_address() -> None:
    for text, parsed in (
        ("localhost:1", "localhost:1"),
        ("[::1]:65535", "[::1]:65535"),
        ("games.example.org:443", "games.example.org:443"),
        ("unix:/tmp/socket", "unix:/tmp/socket"),
        ("unix:///tmp/socket", "unix:/tmp/socket"),
        ("unix:socket", "unix:socket"),
    ):
        with boardwire.connect(text) as client:
            assert client.address == parsed


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e10, 1e300])
@pytest.mark.parametrize("local", [False, True])
def test_a_timeout_can_be_infinite(address: str, timeout: float | None, local: bool) -> None:
    with boardwire.connect("local:" if local else address, timeout=timeout) as client:
        assert client.games()
        with client.open_batch("faraway", environments=2) as batch:
            actions = batch.reset(timeout=timeout).mask.argmax(axis=1)
            actions = batch.step(actions, timeout=timeout).mask.argmax(axis=1)
            batch.send(actions)
            batch.recv(timeout=timeout)
            first, _ = batch.halves()
            first.step(first.step(batch.reset().mask[:1].argmax(axis=1)).mask.argmax(axis=1), timeout=timeout)
            with batch.search(1, places=512, timeout=timeout) as search:
                search.values(timeout=timeout)
        if local:
            return
        with client.open_batch("faraway", environments=1, keep=True) as batch:
            batch.step(batch.reset(timeout=timeout).mask.argmax(axis=1), timeout=timeout)
        players = ["agent", "random"]
        with (
            client.create_match("faraway", players=players, fair_deals=True) as match,
            match.join(0) as seat,
        ):
            seat.reveal(timeout=timeout)
            seat.act(seat.observe(timeout=timeout).mask.argmax(), timeout=timeout)
            seat.search(1, timeout=timeout).close()
            assert next(iter(match.watch(timeout=timeout))).view.any()
            assert seat.resign(timeout=timeout).over
            assert seat.reset(timeout=timeout).episode == 1


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_a_timeout_of_zero_or_less_raises_at_once(address: str, timeout: float) -> None:
    with (
        proxy_of(address) as proxy,
        boardwire.connect(proxy.address, timeout=timeout) as client,
        proxy.hold_responses(),
        pytest.raises(errors.CallTimeout),
    ):
        client.games()


def test_a_close_can_be_repeated_after_a_timeout(address: str) -> None:
    with proxy_of(address) as proxy, boardwire.connect(proxy.address, timeout=0.2) as client:
        batch = client.open_batch("faraway", environments=1)
        batch.reset()
        with proxy.hold_responses(), pytest.raises(errors.CallTimeout):
            batch.close()
        batch.close()
        with pytest.raises(errors.Gone) as caught:
            batch.reset()
        assert caught.value.reason == "BATCH_UNKNOWN"
