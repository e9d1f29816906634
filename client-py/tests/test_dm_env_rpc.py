"""The server's `dm_env_rpc.v1`, by the tests that its authors publish for servers and for environments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import dm_env
import pytest
from absl.testing import absltest
from dm_env import test_utils
from dm_env_rpc.v1 import compliance, dm_env_adaptor, tensor_utils
from dm_env_rpc.v1 import connection as connections
from dm_env_rpc.v1 import dm_env_rpc_pb2 as pb
from tables import IDS

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
