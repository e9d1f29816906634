"""What can go wrong, by what a caller can do about it; `boardwire.BoardwireError` is the root.

```text
BoardwireError          .code, .reason, .metadata
├── StartError            the private server was not found or did not start
├── ConnectionLost        nobody answers, or no longer: repeat when a server answers there
├── Gone                  what was asked of is there no longer: begin anew
├── CallTimeout           no answer in time: repeat
├── InvalidRequest        the request cannot be: change it
│   ├── NotFound            what it names does not exist
│   └── IllegalAction       there is no such action, or it is not legal now: choose another
├── AccessDenied          the token does not allow it
├── NotPossibleNow        wait, or do something else first
│   ├── NotYourTurn         the seat owes no decision
│   └── EpisodeOver         a reset begins the next episode
├── StaleRequest          it answers what is no longer due: observe again
├── ServerFull            the server holds or does as much as it may: try again later
├── NotServed             the server does not know the method: it is older, or there is no server
└── ServerFault           a bug of the server, or an answer that this client does not understand
```

`.reason` tells more, such as `INVITATION_USED`; the page about the protocol lists all of them.
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

    #: The status codes whose errors are of this class where no other class has their reason.
    CODES: ClassVar[tuple[str, ...]] = ()
    #: The reasons whose errors are of this class whatever their code.
    REASONS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Takes the code from the class where it is left out."""
        super().__init__(message)
        self.code = code if code is not None else next(iter(self.CODES), "")
        self.reason = reason
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
    """A private server was not found, or did not start."""


class ConnectionLost(BoardwireError):
    """Nobody answers, or no longer; or the server cannot now: `SHUTTING_DOWN`, `JOURNAL_FAILED`.

    Trying again does not help where the reason is `NOT_CONNECTED`: client and server do not speak the same
    protocol, or do not trust each other. `CLOSED` says that this process has closed the client or the seat.
    """

    CODES: ClassVar[tuple[str, ...]] = ("UNAVAILABLE",)


class Gone(BoardwireError):
    """What was asked of is there no longer: it was closed, idle for too long, or ended with its server."""

    REASONS: ClassVar[tuple[str, ...]] = (
        "MATCH_UNKNOWN",
        "MATCH_CLOSED",
        "MATCH_EXPIRED",
        "DEAL_WITHHELD",
        "BOT_FAILED",
        "BATCH_UNKNOWN",
        "SEARCH_UNKNOWN",
    )


class CallTimeout(BoardwireError):
    """No answer came in time. Nobody knows whether the server has done what it was asked for."""

    CODES: ClassVar[tuple[str, ...]] = ("DEADLINE_EXCEEDED",)


class InvalidRequest(BoardwireError):
    """The request cannot be, whenever it is sent: the message says what would be right."""

    CODES: ClassVar[tuple[str, ...]] = ("INVALID_ARGUMENT", "ALREADY_EXISTS")
    REASONS: ClassVar[tuple[str, ...]] = ("MESSAGE_UNDECODABLE", "MESSAGE_MISSING", "MESSAGE_TOO_LARGE")


class NotFound(InvalidRequest):
    """What the request names does not exist: a game, an invitation, a frame that is not kept any more."""

    CODES: ClassVar[tuple[str, ...]] = ("NOT_FOUND",)


class IllegalAction(InvalidRequest):
    """There is no such action, or it is not legal now; nothing was played, in a batch in no environment."""

    REASONS: ClassVar[tuple[str, ...]] = (
        "ACTION_ILLEGAL",
        "ACTION_OUT_OF_RANGE",
        "BATCH_ACTION_ILLEGAL",
        "BATCH_ACTION_OUT_OF_RANGE",
        "WORLD_ACTION_ILLEGAL",
        "WORLD_ACTION_OUT_OF_RANGE",
    )


class AccessDenied(BoardwireError):
    """The token does not allow this, or there is none."""

    CODES: ClassVar[tuple[str, ...]] = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class NotPossibleNow(BoardwireError):
    """The match does not stand so that this is possible."""

    CODES: ClassVar[tuple[str, ...]] = ("FAILED_PRECONDITION",)


class NotYourTurn(NotPossibleNow):
    """The seat owes no decision."""

    REASONS: ClassVar[tuple[str, ...]] = ("NOT_YOUR_TURN",)


class EpisodeOver(NotPossibleNow):
    """The episode, or a world of a search, has ended; a reset begins the next episode."""

    REASONS: ClassVar[tuple[str, ...]] = ("EPISODE_OVER", "ENVIRONMENT_OVER", "WORLD_OVER")


class StaleRequest(BoardwireError):
    """The request answers what is no longer due, or not yet: observe again.

    With `DECISION_LATE` the seat's time had run out, and the decision has been made for it.
    """

    CODES: ClassVar[tuple[str, ...]] = ("ABORTED",)


class ServerFull(BoardwireError):
    """The server holds as much as it may, or the caller asks more often than it may: try again later."""

    CODES: ClassVar[tuple[str, ...]] = ("RESOURCE_EXHAUSTED",)


class NotServed(BoardwireError):
    """The server does not know the method, or not this way of calling it."""

    CODES: ClassVar[tuple[str, ...]] = ("UNIMPLEMENTED",)


class ServerFault(BoardwireError):
    """The server broke a promise of its own, or answered with something this client does not know."""

    CODES: ClassVar[tuple[str, ...]] = ("INTERNAL",)


#: What says that a match or batch, or its whole server, is there no longer: nothing is left to close.
LOST = (Gone, ConnectionLost)


def _all(kind: type[BoardwireError]) -> list[type[BoardwireError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _all(below))]


_BY_REASON = {reason: kind for kind in _all(BoardwireError) for reason in kind.__dict__.get("REASONS", ())}
_BY_CODE = {code: kind for kind in _all(BoardwireError) for code in kind.__dict__.get("CODES", ())}


def from_status(
    code: str, reason: str, message: str, metadata: Mapping[str, str] | None = None
) -> BoardwireError:
    """The error for a status: of the class of its reason, else of that of its code, else `ServerFault`."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ServerFault)
    return kind(message, code=code, reason=reason, metadata=metadata)
