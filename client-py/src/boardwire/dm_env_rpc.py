"""A gateway to a Boardwire server for agents that speak `dm_env_rpc.v1`.

    python -m boardwire.dm_env_rpc                                    # beside a private server
    python -m boardwire.dm_env_rpc --server 127.0.0.1:50051           # in front of a server that runs

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
from functools import partial
from typing import Any, get_args

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_spec_utils, tensor_utils
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from numpy.typing import NDArray

import boardwire

from ._fields import ViewField
from ._shared import add_connection_options, connect_with_options
from ._types import AGENT, BatchStep, IllegalActions, Reward
from .errors import BoardwireError, Gone, InvalidRequest, NotFound, NotPossibleNow, ServerFault, ServerFull

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


def _refused(field: str, value: object, expected: str) -> InvalidRequest:
    return InvalidRequest(f"{field} is {value}, not {expected}")


class _Settings:
    """The settings of a request. Errors name the setting that is invalid."""

    def __init__(self, given: Mapping[str, pb.Tensor], known: Sequence[str] = (), more: str = "") -> None:
        for name in given:
            if name not in known and not (more and name.startswith(more)):
                others = f", {more}NAME for options of the game" if more else ""
                raise _refused("settings", name, f"of {', '.join(known)}{others}" if known else "empty")
        self._given = given

    def read(
        self, name: str, otherwise: Any, expected: str, is_valid: Callable[[Any], bool], longest: int = 0
    ) -> Any:
        """Returns a setting, or `otherwise` if the setting is missing."""
        if name not in self._given:
            return otherwise
        value = _unpacked(f"settings.{name}", self._given[name], longest)
        if not is_valid(value):
            raise _refused(f"settings.{name}", value, expected)
        return value.item() if isinstance(value, np.generic) else value

    def text(self, name: str, otherwise: str | None, choices: Sequence[str]) -> Any:
        """Returns a setting that must be one of `choices`; it is required if `otherwise` is None."""
        expected = f"one of {', '.join(choices)}"
        if otherwise is None and name not in self._given:
            raise _refused(f"settings.{name}", "nothing", expected)
        return self.read(name, otherwise, expected, lambda value: isinstance(value, str) and value in choices)

    def whole(self, name: str, otherwise: int | None, least: int, most: int) -> Any:
        def is_valid(value: Any) -> bool:
            return isinstance(value, np.integer) and least <= int(value) <= most

        return self.read(name, otherwise, f"a whole number from {least} to {most}", is_valid)

    def seed(self) -> Any:
        return self.whole("seed", None, 0, 2**64 - 1)

    def options(self, prefix: str) -> dict[str, str]:
        def is_valid(value: Any) -> bool:
            return isinstance(value, np.bool_ | np.integer | str)

        found = {}
        for name in self._given:
            if name.startswith(prefix):
                value = self.read(name, None, "a string, a whole number or a bool", is_valid)
                text = str(value).lower() if isinstance(value, bool) else str(value)
                found[name.removeprefix(prefix)] = text
        return found


def _unpacked(field: str, tensor: pb.Tensor, longest: int = 0) -> Any:
    """Unpacks a tensor to a numpy scalar, or to a 1-D array of at most `longest` elements."""
    # `unpack_tensor` would repeat a single element to fill a large shape.
    shape = tuple(tensor.shape)
    if shape and not (len(shape) == 1 and 0 < shape[0] <= longest):
        raise _refused(field, f"a tensor of shape {list(shape)}", "a single value")
    try:
        return tensor_utils.unpack_tensor(tensor)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"{field} is not a tensor: {error}") from error


class _World:
    """One environment, and the state of the agent that has joined it."""

    def __init__(self, batch: boardwire.Batch, seat: int, worlds: dict[str, _World]) -> None:
        """Adds the world to `worlds`, which has the worlds that still exist by name."""
        self.name = f"{batch.id}-{secrets.token_urlsafe(16)}"
        #: The last step of the running sequence; None if no sequence runs.
        self.shown: BatchStep | None = None
        #: Whether another stream has ended the running sequence.
        self.interrupted = False
        #: Held by the stream that has joined the world.
        self.joined = threading.Lock()
        #: The specs, and by UID the function that takes an observation from a step.
        self.specs = pb.ActionObservationSpecs()
        self.observations: dict[int, Callable[[BatchStep], Any]] = {}
        self._batch, self._worlds = batch, worlds
        #: The seed of the next sequence, if a request gave one.
        self._seed: int | None = None
        #: Held while a thread uses `interrupted` and the seed.
        self._lock = threading.Lock()
        #: Held while a thread uses the batch, because only one thread at a time may use it.
        self._used = threading.Lock()
        self._last_action = len(batch.spec.actions) - 1
        _bound(self.specs.actions[ACTION], "action", pb.INT32, (), self._last_action)

        def observe(uid: int, read: Callable[[BatchStep], Any], *about: Any) -> None:
            self.observations[uid] = read
            _bound(self.specs.observations[uid], *about)

        observe(MASK, lambda step: step.mask[0], "action_mask", pb.INT8, (self._last_action + 1,), 1)
        observe(REWARD, lambda step: np.float32(step.reward[0, seat]), "reward", pb.FLOAT, (), None)
        observe(SUBSTITUTED, lambda step: np.int8(step.substituted[0]), "substituted", pb.INT8, (), 1)
        for uid, field in enumerate(batch.spec.fields.values(), FIRST_FIELD):
            # `DmEnvAdaptor` adds 1 to the maximum of a scalar, in the scalar's dtype.
            kind, dtype = (pb.UINT8, np.uint8) if field.max < 255 else (pb.INT32, np.int32)
            # Clients that nest names by dots get all fields in `observation["view"]`.
            observe(uid, partial(_decoded, field, dtype), f"view.{field.name}", kind, field.shape, field.max)
        worlds[self.name] = self

    def act(self, given: Mapping[int, pb.Tensor]) -> BatchStep:
        """Plays the action of a step request, which must hold exactly one."""
        expected = f"UID {ACTION} (`action`) alone, an int32 of shape [] from 0 to {self._last_action}"
        if list(given) != [ACTION]:
            raise _refused("actions", [f"UID {uid}" for uid in given] or "nothing", expected)
        value = _unpacked("actions", given[ACTION])
        if not isinstance(value, np.int32) or not 0 <= value <= self._last_action:
            raise _refused("actions", f"UID {ACTION}: {value}", expected)
        return self._use(lambda: self._batch.step([int(value)]))

    def begin(self) -> BatchStep:
        with self._lock:
            self.interrupted, seed, self._seed = False, self._seed, None
        try:
            return self._use(lambda: self._batch.reset(seed=seed))
        except BoardwireError:
            with self._lock:
                # Another request may have set a newer seed meanwhile.
                self._seed = seed if self._seed is None else self._seed
            raise

    def end(self, seed: int | None, *, interrupts: bool) -> None:
        """Ends the running sequence, and stores the seed of the next one; None keeps the stored seed.

        If another stream ends the sequence, it `interrupts`, and the next step tells the agent so.
        """
        with self._lock:
            self._seed = self._seed if seed is None else seed
            if interrupts:
                self.interrupted = True
            else:
                self.shown = None

    def _use(self, call: Callable[[], BatchStep]) -> BatchStep:
        with self._used:
            if self.name not in self._worlds:
                raise _absent(self.name)
            try:
                return call()
            except Gone:
                # The server has closed the batch, because it was idle for too long.
                self._worlds.pop(self.name, None)
                raise

    def close(self) -> None:
        with self._used:
            self._worlds.pop(self.name, None)
            self._batch.close()


def _bound(spec: pb.TensorSpec, name: str, dtype: int, shape: Sequence[int], most: int | None) -> None:
    """Fills in a spec of values from 0 to `most`, or without bounds if it is None."""
    spec.name, spec.dtype = name, dtype
    spec.shape.extend(shape)
    if most is not None:
        tensor_spec_utils.set_bounds(spec, 0, most)


def _decoded(field: ViewField, dtype: type[np.generic], step: BatchStep) -> NDArray[np.generic]:
    return field.decode(step.view[0]).astype(dtype)


def _absent(name: str) -> NotFound:
    return NotFound(f"there is no world {name!r}: it was destroyed, or its stream has ended")


class Gateway(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """A dm_env_rpc service whose worlds are batches of a Boardwire server; every stream is one agent."""

    def __init__(self, client: boardwire.Client) -> None:
        """Uses the server of `client` for all worlds; several threads call `client`."""
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
                    yield pb.EnvironmentResponse(
                        error=_status(ServerFault("internal error in the gateway; see its log"))
                    )
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
            raise _refused("payload", kind or "nothing", f"one of {', '.join(_REQUESTS)}")
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
        names = ["game", "seats", "seat", "bots", "seed", "reward", "illegal_actions", "skip_forced"]
        settings = _Settings(request.settings, names, "options.")
        game = settings.text("game", None, [game.id for game in self._client.games()])
        seats = settings.whole("seats", None, 1, 2**32 - 1)
        options = settings.options("options.")
        count = self._client.game(game, seats=seats, options=options).seats
        seat = settings.whole("seat", 0, 0, count - 1)

        def others(value: Any) -> list[Any]:
            return [value] * (count - 1) if isinstance(value, str) else np.ravel(value).tolist()

        bots = settings.read(
            "bots",
            "random",
            f"the name of a bot, or {count - 1} of them, for the other seats in turn",
            lambda value: (
                len(others(value)) == count - 1
                and all(isinstance(name, str) and name != AGENT for name in others(value))
            ),
            count - 1,
        )
        players = others(bots)
        batch = self._client.open_batch(
            game,
            environments=1,
            line_ups=[[*players[:seat], AGENT, *players[seat:]]],
            options=options,
            seed=settings.seed(),
            reward=settings.text("reward", "rank", get_args(Reward)),
            illegal_actions=settings.text("illegal_actions", "seeded_legal", get_args(IllegalActions)),
            skip_forced=settings.read(
                "skip_forced", False, "a bool", lambda value: isinstance(value, np.bool_)
            ),
        )
        world = _World(batch, seat, self._worlds)
        self._created.append(world)
        return pb.CreateWorldResponse(world_name=world.name)

    def _join_world(self, request: pb.JoinWorldRequest) -> pb.JoinWorldResponse:
        _Settings(request.settings)
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
                expected = f"of the UIDs {MASK} to {SUBSTITUTED} and {FIRST_FIELD} to {last}"
                raise _refused("requested_observations", uid, expected)
        shown, state = world.shown, pb.RUNNING
        if shown is None:
            shown = world.begin()
        elif world.interrupted:
            state = pb.INTERRUPTED
        else:
            shown = world.act(request.actions)
        if shown.terminated[0]:
            state = pb.TERMINATED
        elif shown.truncated[0]:
            state = pb.INTERRUPTED
        world.shown = shown if state == pb.RUNNING else None
        observations = {
            uid: tensor_utils.pack_tensor(world.observations[uid](shown))
            for uid in request.requested_observations
        }
        return pb.StepResponse(state=state, observations=observations)

    def _reset(self, request: pb.ResetRequest) -> pb.ResetResponse:
        world = self._joined_world("reset")
        world.end(_Settings(request.settings, ["seed"]).seed(), interrupts=False)
        return pb.ResetResponse(specs=world.specs)

    def _reset_world(self, request: pb.ResetWorldRequest) -> pb.ResetWorldResponse:
        seed = _Settings(request.settings, ["seed"]).seed()
        world = self._find(request.world_name)
        world.end(seed, interrupts=world is not self._joined)
        return pb.ResetWorldResponse()

    def _leave_world(self, _: object = None) -> pb.LeaveWorldResponse:
        if self._joined is not None:
            self._joined.shown = None
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
        client: The client of the server that plays the worlds. Each stream calls it from its own thread;
            `serve` does not close it.
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


def _is_here(listen: str) -> bool:
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
    add("--server", help="the Boardwire server; a private one when left out")
    add_connection_options(parser)
    add("--streams", type=int, default=STREAMS, help="agents at once [default: %(default)s]")
    add("--open", action="store_true", help="listens where other machines can connect: nothing is encrypted")
    given = parser.parse_args(arguments)
    if not (given.open or _is_here(given.listen)):
        parser.error(f"{given.listen} is not this machine alone, and nothing is encrypted: it takes --open")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with connect_with_options(given.server, given) as client:
            server, port = serve(client, given.listen, streams=given.streams)
            is_path, host = given.listen.startswith("unix:"), given.listen.rpartition(":")[0]
            print(f"listening on {given.listen if is_path else f'{host}:{port}'}", flush=True)
            ended.wait()
            server.stop(1).wait()
    except (BoardwireError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
