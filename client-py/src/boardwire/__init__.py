"""Board games served over gRPC to learning agents.

`connect` returns a `Client`, which describes games and creates or joins matches. A `Seat` observes, acts and
resets. A `Batch` steps many environments in one call. A `Search` looks ahead. A failure raises a
`BoardwireError`; its subclasses are in `boardwire.errors`. If Gymnasium is installed, importing this package
registers `boardwire/<Game>-v<version>` for every game of the server in this package, and `boardwire/Game-v0`
for the games of other servers.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import Any as _Any

from . import _registration, aio, errors
from ._access import TLS, Address, Pem
from ._action_values import ActionValueCollector, ActionValues, collect_ahead
from ._batch import Batch, BatchPart
from ._client import CALL_SECONDS, Client, connect
from ._evaluation import Evaluation, Versus, evaluate, versus
from ._features import Entities, EntityLayout, FeatureLayout
from ._fields import Axis, AxisOrder, Column, ComponentTable, ValueKind, ViewField
from ._info import (
    BotParameter,
    BotSpec,
    Clock,
    CloseReason,
    FairDeal,
    Invitation,
    Limits,
    MatchInfo,
    MatchState,
    PolicySpec,
    SeedOpening,
    ServerInfo,
)
from ._match import Match
from ._record import record, record_arena
from ._recording import Recording, RecordingFacts, Steps
from ._registration import register
from ._replay import ActionCause, Frame, PlayedAction, Replay
from ._rollouts import Decisions, League, Learner, Policy, Rollout, Rollouts, advantages
from ._search import Search
from ._seat import WAIT_SECONDS, Seat
from ._self_play import SelfPlay, Turn
from ._shared import shared_client
from ._spec import ActionSpec, GameOption, GameSpec, Rules
from ._types import (
    NOBODY,
    Autoreset,
    BatchColumn,
    BatchStep,
    ClockReading,
    Forfeit,
    IllegalActions,
    LegalAction,
    Observation,
    Outcome,
    Reward,
    ScoreLine,
)
from .errors import BoardwireError

__version__ = _version("boardwire")

__all__ = [
    "CALL_SECONDS",
    "NOBODY",
    "TLS",
    "WAIT_SECONDS",
    "ActionCause",
    "ActionSpec",
    "ActionValueCollector",
    "ActionValues",
    "Address",
    "Autoreset",
    "Axis",
    "AxisOrder",
    "Batch",
    "BatchColumn",
    "BatchPart",
    "BatchStep",
    "BoardwireError",
    "BotParameter",
    "BotSpec",
    "Client",
    "Clock",
    "ClockReading",
    "CloseReason",
    "Column",
    "ComponentTable",
    "Decisions",
    "Entities",
    "EntityLayout",
    "Evaluation",
    "FairDeal",
    "FeatureLayout",
    "Forfeit",
    "Frame",
    "GameOption",
    "GameSpec",
    "IllegalActions",
    "Invitation",
    "League",
    "Learner",
    "LegalAction",
    "Limits",
    "Match",
    "MatchInfo",
    "MatchState",
    "Observation",
    "Outcome",
    "Pem",
    "PlayedAction",
    "Policy",
    "PolicySpec",
    "Recording",
    "RecordingFacts",
    "Replay",
    "Reward",
    "Rollout",
    "Rollouts",
    "Rules",
    "ScoreLine",
    "Search",
    "Seat",
    "SeedOpening",
    "SelfPlay",
    "ServerInfo",
    "Steps",
    "Turn",
    "ValueKind",
    "Versus",
    "ViewField",
    "__version__",
    "advantages",
    "aio",
    "collect_ahead",
    "connect",
    "errors",
    "evaluate",
    "record",
    "record_arena",
    "register",
    "shared_client",
    "versus",
]


def __getattr__(name: str) -> _Any:
    """Imports `boardwire.envs` when it is first used, because it needs Gymnasium."""
    if name == "envs":
        return _import_module("boardwire.envs")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_registration.register_installed()
