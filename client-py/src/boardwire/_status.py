"""Statuses as exceptions: the class of a reason, else that of a code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .errors import BoardwireError, ServerFault


def error(code: str, reason: str, message: str, metadata: Mapping[str, str] | None = None) -> BoardwireError:
    """The error for a status: the class of its reason, else that of its code, else `ServerFault`."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ServerFault)
    return kind(message, code=code, reason=reason, metadata=metadata)


def tree(root: type[BoardwireError] = BoardwireError) -> Iterator[type[BoardwireError]]:
    """All classes of errors, each before those below it."""
    yield root
    for kind in root.__subclasses__():
        yield from tree(kind)


_BY_REASON = {kind.REASON: kind for kind in tree() if kind.REASON}
# The first class of a code stands for it where there is no reason.
_BY_CODE = {code: kind for kind in reversed(BoardwireError.__subclasses__()) for code in kind.CODES}
