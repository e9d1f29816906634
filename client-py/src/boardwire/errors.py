"""The errors, grouped by what the caller can do; `boardwire.BoardwireError` is the base class.

```text
BoardwireError          .code, .reason, .metadata
├── StartError            the private server was not found or did not start
├── ConnectionLost        the server does not respond: repeat when a server responds there again
├── Gone                  the match, batch or search no longer exists: open a new one
├── CallTimeout           no response in time: repeat
├── InvalidRequest        the request is never valid: change it
│   ├── NotFound            something that the request names does not exist
│   └── IllegalAction       there is no such action, or it is not legal now: choose another
├── AccessDenied          the token does not allow the request, or is missing
├── NotPossibleNow        the current state does not allow it: wait, or do something else first
│   ├── NotYourTurn         the seat owes no decision
│   └── EpisodeOver         a reset begins the next episode
├── StaleRequest          the decision or step is not due now: observe again
├── ServerFull            the server is at a limit of load or size: try again later
├── NotServed             the server lacks the method: it is older, or there is no server
└── ServerFault           a bug in the server, or a response that this client does not understand
```

`.reason` names the cause, such as `INVITATION_USED`; the protocol page lists all reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class BoardwireError(Exception):
    """The base class of all errors of calls to a Boardwire server.

    Attributes:
        code: The gRPC status code, such as `NOT_FOUND`.
        reason: The server's reason, such as `GAME_UNKNOWN`; empty if there is none.
        metadata: Each value that the message mentions, by name.
    """

    #: The status codes that map to this class, unless a class lists the reason of the error.
    CODES: ClassVar[tuple[str, ...]] = ()
    #: The reasons that map to this class, with any status code.
    REASONS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Stores the details; `code` defaults to the first code in `CODES`, or is empty without one."""
        super().__init__(message)
        self.code = code if code is not None else next(iter(self.CODES), "")
        self.reason = reason
        self.metadata = dict(metadata or {})

    @property
    def message(self) -> str:
        """What is wrong, where, and what is allowed."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the error with all attributes, so that a worker process can send it to a trainer."""
        return _rebuild, (type(self), self.message, self.code, self.reason, self.metadata)


def _rebuild(
    kind: type[BoardwireError], message: str, code: str, reason: str, metadata: Mapping[str, str]
) -> BoardwireError:
    return kind(message, code=code, reason=reason, metadata=metadata)


class StartError(BoardwireError):
    """The binary of a private server was not found, or the server did not start."""


class ConnectionLost(BoardwireError):
    """The server does not respond, or reports that it cannot: `SHUTTING_DOWN`, `JOURNAL_FAILED`.

    With the reason `NOT_CONNECTED`, a retry does not help: client and server do not speak the same protocol,
    or do not trust each other. With `CLOSED`, this process has closed the client or the seat.
    """

    CODES: ClassVar[tuple[str, ...]] = ("UNAVAILABLE",)


class Gone(BoardwireError):
    """The match, batch or search no longer exists: it ended, was idle for too long, or its server ended."""

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
    """No response came in time. The server may or may not have carried out the request."""

    CODES: ClassVar[tuple[str, ...]] = ("DEADLINE_EXCEEDED",)


class InvalidRequest(BoardwireError):
    """The request is invalid at any time; the message says what is allowed."""

    CODES: ClassVar[tuple[str, ...]] = ("INVALID_ARGUMENT", "ALREADY_EXISTS")
    REASONS: ClassVar[tuple[str, ...]] = ("MESSAGE_UNDECODABLE", "MESSAGE_MISSING", "MESSAGE_TOO_LARGE")


class NotFound(InvalidRequest):
    """The request names something that does not exist, such as a game, an invitation or a deleted frame."""

    CODES: ClassVar[tuple[str, ...]] = ("NOT_FOUND",)


class IllegalAction(InvalidRequest):
    """The action does not exist or is not legal now.

    No action was played; in a batch, none was played in any environment.
    """

    REASONS: ClassVar[tuple[str, ...]] = (
        "ACTION_ILLEGAL",
        "ACTION_OUT_OF_RANGE",
        "BATCH_ACTION_ILLEGAL",
        "BATCH_ACTION_OUT_OF_RANGE",
        "WORLD_ACTION_ILLEGAL",
        "WORLD_ACTION_OUT_OF_RANGE",
    )


class AccessDenied(BoardwireError):
    """The token does not allow the request, or there is no token."""

    CODES: ClassVar[tuple[str, ...]] = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class NotPossibleNow(BoardwireError):
    """The current state of the match does not allow the request."""

    CODES: ClassVar[tuple[str, ...]] = ("FAILED_PRECONDITION",)


class NotYourTurn(NotPossibleNow):
    """The seat owes no decision."""

    REASONS: ClassVar[tuple[str, ...]] = ("NOT_YOUR_TURN",)


class EpisodeOver(NotPossibleNow):
    """The episode, or a world (determinization) of a search, has ended; a reset begins the next episode."""

    REASONS: ClassVar[tuple[str, ...]] = ("EPISODE_OVER", "ENVIRONMENT_OVER", "WORLD_OVER")


class StaleRequest(BoardwireError):
    """The request is for a decision or step that is no longer due, or not yet: observe again.

    With `DECISION_LATE`, the seat's time ran out, and the server made the decision for the seat.
    """

    CODES: ClassVar[tuple[str, ...]] = ("ABORTED",)


class ServerFull(BoardwireError):
    """The server is at a limit, or the caller exceeds its request rate: try again later."""

    CODES: ClassVar[tuple[str, ...]] = ("RESOURCE_EXHAUSTED",)


class NotServed(BoardwireError):
    """The server does not have the method, or does not support this way of calling it."""

    CODES: ClassVar[tuple[str, ...]] = ("UNIMPLEMENTED",)


class ServerFault(BoardwireError):
    """The server has a bug, or sent a response that this client does not understand."""

    CODES: ClassVar[tuple[str, ...]] = ("INTERNAL",)


#: The errors that mean that a match, a batch or its server no longer exists: nothing is left to close.
LOST = (Gone, ConnectionLost)


def _all(kind: type[BoardwireError]) -> list[type[BoardwireError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _all(below))]


_BY_REASON = {reason: kind for kind in _all(BoardwireError) for reason in kind.__dict__.get("REASONS", ())}
_BY_CODE = {code: kind for kind in _all(BoardwireError) for code in kind.__dict__.get("CODES", ())}


def from_status(
    code: str, reason: str, message: str, metadata: Mapping[str, str] | None = None
) -> BoardwireError:
    """Returns the error for a status: its class follows from `reason`, else `code`, else is `ServerFault`."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ServerFault)
    return kind(message, code=code, reason=reason, metadata=metadata)
