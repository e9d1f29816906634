"""The gateway for `dm_env_rpc.v1`: compliance tests of the protocol's authors, and our own tests."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import Mock

import dm_env
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import test_utils
from dm_env_rpc.v1 import compliance, dm_env_adaptor, error, tensor_utils
from dm_env_rpc.v1 import connection as connections
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from raw import stream_error
from tables import IDS

import boardwire
from boardwire import errors
from boardwire.dm_env_rpc import WORLDS, serve

pack = tensor_utils.pack_tensor


@pytest.fixture(scope="module")
def gateway(address: str) -> Iterator[str]:
    """The address of a gateway to the server of the tests."""
    with boardwire.connect(address) as client:
        server, port = serve(client, "127.0.0.1:0")
        yield f"127.0.0.1:{port}"
        server.stop(0).wait()


class _Connected:
    """The base of all suites: each test has its own connection and creates worlds of one game."""

    GAME = ""
    connection: Any = None

    @pytest.fixture(autouse=True)
    def _connect(self, gateway: str) -> Iterator[None]:
        with connections.create_secure_channel_and_connect(gateway) as self.connection:
            yield

    def new_world(self) -> str:
        """Creates a world and returns its name."""
        settings = {"game": pack(self.GAME)}
        return str(self.connection.send(pb.CreateWorldRequest(settings=settings)).world_name)

    def join_new_world(self) -> Any:
        """Creates and joins a world, and returns its specs."""
        return self.connection.send(pb.JoinWorldRequest(world_name=self.new_world())).specs


class _CreateDestroyWorld(_Connected):
    """Only `game` is required. The suite tries an invalid value of each setting."""

    has_multiple_world_support = True

    @property
    def required_world_settings(self) -> Mapping[str, Any]:
        return {"game": pack(self.GAME)}

    @property
    def invalid_world_settings(self) -> Mapping[str, Any]:
        return {
            "players": pack(2),
            "seats": pack("two"),
            "seat": pack(-1),
            "bots": pack(["random"] * 9),
            "seed": pack(0.5),
            "reward": pack("fame"),
            "illegal_actions": pack(True),
            "skip_forced": pack(1),
            "options.none": pack(1),
        }


class _JoinLeaveWorld(_Connected):
    """`join_world` accepts no settings."""

    world_name = ""
    invalid_join_settings: Mapping[str, Any] = {"seat": pack(0)}

    def setUp(self) -> None:
        self.world_name = self.new_world()


class _Reset(_Connected):
    def join_world(self) -> Any:
        return self.join_new_world()


class _ResetWorld(_Connected):
    world_name = ""

    def setUp(self) -> None:
        self.world_name = self.new_world()


class _Step(_Connected):
    """The suite also steps without an action, but each turn of these games requires one."""

    specs: Any = None

    def setUp(self) -> None:
        self.specs = self.join_new_world()

    @property
    def required_actions(self) -> Mapping[int, Any]:
        return {uid: pack(0, dtype=spec.dtype) for uid, spec in self.specs.actions.items()}


class _Environment(_Connected, test_utils.EnvironmentTestMixin):
    """Plays one episode and the start of the next, with an action that is rarely legal."""

    over = False

    def make_object_under_test(self) -> dm_env.Environment:
        return dm_env_adaptor.create_and_join_world(self.connection, {"game": self.GAME, "seed": 7}, {})[0]

    def make_action_sequence(self) -> Iterator[Any]:
        self.over = False
        while not self.over:
            yield self.make_action()
        yield self.make_action()

    def step_environment(self, action: Any = None) -> dm_env.TimeStep:
        step = super().step_environment(action)
        self.over = self.over or step.last()
        return step


def _suites() -> Iterator[type[absltest.TestCase]]:
    """Yields a class for each suite and game."""
    for game in IDS:
        for mixin in (_CreateDestroyWorld, _JoinLeaveWorld, _Reset, _ResetWorld, _Step):
            suite = mixin.__name__[1:]
            yield type(f"Test{suite}_{game}", (mixin, getattr(compliance, suite)), {"GAME": game})
        yield type(f"TestEnvironment_{game}", (_Environment, absltest.TestCase), {"GAME": game})


SUITES = {suite.__name__: suite for suite in _suites()}
globals().update(SUITES)


def test_every_suite_runs() -> None:
    # pytest skips abstract classes without a message.
    assert len(SUITES) == 6 * len(IDS)
    assert not any(inspect.isabstract(suite) for suite in SUITES.values())


@pytest.fixture
def connection(gateway: str) -> Iterator[Any]:
    """A connection for one test."""
    with connections.create_secure_channel_and_connect(gateway) as connection:
        yield connection


def test_a_world_plays_like_a_batch_of_one_environment(client: boardwire.Client, connection: Any) -> None:
    settings = {"game": "rauha", "seats": 3, "seat": 1, "bots": "greedy", "seed": 7, "reward": "margin"}
    env, _ = dm_env_adaptor.create_and_join_world(connection, settings, {})
    config: Any = {"opponents": {0: "greedy", 2: "greedy"}, "reward": "margin", "seed": 7}
    batch = client.open_batch("rauha", environments=1, seats=3, **config)
    timestep, step, ended = env.reset(), batch.reset(), 0
    while ended < 2:
        observation = timestep.observation
        fields = batch.spec.decode(step.view[0])
        assert set(observation["view"]) == set(fields)
        for name, values in fields.items():
            assert np.array_equal(observation["view"][name], values), name
        assert np.array_equal(observation["action_mask"], step.mask[0])
        assert timestep.reward in (None, step.reward[0, 1])
        assert (timestep.last(), timestep.discount == 0) == (step.over[0], step.terminated[0])
        ended += timestep.last()
        action = int(step.mask[0].argmax())
        timestep, step = env.step({"action": action}), batch.step([action])
    batch.close()


def test_nested_settings_are_options_of_the_game(connection: Any) -> None:
    create = dm_env_adaptor.create_world
    assert create(connection, {"game": "faraway", "options": {"variant": "advanced"}})
    with pytest.raises(error.DmEnvRpcError, match="option `variant` must be ") as caught:
        create(connection, {"game": "faraway", "options": {"variant": "wild"}})
    assert stream_error(caught.value._status_proto).reason == "OPTION_VALUE_INVALID"


def test_each_world_handles_illegal_actions_by_its_setting(connection: Any) -> None:
    make = dm_env_adaptor.create_and_join_world
    env, _ = make(connection, {"game": "faraway", "seed": 7}, {})
    timestep = env.reset()
    illegal = {"action": int(timestep.observation["action_mask"].argmin())}
    assert timestep.observation["substituted"] == 0
    assert env.step(illegal).observation["substituted"] == 1
    env.close()
    env, _ = make(connection, {"game": "faraway", "seed": 7, "illegal_actions": "reject"}, {})
    timestep = env.reset()
    with pytest.raises(error.DmEnvRpcError, match="its mask has the legal actions"):
        env.step(illegal)
    legal = {"action": int(timestep.observation["action_mask"].argmax())}
    assert env.step(legal).observation["substituted"] == 0
    env.close()
    env, _ = make(connection, {"game": "faraway", "seed": 7, "illegal_actions": "forfeit"}, {})
    env.reset()
    end = env.step(illegal)
    assert (end.last(), end.reward, end.discount) == (True, -1.0, 0.0)


def create_world(connection: Any, **settings: Any) -> str:
    """Creates a world of Faraway and returns its name."""
    packed = {name: pack(value) for name, value in {"game": "faraway", **settings}.items()}
    return str(connection.send(pb.CreateWorldRequest(settings=packed)).world_name)


def first_step(connection: Any, name: str, requested: Sequence[int] = (1, 2)) -> Any:
    """Joins a world and returns its first step."""
    connection.send(pb.JoinWorldRequest(world_name=name))
    return connection.send(pb.StepRequest(requested_observations=requested))


def next_step(connection: Any, response: Any) -> Any:
    """Plays the first legal action and returns the next step."""
    mask = tensor_utils.unpack_tensor(response.observations[1])
    action = pack(int(mask.argmax()), dtype=pb.INT32)
    return connection.send(pb.StepRequest(actions={1: action}, requested_observations=[1, 2]))


def test_a_refusal_leaves_the_stream_usable(connection: Any) -> None:
    # One element, but a huge shape.
    huge = pack(7)
    huge.shape.extend([2**31 - 1, 1024])
    for request, message in [
        (pb.StepRequest(), "`join_world` comes before `step`"),
        (pb.ResetRequest(), "`join_world` comes before `reset`"),
        (pb.JoinWorldRequest(world_name="limbo"), "there is no world"),
        (pb.DestroyWorldRequest(world_name="limbo"), "there is no world"),
        (pb.CreateWorldRequest(), "settings.game must be one of faraway, rauha, golden_compass; got nothing"),
        (pb.CreateWorldRequest(settings={"game": pb.Tensor()}), "settings.game is not a tensor"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seat": pack(2)}), "from 0 to 1"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack("clever")}), "mc:PLAYOUTS"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack("agent")}), "name of a bot"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack(["agent"])}), "name of a bot"),
        (pb.CreateWorldRequest(settings={"game": pack(["rauha", "faraway"])}), "a single value"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seed": huge}), "a single value"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seats": pack(0)}), "from 1 to"),
    ]:
        with pytest.raises(error.DmEnvRpcError, match=message):
            connection.send(request)
    step = first_step(connection, create_world(connection))
    for actions, message in [
        ({}, "got nothing"),
        ({2: pack(0, dtype=pb.INT32)}, "UID 2"),
        ({1: pack(0)}, "an int32 of shape"),
        ({1: pack(200, dtype=pb.INT32)}, "UID 1: 200"),
        ({1: huge}, "a single value"),
    ]:
        with pytest.raises(error.DmEnvRpcError, match=message):
            connection.send(pb.StepRequest(actions=actions))
    with pytest.raises(error.DmEnvRpcError, match=r"requested_observations must be among .*; got 9"):
        connection.send(pb.StepRequest(requested_observations=[9]))
    assert next_step(connection, step).state == pb.RUNNING


def test_a_world_has_one_agent_and_an_agent_one_world(connection: Any, gateway: str) -> None:
    name = create_world(connection)
    with connections.create_secure_channel_and_connect(gateway) as other:
        first_step(other, name)
        with pytest.raises(error.DmEnvRpcError, match="another stream is in that world"):
            connection.send(pb.JoinWorldRequest(world_name=name))
        with pytest.raises(error.DmEnvRpcError, match="this stream is in a world"):
            other.send(pb.JoinWorldRequest(world_name=create_world(connection)))
        with pytest.raises(error.DmEnvRpcError, match="`leave_world` comes before `destroy_world`"):
            other.send(pb.DestroyWorldRequest(world_name=name))
        other.send(pb.LeaveWorldRequest())
    first_step(connection, name)


def test_a_reset_of_a_world_interrupts_the_agent_in_it(connection: Any, gateway: str) -> None:
    name = create_world(connection, seed=3)
    first = first_step(connection, name)
    with connections.create_secure_channel_and_connect(gateway) as other:
        other.send(pb.ResetWorldRequest(world_name=name, settings={"seed": pack(3)}))
    interrupted = next_step(connection, first)
    assert (interrupted.state, interrupted.observations) == (pb.INTERRUPTED, first.observations)
    restarted = connection.send(pb.StepRequest(requested_observations=[1, 2]))
    assert (restarted.state, restarted.observations) == (pb.RUNNING, first.observations)
    # The agent's own reset does not interrupt it.
    later = next_step(connection, restarted)
    connection.send(pb.ResetRequest(settings={"seed": pack(3)}))
    assert connection.send(pb.StepRequest(requested_observations=[1, 2])) == first != later


def test_a_world_ends_when_it_is_destroyed_or_its_creators_stream_ends(
    connection: Any, gateway: str, client: boardwire.Client
) -> None:
    with connections.create_secure_channel_and_connect(gateway) as creator:
        kept, destroyed = create_world(creator), create_world(creator)
        creator.send(pb.DestroyWorldRequest(world_name=destroyed))
        with pytest.raises(error.DmEnvRpcError, match="there is no world"):
            creator.send(pb.JoinWorldRequest(world_name=destroyed))
        step = first_step(connection, kept)
        creator.send(pb.DestroyWorldRequest(world_name=kept))
    with pytest.raises(error.DmEnvRpcError, match="there is no world"):
        next_step(connection, step)
    with pytest.raises(error.DmEnvRpcError, match="there is no world"):
        connection.send(pb.ResetRequest())
    connection.send(pb.LeaveWorldRequest())
    with connections.create_secure_channel_and_connect(gateway) as creator:
        abandoned = create_world(creator)
    deadline = time.monotonic() + 30
    while True:
        try:
            connection.send(pb.JoinWorldRequest(world_name=abandoned))
        except error.DmEnvRpcError:
            break
        connection.send(pb.LeaveWorldRequest())
        assert time.monotonic() < deadline


def test_a_world_ends_when_the_server_closes_its_idle_batch(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = create_world(connection)
    connection.send(pb.JoinWorldRequest(world_name=name))
    monkeypatch.setattr(boardwire.Batch, "reset", Mock(side_effect=errors.Gone("closed when idle")))
    for message in ("closed when idle", "there is no world .*: it was destroyed, .* or it was idle too long"):
        with pytest.raises(error.DmEnvRpcError, match=message):
            connection.send(pb.StepRequest())


def test_a_stream_has_a_limit_of_worlds(connection: Any, gateway: str) -> None:
    names = [create_world(connection) for _ in range(WORLDS)]
    with pytest.raises(error.DmEnvRpcError, match="at most 8 worlds"):
        create_world(connection)
    connection.send(pb.DestroyWorldRequest(world_name=names[0]))
    create_world(connection)
    with connections.create_secure_channel_and_connect(gateway) as other:
        other.send(pb.DestroyWorldRequest(world_name=names[1]))
    create_world(connection)


def test_the_specs_name_only_the_fields_of_the_seats_view(connection: Any, client: boardwire.Client) -> None:
    specs = connection.send(pb.JoinWorldRequest(world_name=create_world(connection))).specs
    names = {observation.name for observation in specs.observations.values()}
    fields = {f"view.{name}" for name in client.game("faraway", seats=2).fields}
    assert names == fields | {"action_mask", "reward", "substituted"}


@pytest.mark.slow
def test_the_program_serves_until_sigterm() -> None:
    command = [sys.executable, "-m", "boardwire.dm_env_rpc", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        with connections.create_secure_channel_and_connect(line.split()[-1]) as connection:
            assert first_step(connection, create_world(connection)).state == pb.RUNNING
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    refused = subprocess.run([*command[:-1], "0.0.0.0:0"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--open" in refused.stderr
