"""Board games served over gRPC to learning agents.

`connect` gives a `Client`; a client describes games and creates or joins matches; a `Seat` observes, acts
and resets. With Gymnasium installed, importing this package registers `boardwire/<Game>-v<version>` for every
game that the installed server serves.
"""

from importlib.metadata import version as _version

from . import _registration
from ._client import CALL_SECONDS, Client, Match, connect
from ._errors import (
    AccessDenied,
    ActionOutOfRange,
    BoardwireError,
    CallTimeout,
    ConnectionLost,
    EpisodeNotOver,
    EpisodeOver,
    HostOnly,
    IllegalAction,
    InvalidField,
    InvalidOption,
    InvalidRequest,
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
    ServerShuttingDown,
    StaleDecision,
    StartError,
    UnknownBot,
    UnknownGame,
    UnknownInvitation,
    UnknownMatch,
    UnknownOption,
    WrongToken,
)
from ._features import FeatureLayout
from ._seat import WAIT_SECONDS, Seat
from ._spec import Field, FieldKind, Game, GameSpec, Option, Table
from ._types import (
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
    "WAIT_SECONDS",
    "AccessDenied",
    "ActionOutOfRange",
    "BoardwireError",
    "CallTimeout",
    "Client",
    "ConnectionLost",
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
    "ServerFault",
    "ServerShuttingDown",
    "StaleDecision",
    "StartError",
    "Table",
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
