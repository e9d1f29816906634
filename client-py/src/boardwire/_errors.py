"""What can go wrong, as one tree.

BoardwireError                      .code, .reason, .metadata
├── StartError                      the private server was not found or did not start
├── ConnectionLost                  UNAVAILABLE: nobody answers, or no longer
│   └── ServerShuttingDown            SHUTTING_DOWN
├── CallTimeout                     DEADLINE_EXCEEDED: TIMED_OUT
├── InvalidRequest                  INVALID_ARGUMENT
│   ├── SeatsOutOfRange               SEATS_OUT_OF_RANGE
│   ├── UnknownOption                 OPTION_UNKNOWN
│   ├── InvalidOption                 OPTION_VALUE_INVALID
│   ├── UnknownBot                    BOT_UNKNOWN
│   ├── InvalidField                  FIELD_INVALID
│   ├── ActionOutOfRange              ACTION_OUT_OF_RANGE
│   │   └── BatchActionOutOfRange       BATCH_ACTION_OUT_OF_RANGE
│   ├── InvalidSnapshot               SNAPSHOT_INVALID
│   ├── UndecodableMessage            INTERNAL: MESSAGE_UNDECODABLE
│   ├── MissingMessage                INTERNAL: MESSAGE_MISSING
│   └── MessageTooLarge               RESOURCE_EXHAUSTED: MESSAGE_TOO_LARGE
├── NotServed                       UNIMPLEMENTED
│   ├── UnknownService                SERVICE_UNKNOWN
│   ├── UnknownMethod                 METHOD_UNKNOWN
│   └── UnsupportedCompression        COMPRESSION_UNSUPPORTED
├── NotFound                        NOT_FOUND
│   ├── UnknownGame                   GAME_UNKNOWN
│   ├── UnknownMatch                  MATCH_UNKNOWN
│   ├── UnknownInvitation             INVITATION_UNKNOWN
│   ├── UnknownBatch                  BATCH_UNKNOWN
│   ├── UnknownHealth                 HEALTH_UNKNOWN
│   └── UnknownDescriptor             DESCRIPTOR_UNKNOWN
├── AccessDenied                    UNAUTHENTICATED, PERMISSION_DENIED
│   ├── MissingToken                  TOKEN_MISSING
│   ├── TokenTooLong                  TOKEN_TOO_LONG
│   ├── WrongToken                    TOKEN_WRONG
│   ├── UnknownToken                  TOKEN_UNKNOWN
│   ├── HostOnly                      HOST_ONLY
│   ├── SeatOnly                      SEAT_ONLY
│   └── BatchOwnerOnly                BATCH_OWNER_ONLY
├── NotPossibleNow                  FAILED_PRECONDITION
│   ├── InvitationUsed                INVITATION_USED
│   ├── NotYourTurn                   NOT_YOUR_TURN
│   ├── IllegalAction                 ACTION_ILLEGAL
│   │   └── BatchActionIllegal          BATCH_ACTION_ILLEGAL
│   ├── EpisodeOver                   EPISODE_OVER
│   │   └── EnvironmentOver             ENVIRONMENT_OVER
│   ├── EpisodeNotOver                EPISODE_NOT_OVER
│   └── MatchClosed                   MATCH_CLOSED
│       └── MatchExpired                MATCH_EXPIRED
├── StaleDecision                   ABORTED: DECISION_STALE
├── RequestReused                   ALREADY_EXISTS: REQUEST_ID_REUSED
├── ServerFull                      RESOURCE_EXHAUSTED
│   ├── MatchesFull                   MATCHES_FULL
│   ├── BatchesFull                   BATCHES_FULL
│   ├── EnvironmentsFull              ENVIRONMENTS_FULL
│   ├── CallerFull                    CALLER_FULL
│   ├── SeatBusy                      SEAT_BUSY
│   ├── BytesFull                     BYTES_FULL
│   ├── CallsFull                     CALLS_FULL
│   ├── StreamsFull                   STREAMS_FULL
│   └── RateExceeded                  RATE_EXCEEDED
└── ServerFault                     INTERNAL, and whatever has no place above
    └── BotFailed                     BOT_FAILED
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar


class BoardwireError(Exception):
    """Anything that went wrong between this process and a Boardwire server.

    Attributes:
        code: The gRPC status code, such as `NOT_FOUND`.
        reason: The server's reason, such as `GAME_UNKNOWN`; empty when it gave none.
        metadata: Each value that the message mentions, by name.
    """

    CODES: ClassVar[tuple[str, ...]] = ()
    REASON: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        reason: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Takes code and reason from the class where they are left out."""
        super().__init__(message)
        self.code = code if code is not None else next(iter(self.CODES), "")
        self.reason = self.REASON if reason is None else reason
        self.metadata = dict(metadata or {})

    @property
    def message(self) -> str:
        """What was wrong, where, and what would be right."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        """Crosses process borders whole, as workers hand their errors to a trainer."""
        return _rebuild, (type(self), self.message, self.code, self.reason, self.metadata)


class StartError(BoardwireError):
    """The private server was not found, or did not start."""


class ConnectionLost(BoardwireError):
    """Nobody answers at the address, or no longer."""

    CODES = ("UNAVAILABLE",)


class ServerShuttingDown(ConnectionLost):
    """The server is going down and takes nothing new."""

    REASON = "SHUTTING_DOWN"


class CallTimeout(BoardwireError):
    """No answer came within the call's timeout. Every call may be repeated."""

    CODES = ("DEADLINE_EXCEEDED",)
    REASON = "TIMED_OUT"


class InvalidRequest(BoardwireError):
    """The request can never be right."""

    CODES = ("INVALID_ARGUMENT",)


class SeatsOutOfRange(InvalidRequest):
    """The game is not played by that many."""

    REASON = "SEATS_OUT_OF_RANGE"


class UnknownOption(InvalidRequest):
    """The game has no such option."""

    REASON = "OPTION_UNKNOWN"


class InvalidOption(InvalidRequest):
    """The option does not take that value."""

    REASON = "OPTION_VALUE_INVALID"


class UnknownBot(InvalidRequest):
    """No such bot can be seated."""

    REASON = "BOT_UNKNOWN"


class InvalidField(InvalidRequest):
    """A field of the request cannot have that value."""

    REASON = "FIELD_INVALID"


class ActionOutOfRange(InvalidRequest):
    """The game has no action with that index."""

    REASON = "ACTION_OUT_OF_RANGE"


class BatchActionOutOfRange(ActionOutOfRange):
    """The game has no action with the index that an environment of a batch was given."""

    REASON = "BATCH_ACTION_OUT_OF_RANGE"


class InvalidSnapshot(InvalidRequest):
    """The snapshot was altered, or is of another server, table or number of environments."""

    REASON = "SNAPSHOT_INVALID"


class UndecodableMessage(InvalidRequest):
    """The bytes of the request are not a message of its type."""

    CODES = ("INTERNAL",)
    REASON = "MESSAGE_UNDECODABLE"


class MissingMessage(InvalidRequest):
    """The call ended before its message."""

    CODES = ("INTERNAL",)
    REASON = "MESSAGE_MISSING"


class MessageTooLarge(InvalidRequest):
    """The message is larger than the method takes."""

    CODES = ("RESOURCE_EXHAUSTED",)
    REASON = "MESSAGE_TOO_LARGE"


class NotServed(BoardwireError):
    """The server does not know the method, or not this way of calling it."""

    CODES = ("UNIMPLEMENTED",)


class UnknownService(NotServed):
    """The server has no such service."""

    REASON = "SERVICE_UNKNOWN"


class UnknownMethod(NotServed):
    """The service has no such method: the server is older than the client."""

    REASON = "METHOD_UNKNOWN"


class UnsupportedCompression(NotServed):
    """The server does not take compressed messages."""

    REASON = "COMPRESSION_UNSUPPORTED"


class NotFound(BoardwireError):
    """What the request names does not exist."""

    CODES = ("NOT_FOUND",)


class UnknownGame(NotFound):
    """The game is not served."""

    REASON = "GAME_UNKNOWN"


class UnknownMatch(NotFound):
    """There is no such match, or no longer."""

    REASON = "MATCH_UNKNOWN"


class UnknownInvitation(NotFound):
    """The invitation was never given."""

    REASON = "INVITATION_UNKNOWN"


class UnknownBatch(NotFound):
    """There is no such batch, or no longer: it was closed, lost its connection, or was idle too long."""

    REASON = "BATCH_UNKNOWN"


class UnknownHealth(NotFound):
    """The server has no service whose health could be told."""

    REASON = "HEALTH_UNKNOWN"


class UnknownDescriptor(NotFound):
    """Reflection finds no such symbol or file."""

    REASON = "DESCRIPTOR_UNKNOWN"


class AccessDenied(BoardwireError):
    """The token does not allow this."""

    CODES: ClassVar[tuple[str, ...]] = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class MissingToken(AccessDenied):
    """The call needs a token."""

    CODES = ("UNAUTHENTICATED",)
    REASON = "TOKEN_MISSING"


class TokenTooLong(AccessDenied):
    """The token is longer than any that was given."""

    CODES = ("UNAUTHENTICATED",)
    REASON = "TOKEN_TOO_LONG"


class WrongToken(AccessDenied):
    """The token is not of this match."""

    CODES = ("PERMISSION_DENIED",)
    REASON = "TOKEN_WRONG"


class UnknownToken(AccessDenied):
    """The token belongs to nobody: what it was for may have been closed."""

    CODES = ("PERMISSION_DENIED",)
    REASON = "TOKEN_UNKNOWN"


class HostOnly(AccessDenied):
    """Only the host may do this."""

    CODES = ("PERMISSION_DENIED",)
    REASON = "HOST_ONLY"


class SeatOnly(AccessDenied):
    """Only a seat may do this."""

    CODES = ("PERMISSION_DENIED",)
    REASON = "SEAT_ONLY"


class BatchOwnerOnly(AccessDenied):
    """The token is not of the batch's owner."""

    CODES = ("PERMISSION_DENIED",)
    REASON = "BATCH_OWNER_ONLY"


class NotPossibleNow(BoardwireError):
    """The match does not stand so that this is possible."""

    CODES = ("FAILED_PRECONDITION",)


class InvitationUsed(NotPossibleNow):
    """Somebody has joined with this invitation."""

    REASON = "INVITATION_USED"


class NotYourTurn(NotPossibleNow):
    """The seat owes no decision."""

    REASON = "NOT_YOUR_TURN"


class IllegalAction(NotPossibleNow):
    """The action exists but is not legal now."""

    REASON = "ACTION_ILLEGAL"


class BatchActionIllegal(IllegalAction):
    """The action exists but is not legal now in an environment of a batch; none was stepped."""

    REASON = "BATCH_ACTION_ILLEGAL"


class EpisodeOver(NotPossibleNow):
    """The episode has ended; a reset begins the next."""

    REASON = "EPISODE_OVER"


class EnvironmentOver(EpisodeOver):
    """The episode of an environment of a batch has ended; none was stepped, a reset begins the next."""

    REASON = "ENVIRONMENT_OVER"


class EpisodeNotOver(NotPossibleNow):
    """The episode has not ended, and the caller may not cut it short."""

    REASON = "EPISODE_NOT_OVER"


class MatchClosed(NotPossibleNow):
    """The match has been closed."""

    REASON = "MATCH_CLOSED"


class MatchExpired(MatchClosed):
    """Nobody has used the match for so long that it was closed."""

    REASON = "MATCH_EXPIRED"


class StaleDecision(BoardwireError):
    """The decision answered is not the one due: observe again."""

    CODES = ("ABORTED",)
    REASON = "DECISION_STALE"


class RequestReused(BoardwireError):
    """The request's id has been used for another request."""

    CODES = ("ALREADY_EXISTS",)
    REASON = "REQUEST_ID_REUSED"


class ServerFull(BoardwireError):
    """The server holds as much as it may."""

    CODES = ("RESOURCE_EXHAUSTED",)


class MatchesFull(ServerFull):
    """The server holds as many matches as it may."""

    REASON = "MATCHES_FULL"


class BatchesFull(ServerFull):
    """The server holds as many batches as it may."""

    REASON = "BATCHES_FULL"


class EnvironmentsFull(ServerFull):
    """The environments asked for do not fit beside those that the server holds."""

    REASON = "ENVIRONMENTS_FULL"


class CallerFull(ServerFull):
    """The caller holds as much as one caller may."""

    REASON = "CALLER_FULL"


class SeatBusy(ServerFull):
    """The seat has as many calls waiting as it may."""

    REASON = "SEAT_BUSY"


class BytesFull(ServerFull):
    """Answers that nobody has read, or messages under way, take as many bytes as they may."""

    REASON = "BYTES_FULL"


class CallsFull(ServerFull):
    """As many calls are under way as may be: try again."""

    REASON = "CALLS_FULL"


class StreamsFull(ServerFull):
    """As many streams are open as may be."""

    REASON = "STREAMS_FULL"


class RateExceeded(ServerFull):
    """The caller calls more often than it may."""

    REASON = "RATE_EXCEEDED"


class ServerFault(BoardwireError):
    """The server broke a promise of its own, or answered with something this client does not know."""

    CODES = ("INTERNAL",)
    REASON = "INTERNAL"


class BotFailed(ServerFault):
    """A bot of the match did not choose, or chose what may not be chosen; the match has ended with it."""

    REASON = "BOT_FAILED"


def error(code: str, reason: str, message: str, metadata: Mapping[str, str] | None = None) -> BoardwireError:
    """The error for a status: the class of its reason, else that of its code, else `ServerFault`."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ServerFault)
    return kind(message, code=code, reason=reason, metadata=metadata)


def _rebuild(
    kind: type[BoardwireError], message: str, code: str, reason: str, metadata: Mapping[str, str]
) -> BoardwireError:
    return kind(message, code=code, reason=reason, metadata=metadata)


def _tree(root: type[BoardwireError]) -> Iterator[type[BoardwireError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)


_BY_REASON = {kind.REASON: kind for kind in _tree(BoardwireError) if kind.REASON}
_BY_CODE = {code: kind for kind in BoardwireError.__subclasses__() for code in kind.CODES}
