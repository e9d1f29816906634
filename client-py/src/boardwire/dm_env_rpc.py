"""A gateway to a Boardwire server for agents that speak `dm_env_rpc.v1`.

    python -m boardwire.dm_env_rpc                                    # beside a private server
    python -m boardwire.dm_env_rpc --server 127.0.0.1:50051           # in front of a server that runs

A world of dm_env_rpc is a batch of one environment: the agent plays one seat and bots play the others. Rules,
observations and rewards are those of batches: docs/frameworks/dm_env_rpc.md.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import ipaddress
import logging
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, get_args

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_spec_utils, tensor_utils
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2

import boardwire

from ._connecting import add_connection, connected
from ._fields import ViewField
from ._types import BatchStep, IllegalActions, Reward
from .errors import (
    BoardwireError,
    Gone,
    InvalidRequest,
    NotFound,
    NotPossibleNow,
    ServerFault,
    ServerFull,
)

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

_T = TypeVar("_T")


def _refused(field: str, value: object, expected: str) -> InvalidRequest:
    return InvalidRequest(f"{field} is {value}, not {expected}")


class _Settings:
    """The settings of a request. Errors name the setting that is invalid."""

    def __init__(self, given: Mapping[str, pb.Tensor], known: Iterable[str], more: str = "") -> None:
        known = tuple(known)
        for name in given:
            if name not in known and not (more and name.startswith(more)):
                others = f", {more}NAME for options of the game" if more else ""
                raise _refused("settings", name, f"of {', '.join(known)}{others}" if known else "empty")
        self._given = given

    def value(self, name: str, longest: int = 0) -> Any:
        """Returns the value of a setting."""
        return _unpacked(f"settings.{name}", self._given[name], longest)

    def names(self, prefix: str) -> Iterator[str]:
        """Returns the names of the settings that begin with `prefix`."""
        return (name for name in self._given if name.startswith(prefix))

    def read(
        self,
        name: str,
        otherwise: _T,
        expected: str,
        read: Callable[[Any], _T | None],
        longest: int = 0,
    ) -> _T:
        """Returns a setting as converted by `read`, or `otherwise` if the setting is missing."""
        if name not in self._given:
            return otherwise
        value = self.value(name, longest)
        found = read(value)
        if found is None:
            raise _refused(f"settings.{name}", value, expected)
        return found

    def text(self, name: str, otherwise: str | None, choices: Sequence[str]) -> str:
        """Returns a setting that must be one of `choices`."""
        expected = f"one of {', '.join(choices)}"

        def read(value: Any) -> str | None:
            return str(value) if isinstance(value, str) and value in choices else None

        found = self.read(name, otherwise or "", expected, read)
        if not found:
            raise _refused(f"settings.{name}", "nothing", expected)
        return found

    def whole(self, name: str, otherwise: int | None, least: int, most: int) -> int | None:
        """Returns a setting that must be a whole number from `least` to `most`."""

        def read(value: Any) -> int | None:
            return int(value) if isinstance(value, np.integer) and least <= value <= most else None

        return self.read(name, otherwise, f"a whole number from {least} to {most}", read)

    def seed(self) -> int | None:
        """Returns the seed, or None if it is missing."""
        return self.whole("seed", None, 0, 2**64 - 1)


def _unpacked(field: str, tensor: pb.Tensor, longest: int = 0) -> Any:
    """Unpacks a tensor to a numpy scalar, or to a 1-D array of at most `longest` elements."""
    # `unpack_tensor` would repeat a single element to fill a large shape.
    shape = tuple(tensor.shape)
    if shape and not (len(shape) == 1 and 0 < shape[0] <= longest):
        raise _refused(field, f"a tensor of shape {list(shape)}", "a single value")
    try:
        return tensor_utils.unpack_tensor(tensor)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"{field} is no tensor: {error}") from error


def _option(name: str, value: Any) -> str:
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.integer | str):
        return str(value)
    raise _refused(f"settings.{name}", value, "a string, a whole number or a bool")


@dataclasses.dataclass
class _World:
    """One environment, and the state of the agent that has joined it."""

    name: str
    batch: boardwire.Batch
    seat: int
    #: The last step of the running sequence; None if no sequence runs.
    shown: BatchStep | None = None
    #: Whether a stream has joined it.
    taken: bool = False
    #: Whether another stream has ended the running sequence.
    interrupted: bool = False
    #: The seed of the next sequence, if a request gave one.
    seed: int | None = None
    #: Held while a thread uses the batch, because only one thread at a time may use it.
    used: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def fields(self) -> Iterator[tuple[int, ViewField]]:
        """Returns pairs of a UID and a field of the view."""
        return enumerate(self.batch.spec.fields.values(), FIRST_FIELD)

    def specs(self) -> pb.ActionObservationSpecs:
        """Returns the specs of the action and the observations."""
        actions = len(self.batch.spec.actions)
        specs = pb.ActionObservationSpecs()
        specs.actions[ACTION].CopyFrom(_spec("action", pb.INT32, (), actions - 1))
        specs.observations[MASK].CopyFrom(_spec("action_mask", pb.INT8, (actions,), 1))
        specs.observations[REWARD].CopyFrom(pb.TensorSpec(name="reward", dtype=pb.FLOAT))
        specs.observations[SUBSTITUTED].CopyFrom(_spec("substituted", pb.INT8, (), 1))
        for uid, field in self.fields():
            # Clients that nest names by dots get all fields in `observation["view"]`.
            dtype = pb.UINT8 if _is_bytes(field) else pb.INT32
            specs.observations[uid].CopyFrom(_spec(f"view.{field.name}", dtype, field.shape, field.max))
        return specs

    def observations(self, step: BatchStep, wanted: Iterable[int]) -> dict[int, pb.Tensor]:
        """Returns the observations of the agent's seat with the UIDs in `wanted`."""
        found: dict[int, Any] = {
            MASK: step.mask[0].astype(np.int8),
            REWARD: np.float32(step.reward[0, self.seat]),
            SUBSTITUTED: np.int8(step.substituted[0]),
        }
        if any(uid >= FIRST_FIELD for uid in wanted):
            values = self.batch.spec.decode(step.view[0])
            for uid, field in self.fields():
                found[uid] = values[field.name].astype(np.uint8 if _is_bytes(field) else np.int32)
        return {uid: tensor_utils.pack_tensor(found[uid]) for uid in wanted}

    def action(self, given: Mapping[int, pb.Tensor]) -> int:
        """Returns the action of a step request.

        Raises:
            InvalidRequest: The request does not hold exactly one action in range.
        """
        most = len(self.batch.spec.actions) - 1
        expected = f"UID {ACTION} (`action`) alone, an int32 of shape [] from 0 to {most}"
        if list(given) != [ACTION]:
            raise _refused("actions", [f"UID {uid}" for uid in given] or "nothing", expected)
        value = _unpacked("actions", given[ACTION])
        if not isinstance(value, np.int32) or not 0 <= value <= most:
            raise _refused("actions", f"UID {ACTION}: {value}", expected)
        return int(value)


def _is_bytes(field: ViewField) -> bool:
    # `DmEnvAdaptor` adds 1 to the maximum of a scalar, in the scalar's dtype.
    return field.max < 255


def _spec(name: str, dtype: int, shape: Sequence[int], most: int) -> pb.TensorSpec:
    spec = pb.TensorSpec(name=name, dtype=dtype, shape=shape)
    tensor_spec_utils.set_bounds(spec, 0, most)
    return spec


class Gateway(dm_env_rpc_pb2_grpc.EnvironmentServicer):  # type: ignore[misc]
    """A dm_env_rpc service whose worlds are batches of a Boardwire server; every stream is one agent."""

    def __init__(self, client: boardwire.Client) -> None:
        """Uses the server of `client` for all worlds; several threads call `client`."""
        self._client = client
        self._worlds: dict[str, _World] = {}
        self._lock = threading.Lock()

    def Process(
        self, requests: Iterable[pb.EnvironmentRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.EnvironmentResponse]:
        """Answers the requests of a stream in order. A refused request changes nothing."""
        agent = _Agent(self)
        try:
            for request in requests:
                try:
                    yield agent.answer(request)
                except BoardwireError as error:
                    yield pb.EnvironmentResponse(error=_status(error))
                except Exception:
                    # A bug in the gateway fails the request, but does not end the stream.
                    _LOG.exception("a request of dm_env_rpc could not be answered")
                    yield pb.EnvironmentResponse(error=_status(ServerFault("the gateway has made a mistake")))
        finally:
            agent.end()

    def create(self, given: Mapping[str, pb.Tensor]) -> _World:
        """Creates a world from the settings of a request."""
        names = ["game", "seats", "seat", "bots", "seed", "reward", "illegal_actions", "skip_forced"]
        settings = _Settings(given, names, "options.")
        game = settings.text("game", None, [game.id for game in self._client.games()])
        seats = settings.whole("seats", None, 1, 2**32 - 1)
        options = {
            name.removeprefix("options."): _option(name, settings.value(name))
            for name in settings.names("options.")
        }
        count = self._client.game(game, seats=seats, options=options).seats
        seat = settings.whole("seat", 0, 0, count - 1) or 0

        def bots(value: Any) -> list[str] | None:
            names = [value] * (count - 1) if isinstance(value, str) else list(value.flat)
            are_bots = all(isinstance(name, str) and name != "agent" for name in names)
            return [str(name) for name in names] if are_bots and len(names) == count - 1 else None

        expected = f"the name of a bot, or {count - 1} of them, for the other seats in turn"
        named = settings.read("bots", ["random"] * (count - 1), expected, bots, count - 1)
        batch = self._client.open_batch(
            game,
            environments=1,
            seats=count,
            options=options,
            opponents=dict(zip((other for other in range(count) if other != seat), named, strict=True)),
            seed=settings.seed(),
            reward=settings.text("reward", "rank", get_args(Reward)),  # type: ignore[arg-type]
            illegal_actions=settings.text(  # type: ignore[arg-type]
                "illegal_actions", "seeded_legal", get_args(IllegalActions)
            ),
            skip_forced=settings.read(
                "skip_forced",
                False,
                "a bool",
                lambda value: bool(value) if isinstance(value, np.bool_) else None,
            ),
        )
        world = _World(f"{batch.id}-{secrets.token_urlsafe(16)}", batch, seat)
        with self._lock:
            self._worlds[world.name] = world
        return world

    def find(self, name: str) -> _World:
        """Returns the world of this name."""
        with self._lock:
            if name in self._worlds:
                return self._worlds[name]
        raise NotFound(f"there is no world {name!r}: it was destroyed, or its stream has ended")

    def living(self, names: set[str]) -> set[str]:
        """Returns the names that belong to worlds that still exist."""
        with self._lock:
            return names & self._worlds.keys()

    def take(self, name: str) -> _World:
        """Joins the world of this name, which allows one agent at a time."""
        world = self.find(name)
        with self._lock:
            if world.taken:
                raise NotPossibleNow(
                    "another stream is in that world: `leave_world` comes before `join_world`"
                )
            world.taken = True
        return world

    def give(self, world: _World, seed: int | None, *, interrupts: bool) -> None:
        """Stores the seed of a world's next sequence, and marks the running sequence if it is interrupted.

        Args:
            world: The world.
            seed: The seed; None keeps the stored seed.
            interrupts: Whether another stream ends the sequence: the agent's next step then tells the agent.
        """
        with self._lock:
            world.interrupted |= interrupts
            world.seed = world.seed if seed is None else seed

    def begin(self, world: _World) -> BatchStep:
        """Begins the next sequence of a world."""
        with self._lock:
            world.interrupted, seed, world.seed = False, world.seed, None
        try:
            return self.use(world, lambda: world.batch.reset(seed=seed))
        except BoardwireError:
            with self._lock:
                # Another request may have set a newer seed meanwhile.
                world.seed = seed if world.seed is None else world.seed
            raise

    def use(self, world: _World, call: Callable[[], BatchStep]) -> BatchStep:
        """Runs a call of a world's batch under its lock."""
        with world.used:
            self.find(world.name)
            try:
                return call()
            except Gone:
                # The server has closed the batch, because it was idle for too long.
                with self._lock:
                    self._worlds.pop(world.name, None)
                raise

    def remove(self, name: str) -> None:
        """Closes a world."""
        world = self.find(name)
        with world.used:
            with self._lock:
                self._worlds.pop(name, None)
            world.batch.close()


class _Agent:
    """A stream: the worlds that it has created, and the world that it has joined."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._made: set[str] = set()
        self._joined: _World | None = None

    def answer(self, request: pb.EnvironmentRequest) -> pb.EnvironmentResponse:
        """Answers one request."""
        kind = request.WhichOneof("payload")
        answers: dict[str, Callable[[Any], Any]] = {
            "create_world": self._create,
            "join_world": self._join,
            "step": self._step,
            "reset": self._reset,
            "reset_world": self._reset_world,
            "leave_world": self._leave,
            "destroy_world": self._destroy,
        }
        if kind not in answers:
            raise _refused("payload", kind or "nothing", f"one of {', '.join(answers)}")
        return pb.EnvironmentResponse(**{kind: answers[kind](getattr(request, kind))})

    def end(self) -> None:
        """Leaves the joined world, and closes the worlds that this stream has created."""
        self._leave()
        for name in self._gateway.living(self._made):
            # Another stream may destroy the world at the same time.
            with contextlib.suppress(BoardwireError):
                self._gateway.remove(name)

    def _here(self, request: str) -> _World:
        if self._joined is None:
            raise NotPossibleNow(f"this stream has joined no world: `join_world` comes before `{request}`")
        return self._gateway.find(self._joined.name)

    def _create(self, asked: pb.CreateWorldRequest) -> pb.CreateWorldResponse:
        # Another stream may have destroyed some worlds, or the server has closed idle ones.
        self._made = self._gateway.living(self._made)
        if len(self._made) == WORLDS:
            raise ServerFull(f"a stream has {WORLDS} worlds at most: destroy one that is not needed")
        world = self._gateway.create(asked.settings)
        self._made.add(world.name)
        return pb.CreateWorldResponse(world_name=world.name)

    def _join(self, asked: pb.JoinWorldRequest) -> pb.JoinWorldResponse:
        _Settings(asked.settings, ())
        if self._joined is not None:
            raise NotPossibleNow("this stream is in a world: `leave_world` comes before `join_world`")
        self._joined = self._gateway.take(asked.world_name)
        return pb.JoinWorldResponse(specs=self._joined.specs())

    def _step(self, asked: pb.StepRequest) -> pb.StepResponse:
        world = self._here("step")
        known = {MASK, REWARD, SUBSTITUTED, *(uid for uid, _ in world.fields())}
        for uid in asked.requested_observations:
            if uid not in known:
                expected = f"of the UIDs {MASK} to {SUBSTITUTED} and {FIRST_FIELD} to {max(known)}"
                raise _refused("requested_observations", uid, expected)
        shown = world.shown
        if shown is None:
            shown = self._gateway.begin(world)
            state = pb.RUNNING
        elif world.interrupted:
            state = pb.INTERRUPTED
        else:
            action = world.action(asked.actions)
            shown = self._gateway.use(world, lambda: world.batch.step([action]))
            state = pb.RUNNING
        if shown.terminated[0]:
            state = pb.TERMINATED
        elif shown.truncated[0]:
            state = pb.INTERRUPTED
        world.shown = shown if state == pb.RUNNING else None
        return pb.StepResponse(
            state=state, observations=world.observations(shown, asked.requested_observations)
        )

    def _reset(self, asked: pb.ResetRequest) -> pb.ResetResponse:
        world = self._here("reset")
        self._gateway.give(world, _Settings(asked.settings, ["seed"]).seed(), interrupts=False)
        world.shown = None
        return pb.ResetResponse(specs=world.specs())

    def _reset_world(self, asked: pb.ResetWorldRequest) -> pb.ResetWorldResponse:
        seed = _Settings(asked.settings, ["seed"]).seed()
        world = self._gateway.find(asked.world_name)
        if world is self._joined:
            world.shown = None
        self._gateway.give(world, seed, interrupts=world is not self._joined)
        return pb.ResetWorldResponse()

    def _leave(self, _: object = None) -> pb.LeaveWorldResponse:
        if self._joined is not None:
            self._joined.shown, self._joined.taken, self._joined = None, False, None
        return pb.LeaveWorldResponse()

    def _destroy(self, asked: pb.DestroyWorldRequest) -> pb.DestroyWorldResponse:
        if self._joined is not None and self._joined.name == asked.world_name:
            raise NotPossibleNow("this stream is in that world: `leave_world` comes before `destroy_world`")
        self._gateway.remove(asked.world_name)
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
    if listen.startswith("unix:"):
        return True
    host = listen.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
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
    add_connection(parser)
    add("--streams", type=int, default=STREAMS, help="agents at once [default: %(default)s]")
    add("--open", action="store_true", help="listens where other machines can connect: nothing is encrypted")
    given = parser.parse_args(arguments)
    if not (given.open or _is_here(given.listen)):
        parser.error(f"{given.listen} is not this machine alone, and nothing is encrypted: it takes --open")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with connected(given.server, given) as client:
            server, port = serve(client, given.listen, streams=given.streams)
            host = (
                given.listen
                if given.listen.startswith("unix:")
                else f"{given.listen.rpartition(':')[0]}:{port}"
            )
            print(f"listening on {host}", flush=True)
            ended.wait()
            server.stop(1).wait()
    except (BoardwireError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
