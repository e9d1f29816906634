"""What can go wrong, as one tree; `boardwire.BoardwireError` is its root.

```text
BoardwireError                      .code, .reason, .metadata
├── StartError                      the private server was not found or did not start
├── ConnectionLost                  UNAVAILABLE: nobody answers, or no longer
│   └── ServerShuttingDown            SHUTTING_DOWN
├── JournalFailed                   UNAVAILABLE: JOURNAL_FAILED
├── CallTimeout                     DEADLINE_EXCEEDED: TIMED_OUT
├── InvalidRequest                  INVALID_ARGUMENT
│   ├── SeatsOutOfRange               SEATS_OUT_OF_RANGE
│   ├── UnknownOption                 OPTION_UNKNOWN
│   ├── InvalidOption                 OPTION_VALUE_INVALID
│   ├── UnknownBot                    BOT_UNKNOWN
│   ├── InvalidField                  FIELD_INVALID
│   ├── ActionOutOfRange              ACTION_OUT_OF_RANGE
│   │   ├── BatchActionOutOfRange       BATCH_ACTION_OUT_OF_RANGE
│   │   └── WorldActionOutOfRange       WORLD_ACTION_OUT_OF_RANGE
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
│   ├── FramesGone                    FRAMES_GONE
│   ├── UnknownBatch                  BATCH_UNKNOWN
│   ├── UnknownSearch                 SEARCH_UNKNOWN
│   ├── UnknownHealth                 HEALTH_UNKNOWN
│   └── UnknownDescriptor             DESCRIPTOR_UNKNOWN
├── AccessDenied                    UNAUTHENTICATED, PERMISSION_DENIED
│   ├── MissingToken                  TOKEN_MISSING
│   ├── TokenTooLong                  TOKEN_TOO_LONG
│   ├── MissingCallerToken            CALLER_TOKEN_MISSING
│   ├── WrongCallerToken              CALLER_TOKEN_WRONG
│   ├── WrongToken                    TOKEN_WRONG
│   ├── HostOnly                      HOST_ONLY
│   ├── SeatOnly                      SEAT_ONLY
│   ├── BatchOwnerOnly                BATCH_OWNER_ONLY
│   └── SearchOwnerOnly               SEARCH_OWNER_ONLY
├── NotPossibleNow                  FAILED_PRECONDITION
│   ├── InvitationUsed                INVITATION_USED
│   ├── NotYourTurn                   NOT_YOUR_TURN
│   ├── IllegalAction                 ACTION_ILLEGAL
│   │   ├── BatchActionIllegal          BATCH_ACTION_ILLEGAL
│   │   └── WorldActionIllegal          WORLD_ACTION_ILLEGAL
│   ├── EpisodeOver                   EPISODE_OVER
│   │   ├── EnvironmentOver             ENVIRONMENT_OVER
│   │   └── WorldOver                   WORLD_OVER
│   ├── EpisodeNotOver                EPISODE_NOT_OVER
│   ├── NotDealt                      NOT_DEALT
│   ├── DealWithheld                  DEAL_WITHHELD
│   └── MatchClosed                   MATCH_CLOSED
│       └── MatchExpired                MATCH_EXPIRED
├── StaleRequest                    ABORTED
│   ├── StaleDecision                 DECISION_STALE
│   │   └── LateDecision                DECISION_LATE
│   └── StaleSequence                 SEQUENCE_STALE
├── RequestReused                   ALREADY_EXISTS: REQUEST_ID_REUSED
├── ServerFull                      RESOURCE_EXHAUSTED
│   ├── MatchesFull                   MATCHES_FULL
│   ├── BatchesFull                   BATCHES_FULL
│   ├── EnvironmentsFull              ENVIRONMENTS_FULL
│   ├── CallerFull                    CALLER_FULL
│   ├── SeatBusy                      SEAT_BUSY
│   ├── BytesFull                     BYTES_FULL
│   └── RateExceeded                  RATE_EXCEEDED
└── ServerFault                     INTERNAL, and whatever has no place above
    └── BotFailed                     BOT_FAILED
```
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class BoardwireError(Exception):
    """Anything that went wrong between this process and a Boardwire server.

    Attributes:
        code: The gRPC status code, such as `NOT_FOUND`.
        reason: The server's reason, such as `GAME_UNKNOWN`; empty when it gave none.
        metadata: Each value that the message mentions, by name.
    """

    #: The status codes that errors of this class come with, the usual one first.
    CODES: ClassVar[tuple[str, ...]] = ()
    #: The reason that this class stands for; empty for those that stand for a code.
    REASON: ClassVar[str] = ""

    def __init_subclass__(cls, *, reason: str = "", codes: tuple[str, ...] = ()) -> None:
        """Notes what the class stands for; without codes those of its base."""
        super().__init_subclass__()
        cls.REASON = reason
        cls.CODES = codes or cls.CODES

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


def _rebuild(
    kind: type[BoardwireError], message: str, code: str, reason: str, metadata: Mapping[str, str]
) -> BoardwireError:
    return kind(message, code=code, reason=reason, metadata=metadata)


class StartError(BoardwireError):
    """The private server was not found, or did not start."""


class ConnectionLost(BoardwireError, codes=("UNAVAILABLE",)):
    """Nobody answers at the address, or no longer."""


class ServerShuttingDown(ConnectionLost, reason="SHUTTING_DOWN"):
    """The server is going down and takes nothing new."""


class JournalFailed(BoardwireError, reason="JOURNAL_FAILED", codes=("UNAVAILABLE",)):
    """The server cannot keep what happens, so that nothing happens. Every call may be repeated later."""


class CallTimeout(BoardwireError, reason="TIMED_OUT", codes=("DEADLINE_EXCEEDED",)):
    """No answer came within the call's timeout.

    Every call may be repeated, but for a step of a batch opened without `keep`: a reset goes on with it.
    """


class InvalidRequest(BoardwireError, codes=("INVALID_ARGUMENT",)):
    """The request can never be right."""


class SeatsOutOfRange(InvalidRequest, reason="SEATS_OUT_OF_RANGE"):
    """The game is not played by that many."""


class UnknownOption(InvalidRequest, reason="OPTION_UNKNOWN"):
    """The game has no such option."""


class InvalidOption(InvalidRequest, reason="OPTION_VALUE_INVALID"):
    """The option does not take that value."""


class UnknownBot(InvalidRequest, reason="BOT_UNKNOWN"):
    """No such bot can be seated."""


class InvalidField(InvalidRequest, reason="FIELD_INVALID"):
    """A field of the request cannot have that value."""


class ActionOutOfRange(InvalidRequest, reason="ACTION_OUT_OF_RANGE"):
    """The game has no action with that index."""


class BatchActionOutOfRange(ActionOutOfRange, reason="BATCH_ACTION_OUT_OF_RANGE"):
    """The game has no action with the index that an environment of a batch was given."""


class WorldActionOutOfRange(ActionOutOfRange, reason="WORLD_ACTION_OUT_OF_RANGE"):
    """The game has no action with the index that a world of a search was given."""


class InvalidSnapshot(InvalidRequest, reason="SNAPSHOT_INVALID"):
    """The snapshot was altered, or is of another server, table or number of environments."""


class UndecodableMessage(InvalidRequest, reason="MESSAGE_UNDECODABLE", codes=("INTERNAL",)):
    """The bytes of the request are not a message of its type."""


class MissingMessage(InvalidRequest, reason="MESSAGE_MISSING", codes=("INTERNAL",)):
    """The call ended before its message."""


class MessageTooLarge(InvalidRequest, reason="MESSAGE_TOO_LARGE", codes=("RESOURCE_EXHAUSTED",)):
    """The message is larger than the method takes."""


class NotServed(BoardwireError, codes=("UNIMPLEMENTED",)):
    """The server does not know the method, or not this way of calling it."""


class UnknownService(NotServed, reason="SERVICE_UNKNOWN"):
    """The server has no such service."""


class UnknownMethod(NotServed, reason="METHOD_UNKNOWN"):
    """The service has no such method: the server is older than the client."""


class UnsupportedCompression(NotServed, reason="COMPRESSION_UNSUPPORTED"):
    """The server does not take compressed messages."""


class NotFound(BoardwireError, codes=("NOT_FOUND",)):
    """What the request names does not exist."""


class UnknownGame(NotFound, reason="GAME_UNKNOWN"):
    """The game is not served."""


class UnknownMatch(NotFound, reason="MATCH_UNKNOWN"):
    """There is no such match, or no longer."""


class UnknownInvitation(NotFound, reason="INVITATION_UNKNOWN"):
    """The invitation was never given."""


class FramesGone(NotFound, reason="FRAMES_GONE"):
    """The frames asked for are not kept any more."""


class UnknownBatch(NotFound, reason="BATCH_UNKNOWN"):
    """There is no such batch, or no longer: it was closed, lost its connection, or was idle too long."""


class UnknownSearch(NotFound, reason="SEARCH_UNKNOWN"):
    """There is no such search, or no longer: it was released, lost its connection, or was idle too long."""


class UnknownHealth(NotFound, reason="HEALTH_UNKNOWN"):
    """The server has no service whose health could be told."""


class UnknownDescriptor(NotFound, reason="DESCRIPTOR_UNKNOWN"):
    """Reflection finds no such symbol or file."""


class AccessDenied(BoardwireError, codes=("UNAUTHENTICATED", "PERMISSION_DENIED")):
    """The token does not allow this."""


class MissingToken(AccessDenied, reason="TOKEN_MISSING", codes=("UNAUTHENTICATED",)):
    """The call needs a token."""


class TokenTooLong(AccessDenied, reason="TOKEN_TOO_LONG", codes=("UNAUTHENTICATED",)):
    """The token is longer than any that was given."""


class MissingCallerToken(AccessDenied, reason="CALLER_TOKEN_MISSING", codes=("UNAUTHENTICATED",)):
    """The server serves accounts alone: connect with the token of one."""


class WrongCallerToken(AccessDenied, reason="CALLER_TOKEN_WRONG", codes=("UNAUTHENTICATED",)):
    """The token that the client was connected with is that of no account, or no longer."""


class WrongToken(AccessDenied, reason="TOKEN_WRONG", codes=("PERMISSION_DENIED",)):
    """The token is not of this match."""


class HostOnly(AccessDenied, reason="HOST_ONLY", codes=("PERMISSION_DENIED",)):
    """Only the host may do this."""


class SeatOnly(AccessDenied, reason="SEAT_ONLY", codes=("PERMISSION_DENIED",)):
    """Only a seat may do this."""


class BatchOwnerOnly(AccessDenied, reason="BATCH_OWNER_ONLY", codes=("PERMISSION_DENIED",)):
    """The token is not of the batch's owner."""


class SearchOwnerOnly(AccessDenied, reason="SEARCH_OWNER_ONLY", codes=("PERMISSION_DENIED",)):
    """The token is not the one with which the search was begun."""


class NotPossibleNow(BoardwireError, codes=("FAILED_PRECONDITION",)):
    """The match does not stand so that this is possible."""


class InvitationUsed(NotPossibleNow, reason="INVITATION_USED"):
    """Somebody has joined with this invitation."""


class NotYourTurn(NotPossibleNow, reason="NOT_YOUR_TURN"):
    """The seat owes no decision."""


class IllegalAction(NotPossibleNow, reason="ACTION_ILLEGAL"):
    """The action exists but is not legal now."""


class BatchActionIllegal(IllegalAction, reason="BATCH_ACTION_ILLEGAL"):
    """The action exists but is not legal now in an environment of a batch; none was stepped."""


class WorldActionIllegal(IllegalAction, reason="WORLD_ACTION_ILLEGAL"):
    """The action exists but is not legal now in a world of a search; none was played."""


class EpisodeOver(NotPossibleNow, reason="EPISODE_OVER"):
    """The episode has ended; a reset begins the next."""


class EnvironmentOver(EpisodeOver, reason="ENVIRONMENT_OVER"):
    """The episode of an environment of a batch has ended; none was stepped, a reset begins the next."""


class WorldOver(EpisodeOver, reason="WORLD_OVER"):
    """A world of a search has ended; none was played."""


class EpisodeNotOver(NotPossibleNow, reason="EPISODE_NOT_OVER"):
    """The episode has not ended, and the caller may not cut it short."""


class NotDealt(NotPossibleNow, reason="NOT_DEALT"):
    """Nothing has been dealt: some seats have yet to join, or to `open` what they contribute to the deal."""


class DealWithheld(NotPossibleNow, reason="DEAL_WITHHELD"):
    """The match has ended: some seats have forfeited it, which did not open what they had contributed."""


class MatchClosed(NotPossibleNow, reason="MATCH_CLOSED"):
    """The match has been closed."""


class MatchExpired(MatchClosed, reason="MATCH_EXPIRED"):
    """Nobody has used the match for so long that it was closed."""


class StaleRequest(BoardwireError, codes=("ABORTED",)):
    """The request answers what is no longer due, or not yet."""


class StaleDecision(StaleRequest, reason="DECISION_STALE"):
    """The decision answered is not the one due: observe again."""


class LateDecision(StaleDecision, reason="DECISION_LATE"):
    """The seat's time had run out, and the decision has been made for it: observe again."""


class StaleSequence(StaleRequest, reason="SEQUENCE_STALE"):
    """The step or reset is not the one that follows: somebody else has stepped the batch, with its token."""


class RequestReused(BoardwireError, reason="REQUEST_ID_REUSED", codes=("ALREADY_EXISTS",)):
    """The request's id has been used for another request."""


class ServerFull(BoardwireError, codes=("RESOURCE_EXHAUSTED",)):
    """The server holds as much as it may."""


class MatchesFull(ServerFull, reason="MATCHES_FULL"):
    """The server holds as many matches as it may."""


class BatchesFull(ServerFull, reason="BATCHES_FULL"):
    """The server holds as many batches as it may."""


class EnvironmentsFull(ServerFull, reason="ENVIRONMENTS_FULL"):
    """The environments asked for do not fit beside those that the server holds."""


class CallerFull(ServerFull, reason="CALLER_FULL"):
    """The caller holds as much as one caller may."""


class SeatBusy(ServerFull, reason="SEAT_BUSY"):
    """The seat has as many calls waiting as it may."""


class BytesFull(ServerFull, reason="BYTES_FULL"):
    """Calls under way and answers that nobody has read take as many bytes as they may: try again."""


class RateExceeded(ServerFull, reason="RATE_EXCEEDED"):
    """The caller calls more often than it may."""


class ServerFault(BoardwireError, reason="INTERNAL", codes=("INTERNAL",)):
    """The server broke a promise of its own, or answered with something this client does not know."""


class BotFailed(ServerFault, reason="BOT_FAILED"):
    """A bot did not choose, or chose what may not be chosen.

    Its match has ended with it; its batch stays as it was.
    """


#: What says that a match or batch, or its whole server, is there no longer: nothing is left to close.
GONE = (
    ConnectionLost,
    UnknownMatch,
    MatchClosed,
    BotFailed,
    WrongToken,
    UnknownBatch,
    BatchOwnerOnly,
    UnknownSearch,
)
