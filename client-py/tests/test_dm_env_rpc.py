"""The server's `dm_env_rpc.v1`, by the tests that its authors publish for servers and for environments."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dm_env
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import test_utils
from dm_env_rpc.v1 import compliance, dm_env_adaptor, error, tensor_utils
from dm_env_rpc.v1 import connection as connections
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from google.protobuf import descriptor_pb2
from tables import IDS

import boardwire
from boardwire import _status
from boardwire._server import find_binary

pack = tensor_utils.pack_tensor


class _Connected:
    """What all suites need: a connection of their own, and worlds of a game."""

    GAME = ""
    connection: Any = None

    @pytest.fixture(autouse=True)
    def _connect(self, address: str) -> Iterator[None]:
        with connections.create_secure_channel_and_connect(address) as self.connection:
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
    """Whoever joins says nothing of how."""

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


def test_our_text_of_the_protocol_is_theirs_on_the_wire(tmp_path: Path) -> None:
    subprocess.run([find_binary(), "proto", "--out", tmp_path], check=True, capture_output=True)
    ours = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "boardwire.v1.binpb").read_bytes())
    theirs = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(theirs)
    (own,) = (file for file in ours.file if file.name == theirs.name)
    for file in (own, theirs):
        file.message_type.sort(key=lambda message: message.name)
        file.enum_type.sort(key=lambda enum: enum.name)
        for text in [field for message in file.message_type for field in _fields(message)]:
            text.ClearField("json_name")
        for method in file.service[0].method:
            method.ClearField("options")
    assert own == theirs


def _fields(message: Any) -> Iterator[Any]:
    """All fields of a message and of those within it."""
    yield from message.field
    for inner in message.nested_type:
        yield from _fields(inner)


@pytest.fixture
def connection(address: str) -> Iterator[Any]:
    """A connection of its own."""
    with connections.create_secure_channel_and_connect(address) as connection:
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
    with pytest.raises(error.DmEnvRpcError, match="option `variant` is ") as caught:
        create(connection, {"game": "faraway", "options": {"variant": "wild"}})
    assert _status.error_info(caught.value)[0] == "OPTION_VALUE_INVALID"


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
    with pytest.raises(error.DmEnvRpcError, match="its mask shows what it may"):
        env.step(illegal)
    legal = {"action": int(shown.observation["action_mask"].argmax())}
    assert env.step(legal).observation["substituted"] == 0
    env.close()
    env, _ = make(connection, {"game": "faraway", "seed": 7, "illegal_actions": "forfeit"}, {})
    env.reset()
    end = env.step(illegal)
    assert (end.last(), end.reward, end.discount) == (True, -1.0, 0.0)
