"""Board games served over gRPC to learning agents.

`connect` gives a `Client`; a client describes games and creates or joins matches; a `Seat` observes, acts
and resets; a `Batch` steps many environments at once. With Gymnasium installed, importing this package
registers `boardwire/<Game>-v<version>` for every game that the installed server serves.
"""

from importlib.metadata import version as _version

from . import _registration
from ._batch import Batch
from ._client import CALL_SECONDS, Client, connect
from ._errors import (
    AccessDenied,
    ActionOutOfRange,
    BatchActionIllegal,
    BatchActionOutOfRange,
    BatchesFull,
    BatchOwnerOnly,
    BoardwireError,
    CallTimeout,
    ConnectionLost,
    EnvironmentOver,
    EnvironmentsFull,
    EpisodeNotOver,
    EpisodeOver,
    HostOnly,
    IllegalAction,
    InvalidField,
    InvalidOption,
    InvalidRequest,
    InvalidSnapshot,
    InvitationUsed,
    MatchClosed,
    MatchesFull,
    MissingToken,
    NotFound,
    NotPossibleNow,
    NotYourTurn,
    SeatOnly,
    SeatsOutOfRange,
    ServerFault,
    ServerFull,
    ServerShuttingDown,
    StaleDecision,
    StartError,
    UnknownBatch,
    UnknownBot,
    UnknownGame,
    UnknownInvitation,
    UnknownMatch,
    UnknownOption,
    WrongToken,
)
from ._features import FeatureLayout
from ._match import Match
from ._part import BatchPart
from ._seat import WAIT_SECONDS, Seat
from ._self_play import SelfPlay, Turn
from ._spec import Field, FieldKind, Game, GameSpec, Option, Table
from ._types import (
    NOBODY,
    Autoreset,
    BatchStep,
    IllegalActions,
    Invitation,
    MatchInfo,
    Observation,
    Outcome,
    Reward,
    ScoreLine,
    Seed,
)

__version__ = _version("boardwire")

__all__ = [
    "CALL_SECONDS",
    "NOBODY",
    "WAIT_SECONDS",
    "AccessDenied",
    "ActionOutOfRange",
    "Autoreset",
    "Batch",
    "BatchActionIllegal",
    "BatchActionOutOfRange",
    "BatchOwnerOnly",
    "BatchPart",
    "BatchStep",
    "BatchesFull",
    "BoardwireError",
    "CallTimeout",
    "Client",
    "ConnectionLost",
    "EnvironmentOver",
    "EnvironmentsFull",
    "EpisodeNotOver",
    "EpisodeOver",
    "FeatureLayout",
    "Field",
    "FieldKind",
    "Game",
    "GameSpec",
    "HostOnly",
    "IllegalAction",
    "IllegalActions",
    "InvalidField",
    "InvalidOption",
    "InvalidRequest",
    "InvalidSnapshot",
    "Invitation",
    "InvitationUsed",
    "Match",
    "MatchClosed",
    "MatchInfo",
    "MatchesFull",
    "MissingToken",
    "NotFound",
    "NotPossibleNow",
    "NotYourTurn",
    "Observation",
    "Option",
    "Outcome",
    "Reward",
    "ScoreLine",
    "Seat",
    "SeatOnly",
    "SeatsOutOfRange",
    "Seed",
    "SelfPlay",
    "ServerFault",
    "ServerFull",
    "ServerShuttingDown",
    "StaleDecision",
    "StartError",
    "Table",
    "Turn",
    "UnknownBatch",
    "UnknownBot",
    "UnknownGame",
    "UnknownInvitation",
    "UnknownMatch",
    "UnknownOption",
    "WrongToken",
    "__version__",
    "connect",
]

_registration.register_installed()
