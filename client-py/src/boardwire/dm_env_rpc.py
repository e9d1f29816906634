"""A gateway to a Boardwire server for agents that speak `dm_env_rpc.v1`.

    python -m boardwire.dm_env_rpc                            # starts a private server
    python -m boardwire.dm_env_rpc --server 127.0.0.1:50051   # uses a running server

A world of dm_env_rpc is a batch of one environment: the agent plays one seat and bots play the others. Rules,
observations and rewards are those of batches: docs/frameworks/dm_env_rpc.md.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import logging
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_spec_utils, tensor_utils
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

import boardwire

from ._dm_env_rpc_settings import OPTION, Settings, invalid, unpacked
from ._shared import add_connection_options, connect_with_options
from ._types import AGENT, BatchStep, IllegalActions, Reward
from .errors import BoardwireError, Gone, NotFound, NotPossibleNow, ServerFault, ServerFull

_LOG = logging.getLogger(__name__)

#: The UIDs of the only action, of each observation outside the view, and of the view's first field.
ACTION = 1
MASK, REWARD, SUBSTITUTED, FIRST_FIELD = 1, 2, 3, 16

#: The maximum number of open streams; each uses a thread.
STREAMS = 64
#: The maximum size of a message from an agent.
MESSAGE_BYTES = 64 << 10
#: The maximum number of worlds per stream; each uses a stream of the gateway's connection to the server.
WORLDS = 8

#: The requests that the gateway answers, each by a method of `_Agent`.
_REQUESTS = ("create_world", "join_world", "step", "reset", "reset_world", "leave_world", "destroy_world")


class _World:
    """One environment, and the state of the agent that has joined it."""

    def __init__(self, batch: boardwire.Batch, seat: int, worlds: dict[str, _World]) -> None:
        """Adds the world to `worlds`, which has the worlds that still exist by name."""
        self.name = f"{batch.id}-{secrets.token_urlsafe(16)}"
        #: The last step of the running sequence; None if no sequence runs.
        self.last_step: BatchStep | None = None
        #: Whether another stream has ended the running sequence.
        self.interrupted = False
        #: Held by the stream that has joined the world.
        self.joined = threading.Lock()
        #: The specs, and by UID the function that takes an observation from a step.
        self.specs = pb.ActionObservationSpecs()
        self.observations: dict[int, Callable[[BatchStep], Any]] = {}
        self._worlds, self._batch = worlds, batch
        #: The seed of the next sequence, if a request gave one.
        self._seed: int | None = None
        #: Several streams can use a world, but a batch allows one thread at a time.
        self._lock = threading.Lock()
        self._last_action = len(batch.spec.actions) - 1
        _bound(self.specs.actions[ACTION], "action", pb.INT32, (), self._last_action)

        def observe(uid: int, read: Callable[[BatchStep], Any], *spec: Any) -> None:
            self.observations[uid] = read
            _bound(self.specs.observations[uid], *spec)

        observe(
            MASK, lambda step: step.mask[0].view(np.int8), "action_mask", pb.INT8, (self._last_action + 1,), 1
        )
        observe(REWARD, lambda step: np.float32(step.reward[0, seat]), "reward", pb.FLOAT, (), None)
        observe(SUBSTITUTED, lambda step: np.int8(step.substituted[0]), "substituted", pb.INT8, (), 1)
        for uid, field in enumerate(batch.spec.fields.values(), FIRST_FIELD):
            # `DmEnvAdaptor` adds 1 to the maximum of a scalar, in the scalar's dtype. It nests names by dots.
            kind, dtype = (pb.UINT8, np.uint8) if field.max < 255 else (pb.INT32, np.int32)

            def decode(step: BatchStep, field: Any = field, dtype: Any = dtype) -> Any:
                return field.decode(step.view[0]).astype(dtype)

            observe(uid, decode, f"view.{field.name}", kind, field.shape, field.max)
        worlds[self.name] = self

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the world, or raises `NotFound` if it no longer exists."""
        with self._lock:
            if self.name not in self._worlds:
                raise _absent(self.name)
            try:
                yield
            except Gone:
                # The server has closed the batch, because it was idle for too long.
                del self._worlds[self.name]
                raise

    def act(self, actions: Mapping[int, pb.Tensor]) -> BatchStep:
        """Plays the action of a step request, which must hold exactly one."""
        expected = f"only UID {ACTION} (`action`), an int32 of shape [] from 0 to {self._last_action}"
        if list(actions) != [ACTION]:
            raise invalid("actions", [f"UID {uid}" for uid in actions] or "nothing", expected)
        value = unpacked("actions", actions[ACTION])
        if not isinstance(value, np.int32) or not 0 <= value <= self._last_action:
            raise invalid("actions", f"UID {ACTION}: {value}", expected)
        with self._locked():
            return self._batch.step([int(value)])

    def begin(self) -> BatchStep:
        """Starts a sequence. If that fails, the seed stays for the next attempt."""
        with self._locked():
            step = self._batch.reset(seed=self._seed)
            self._seed, self.interrupted = None, False
            return step

    def end(self, seed: int | None, *, interrupts: bool) -> None:
        """Ends the running sequence, and stores the seed of the next one; None keeps the stored seed.

        If another stream ends the sequence, it `interrupts`, and the next step tells the agent so.
        """
        with self._locked():
            self._seed = self._seed if seed is None else seed
            if interrupts:
                self.interrupted = True
            else:
                self.last_step = None

    def close(self) -> None:
        with self._lock:
            self._worlds.pop(self.name, None)
            self._batch.close()


def _bound(spec: pb.TensorSpec, name: str, dtype: int, shape: Sequence[int], maximum: int | None) -> None:
    """Fills in a spec of values from 0 to `maximum`, or without bounds if it is None."""
    spec.name, spec.dtype = name, dtype
    spec.shape.extend(shape)
    if maximum is not None:
        tensor_spec_utils.set_bounds(spec, 0, maximum)


def _absent(name: str) -> NotFound:
    return NotFound(
        f"there is no world {name!r}: it was destroyed, its creator's stream ended, or it was idle too long"
    )


class Gateway(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """A dm_env_rpc service whose worlds are batches of a Boardwire server; every stream is one agent."""

    def __init__(self, client: boardwire.Client) -> None:
        """Uses the server of `client` for all worlds."""
        self._client = client
        self._worlds: dict[str, _World] = {}

    def Process(
        self, requests: Iterable[pb.EnvironmentRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.EnvironmentResponse]:
        """Answers the requests of a stream in order. A refused request changes nothing."""
        agent = _Agent(self._client, self._worlds)
        try:
            for request in requests:
                try:
                    yield agent.answer(request)
                except BoardwireError as error:
                    yield pb.EnvironmentResponse(error=_status(error))
                except Exception:
                    # A bug in the gateway fails the request, but does not end the stream.
                    _LOG.exception("a request of dm_env_rpc could not be answered")
                    fault = ServerFault("internal error in the gateway; see its log")
                    yield pb.EnvironmentResponse(error=_status(fault))
        finally:
            agent.end()


class _Agent:
    """A stream: the worlds that it has created, and the world that it has joined."""

    def __init__(self, client: boardwire.Client, worlds: dict[str, _World]) -> None:
        self._client = client
        self._worlds = worlds
        self._created: list[_World] = []
        self._joined: _World | None = None

    def answer(self, request: pb.EnvironmentRequest) -> pb.EnvironmentResponse:
        kind = request.WhichOneof("payload")
        if kind not in _REQUESTS:
            raise invalid("payload", kind or "nothing", f"one of {', '.join(_REQUESTS)}")
        return pb.EnvironmentResponse(**{kind: getattr(self, f"_{kind}")(getattr(request, kind))})

    def end(self) -> None:
        """Leaves the joined world, and closes the worlds that this stream has created."""
        self._leave_world()
        for world in self._created:
            with contextlib.suppress(BoardwireError):
                world.close()

    def _find(self, name: str) -> _World:
        world = self._worlds.get(name)
        if world is None:
            raise _absent(name)
        return world

    def _joined_world(self, request: str) -> _World:
        if self._joined is None:
            raise NotPossibleNow(f"this stream has joined no world: `join_world` comes before `{request}`")
        return self._find(self._joined.name)

    def _create_world(self, request: pb.CreateWorldRequest) -> pb.CreateWorldResponse:
        # Another stream may have destroyed some worlds, or the server has closed idle ones.
        self._created = [world for world in self._created if world.name in self._worlds]
        if len(self._created) == WORLDS:
            raise ServerFull(f"a stream can have at most {WORLDS} worlds: destroy one first")
        names = ["game", "seats", "seat", "bots", "seed", "reward", "illegal_actions", "skip_forced", OPTION]
        settings = Settings(request.settings, names)
        game = settings.text("game", None, [game.id for game in self._client.games()])
        seats, options = settings.whole("seats", None, 1, 2**32 - 1), settings.options()
        count = self._client.game(game, seats=seats, options=options).seats
        seat, bots = settings.whole("seat", 0, 0, count - 1), settings.bots(count - 1)
        batch = self._client.open_batch(
            game,
            environments=1,
            line_ups=[[*bots[:seat], AGENT, *bots[seat:]]],
            options=options,
            seed=settings.seed(),
            reward=settings.text("reward", "rank", get_args(Reward)),
            illegal_actions=settings.text("illegal_actions", "seeded_legal", get_args(IllegalActions)),
            skip_forced=settings.read("skip_forced", False, "a bool", bool),
        )
        world = _World(batch, seat, self._worlds)
        self._created.append(world)
        return pb.CreateWorldResponse(world_name=world.name)

    def _join_world(self, request: pb.JoinWorldRequest) -> pb.JoinWorldResponse:
        Settings(request.settings)
        if self._joined is not None:
            raise NotPossibleNow("this stream is in a world: `leave_world` comes before `join_world`")
        world = self._find(request.world_name)
        if not world.joined.acquire(blocking=False):
            raise NotPossibleNow("another stream is in that world: `leave_world` comes before `join_world`")
        self._joined = world
        return pb.JoinWorldResponse(specs=world.specs)

    def _step(self, request: pb.StepRequest) -> pb.StepResponse:
        world = self._joined_world("step")
        for uid in request.requested_observations:
            if uid not in world.observations:
                last = max(world.observations)
                expected = f"among the UIDs {MASK} to {SUBSTITUTED} and {FIRST_FIELD} to {last}"
                raise invalid("requested_observations", uid, expected)
        step, state = world.last_step, pb.RUNNING
        if step is None:
            step = world.begin()
        elif world.interrupted:
            state = pb.INTERRUPTED
        else:
            step = world.act(request.actions)
        if step.terminated[0]:
            state = pb.TERMINATED
        elif step.truncated[0]:
            state = pb.INTERRUPTED
        world.last_step = step if state == pb.RUNNING else None
        observations = {
            uid: tensor_utils.pack_tensor(world.observations[uid](step))
            for uid in request.requested_observations
        }
        return pb.StepResponse(state=state, observations=observations)

    def _reset(self, request: pb.ResetRequest) -> pb.ResetResponse:
        world = self._joined_world("reset")
        world.end(Settings(request.settings, ["seed"]).seed(), interrupts=False)
        return pb.ResetResponse(specs=world.specs)

    def _reset_world(self, request: pb.ResetWorldRequest) -> pb.ResetWorldResponse:
        seed = Settings(request.settings, ["seed"]).seed()
        world = self._find(request.world_name)
        world.end(seed, interrupts=world is not self._joined)
        return pb.ResetWorldResponse()

    def _leave_world(self, _: object = None) -> pb.LeaveWorldResponse:
        if self._joined is not None:
            self._joined.last_step = None
            self._joined.joined.release()
            self._joined = None
        return pb.LeaveWorldResponse()

    def _destroy_world(self, request: pb.DestroyWorldRequest) -> pb.DestroyWorldResponse:
        world = self._find(request.world_name)
        if world is self._joined:
            raise NotPossibleNow("this stream is in that world: `leave_world` comes before `destroy_world`")
        world.close()
        return pb.DestroyWorldResponse()


def _status(error: BoardwireError) -> status_pb2.Status:
    """Converts an error to a status with the reason in its details, as a Boardwire server sends it."""
    detail = any_pb2.Any()
    detail.Pack(
        error_details_pb2.ErrorInfo(reason=error.reason, domain="boardwire.v1", metadata=error.metadata)
    )
    return status_pb2.Status(
        code=code_pb2.Code.Value(error.code or "INTERNAL"), message=error.message, details=[detail]
    )


def serve(client: boardwire.Client, listen: str, *, streams: int = STREAMS) -> tuple[grpc.Server, int]:
    """Serves the games of a client's server at `listen`.

    Args:
        client: The client of the server that plays the worlds. Several threads call it; the caller closes it.
        listen: `HOST:PORT` or `unix:PATH`; port 0 selects a free port.
        streams: The maximum number of open streams; further ones fail with `RESOURCE_EXHAUSTED`.

    Returns:
        The started server and its port. The server runs as long as the caller keeps a reference to it.

    Raises:
        OSError: The gateway cannot listen at `listen`.
    """
    server = grpc.server(
        ThreadPoolExecutor(streams),
        maximum_concurrent_rpcs=streams,
        options=[("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.so_reuseport", 0)],
    )
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(Gateway(client), server)
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {listen}: {error}") from error
    server.start()
    return server, port


def _is_local(listen: str) -> bool:
    """Returns whether only this machine can connect to a server that listens at `listen`."""
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return listen.startswith("unix:") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until SIGINT or SIGTERM, and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m boardwire.dm_env_rpc", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--listen", default="127.0.0.1:50052", help="HOST:PORT or unix:PATH [default: %(default)s]")
    add("--server", help="address of a running Boardwire server [default: starts a private server]")
    add_connection_options(parser)
    add("--streams", type=int, default=STREAMS, help="maximum number of open streams [default: %(default)s]")
    add("--open", action="store_true", help="allows other machines to connect, without encryption")
    args = parser.parse_args(arguments)
    if not (args.open or _is_local(args.listen)):
        parser.error(f"other machines can connect to {args.listen} without encryption: --open allows it")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with connect_with_options(args.server, args) as client:
            server, port = serve(client, args.listen, streams=args.streams)
            is_path, host = args.listen.startswith("unix:"), args.listen.rpartition(":")[0]
            print(f"listening on {args.listen if is_path else f'{host}:{port}'}", flush=True)
            ended.wait()
            server.stop(1).wait()
    except (BoardwireError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
