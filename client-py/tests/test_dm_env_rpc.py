"""The gateway for `dm_env_rpc.v1`, by the tests that its authors publish for servers and for environments."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dm_env
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import test_utils
from dm_env_rpc.v1 import compliance, dm_env_adaptor, error, tensor_utils
from dm_env_rpc.v1 import connection as connections
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from raw import refusal
from tables import IDS

import boardwire
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
    """What all suites need: a connection of their own, and worlds of a game."""

    GAME = ""
    connection: Any = None

    @pytest.fixture(autouse=True)
    def _connect(self, gateway: str) -> Iterator[None]:
        with connections.create_secure_channel_and_connect(gateway) as self.connection:
            yield

    def created(self) -> str:
        """The name of a new world."""
        settings = {"game": pack(self.GAME)}
        return str(self.connection.send(pb.CreateWorldRequest(settings=settings)).world_name)

    def joined(self) -> Any:
        """The specs of a new world that was joined."""
        return self.connection.send(pb.JoinWorldRequest(world_name=self.created())).specs


class _CreateDestroyWorld(_Connected):
    """One setting is required, and each that there is can be wrong."""

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
    """The settings of `join_world`: none."""

    world_name = ""
    invalid_join_settings: Mapping[str, Any] = {"seat": pack(0)}

    def setUp(self) -> None:
        self.world_name = self.created()


class _Reset(_Connected):
    def join_world(self) -> Any:
        return self.joined()


class _ResetWorld(_Connected):
    world_name = ""

    def setUp(self) -> None:
        self.world_name = self.created()


class _Step(_Connected):
    """The suite also steps without an action, which no turn of these games can do without."""

    specs: Any = None

    def setUp(self) -> None:
        self.specs = self.joined()

    @property
    def required_actions(self) -> Mapping[int, Any]:
        return {uid: pack(0, dtype=spec.dtype) for uid, spec in self.specs.actions.items()}


class _Environment(_Connected, test_utils.EnvironmentTestMixin):
    """Plays to the end of an episode and into the next, with an action that is hardly ever legal."""

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
    """A class for every suite and game."""
    for game in IDS:
        for ours in (_CreateDestroyWorld, _JoinLeaveWorld, _Reset, _ResetWorld, _Step):
            suite = ours.__name__[1:]
            yield type(f"Test{suite}_{game}", (ours, getattr(compliance, suite)), {"GAME": game})
        yield type(f"TestEnvironment_{game}", (_Environment, absltest.TestCase), {"GAME": game})


SUITES = {suite.__name__: suite for suite in _suites()}
globals().update(SUITES)


def test_no_suite_is_left_out() -> None:
    # What is abstract is not collected, and nothing would say so.
    assert len(SUITES) == 6 * len(IDS)
    assert not any(inspect.isabstract(suite) for suite in SUITES.values())


@pytest.fixture
def connection(gateway: str) -> Iterator[Any]:
    """A connection of its own."""
    with connections.create_secure_channel_and_connect(gateway) as connection:
        yield connection


def test_a_world_plays_what_a_batch_of_one_plays(client: boardwire.Client, connection: Any) -> None:
    settings = {"game": "rauha", "seats": 3, "seat": 1, "bots": "greedy", "seed": 7, "reward": "margin"}
    env, _ = dm_env_adaptor.create_and_join_world(connection, settings, {})
    plan: Any = {"opponents": {0: "greedy", 2: "greedy"}, "reward": "margin", "seed": 7}
    batch = client.open_batch("rauha", environments=1, seats=3, **plan)
    shown, step, ended = env.reset(), batch.reset(), 0
    while ended < 2:
        observation = shown.observation
        fields = batch.spec.decode(step.view[0])
        assert set(observation["view"]) == set(fields)
        for name, values in fields.items():
            assert np.array_equal(observation["view"][name], values), name
        assert np.array_equal(observation["action_mask"], step.mask[0])
        assert shown.reward in (None, step.reward[0, 1])
        assert (shown.last(), shown.discount == 0) == (step.over[0], step.terminated[0])
        ended += shown.last()
        action = int(step.mask[0].argmax())
        shown, step = env.step({"action": action}), batch.step([action])
    batch.close()


def test_nested_settings_are_options_of_the_game(connection: Any) -> None:
    create = dm_env_adaptor.create_world
    assert create(connection, {"game": "faraway", "options": {"variant": "advanced"}})
    with pytest.raises(error.DmEnvRpcError, match="option `variant` must be ") as caught:
        create(connection, {"game": "faraway", "options": {"variant": "wild"}})
    assert refusal(caught.value._status_proto).reason == "OPTION_VALUE_INVALID"


def test_an_illegal_action_is_replaced_or_refused_as_the_world_was_made(connection: Any) -> None:
    make = dm_env_adaptor.create_and_join_world
    env, _ = make(connection, {"game": "faraway", "seed": 7}, {})
    shown = env.reset()
    illegal = {"action": int(shown.observation["action_mask"].argmin())}
    assert shown.observation["substituted"] == 0
    assert env.step(illegal).observation["substituted"] == 1
    env.close()
    env, _ = make(connection, {"game": "faraway", "seed": 7, "illegal_actions": "reject"}, {})
    shown = env.reset()
    with pytest.raises(error.DmEnvRpcError, match="its mask has the legal actions"):
        env.step(illegal)
    legal = {"action": int(shown.observation["action_mask"].argmax())}
    assert env.step(legal).observation["substituted"] == 0
    env.close()
    env, _ = make(connection, {"game": "faraway", "seed": 7, "illegal_actions": "forfeit"}, {})
    env.reset()
    end = env.step(illegal)
    assert (end.last(), end.reward, end.discount) == (True, -1.0, 0.0)


def made(connection: Any, **settings: Any) -> str:
    """The name of a new world of Faraway."""
    given = {name: pack(value) for name, value in {"game": "faraway", **settings}.items()}
    return str(connection.send(pb.CreateWorldRequest(settings=given)).world_name)


def begun(connection: Any, name: str, observed: Sequence[int] = (1, 2)) -> Any:
    """The first step in a world that is joined."""
    connection.send(pb.JoinWorldRequest(world_name=name))
    return connection.send(pb.StepRequest(requested_observations=observed))


def stepped(connection: Any, response: Any) -> Any:
    """The step after this one, by the first legal action."""
    mask = tensor_utils.unpack_tensor(response.observations[1])
    action = pack(int(mask.argmax()), dtype=pb.INT32)
    return connection.send(pb.StepRequest(actions={1: action}, requested_observations=[1, 2]))


def test_a_refusal_is_an_answer_and_the_stream_goes_on(connection: Any) -> None:
    # A single element of a shape without end.
    vast = pack(7)
    vast.shape.extend([2**31 - 1, 1024])
    for asked, said in [
        (pb.StepRequest(), "`join_world` comes before `step`"),
        (pb.ResetRequest(), "`join_world` comes before `reset`"),
        (pb.JoinWorldRequest(world_name="limbo"), "there is no world"),
        (pb.DestroyWorldRequest(world_name="limbo"), "there is no world"),
        (pb.CreateWorldRequest(), "settings.game is nothing, not one of faraway, rauha, golden_compass"),
        (pb.CreateWorldRequest(settings={"game": pb.Tensor()}), "settings.game is no tensor"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seat": pack(2)}), "from 0 to 1"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack("clever")}), "mc:PLAYOUTS"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack("agent")}), "name of a bot"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "bots": pack(["agent"])}), "name of a bot"),
        (pb.CreateWorldRequest(settings={"game": pack(["rauha", "faraway"])}), "a single value"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seed": vast}), "a single value"),
        (pb.CreateWorldRequest(settings={"game": pack("rauha"), "seats": pack(0)}), "from 1 to"),
    ]:
        with pytest.raises(error.DmEnvRpcError, match=said):
            connection.send(asked)
    running = begun(connection, made(connection))
    for actions, said in [
        ({}, "actions is nothing"),
        ({2: pack(0, dtype=pb.INT32)}, "UID 2"),
        ({1: pack(0)}, "an int32 of shape"),
        ({1: pack(200, dtype=pb.INT32)}, "UID 1: 200"),
        ({1: vast}, "a single value"),
    ]:
        with pytest.raises(error.DmEnvRpcError, match=said):
            connection.send(pb.StepRequest(actions=actions))
    with pytest.raises(error.DmEnvRpcError, match="requested_observations is 9"):
        connection.send(pb.StepRequest(requested_observations=[9]))
    assert stepped(connection, running).state == pb.RUNNING


def test_a_world_has_one_agent_and_an_agent_one_world(connection: Any, gateway: str) -> None:
    name = made(connection)
    with connections.create_secure_channel_and_connect(gateway) as other:
        begun(other, name)
        with pytest.raises(error.DmEnvRpcError, match="another stream is in that world"):
            connection.send(pb.JoinWorldRequest(world_name=name))
        with pytest.raises(error.DmEnvRpcError, match="this stream is in a world"):
            other.send(pb.JoinWorldRequest(world_name=made(connection)))
        with pytest.raises(error.DmEnvRpcError, match="`leave_world` comes before `destroy_world`"):
            other.send(pb.DestroyWorldRequest(world_name=name))
        other.send(pb.LeaveWorldRequest())
    begun(connection, name)


def test_a_reset_of_a_world_is_told_to_the_agent_in_it(connection: Any, gateway: str) -> None:
    name = made(connection, seed=3)
    first = begun(connection, name)
    with connections.create_secure_channel_and_connect(gateway) as other:
        other.send(pb.ResetWorldRequest(world_name=name, settings={"seed": pack(3)}))
    told = stepped(connection, first)
    assert (told.state, told.observations) == (pb.INTERRUPTED, first.observations)
    again = connection.send(pb.StepRequest(requested_observations=[1, 2]))
    assert (again.state, again.observations) == (pb.RUNNING, first.observations)
    # After its own reset the agent is not told of one.
    later = stepped(connection, again)
    connection.send(pb.ResetRequest(settings={"seed": pack(3)}))
    assert connection.send(pb.StepRequest(requested_observations=[1, 2])) == first != later


def test_a_world_ends_when_it_is_destroyed_and_with_the_stream_that_made_it(
    connection: Any, gateway: str, client: boardwire.Client
) -> None:
    with connections.create_secure_channel_and_connect(gateway) as maker:
        kept, gone = made(maker), made(maker)
        maker.send(pb.DestroyWorldRequest(world_name=gone))
        with pytest.raises(error.DmEnvRpcError, match="there is no world"):
            maker.send(pb.JoinWorldRequest(world_name=gone))
        running = begun(connection, kept)
        maker.send(pb.DestroyWorldRequest(world_name=kept))
    with pytest.raises(error.DmEnvRpcError, match="there is no world"):
        stepped(connection, running)
    with pytest.raises(error.DmEnvRpcError, match="there is no world"):
        connection.send(pb.ResetRequest())
    connection.send(pb.LeaveWorldRequest())
    with connections.create_secure_channel_and_connect(gateway) as maker:
        left = made(maker)
    due = time.monotonic() + 30
    while True:
        try:
            connection.send(pb.JoinWorldRequest(world_name=left))
        except error.DmEnvRpcError:
            break
        connection.send(pb.LeaveWorldRequest())
        assert time.monotonic() < due


def test_a_stream_has_few_worlds_at_once(connection: Any, gateway: str) -> None:
    names = [made(connection) for _ in range(WORLDS)]
    with pytest.raises(error.DmEnvRpcError, match="8 worlds at most"):
        made(connection)
    connection.send(pb.DestroyWorldRequest(world_name=names[0]))
    made(connection)
    with connections.create_secure_channel_and_connect(gateway) as other:
        other.send(pb.DestroyWorldRequest(world_name=names[1]))
    made(connection)


def test_the_specs_name_the_fields_of_a_seats_view_alone(connection: Any, client: boardwire.Client) -> None:
    specs = connection.send(pb.JoinWorldRequest(world_name=made(connection))).specs
    names = {observation.name for observation in specs.observations.values()}
    fields = {f"view.{name}" for name in client.game("faraway", seats=2).fields}
    assert names == fields | {"action_mask", "reward", "substituted"}


@pytest.mark.slow
def test_it_serves_as_a_program_until_it_is_told_to_end() -> None:
    command = [sys.executable, "-m", "boardwire.dm_env_rpc", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        with connections.create_secure_channel_and_connect(line.split()[-1]) as connection:
            assert begun(connection, made(connection)).state == pb.RUNNING
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    refused = subprocess.run([*command[:-1], "0.0.0.0:0"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--open" in refused.stderr
