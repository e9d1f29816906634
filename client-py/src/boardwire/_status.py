"""Statuses as exceptions: the class of a reason, else that of a code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.rpc import code_pb2, error_details_pb2

from .errors import BoardwireError, ServerFault


def error(code: str, reason: str, message: str, metadata: Mapping[str, str] | None = None) -> BoardwireError:
    """The error for a status: the class of its reason, else that of its code, else `ServerFault`."""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ServerFault)
    return kind(message, code=code, reason=reason, metadata=metadata)


def refused(status: Any) -> BoardwireError:
    """The error for a `google.rpc.Status`, as streams answer a request with it that they refuse."""
    reason, metadata = error_info(status)
    known = status.code in code_pb2.Code.values()
    return error(code_pb2.Code.Name(status.code) if known else "UNKNOWN", reason, status.message, metadata)


def error_info(status: Any) -> tuple[str, dict[str, str]]:
    """Reason and metadata in the details of a `google.rpc.Status`; empty when it has none."""
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info):
            return info.reason, dict(info.metadata)
    return "", {}


def tree(root: type[BoardwireError] = BoardwireError) -> Iterator[type[BoardwireError]]:
    """All classes of errors, each before those below it."""
    yield root
    for kind in root.__subclasses__():
        yield from tree(kind)


_BY_REASON = {kind.REASON: kind for kind in tree() if kind.REASON}
# The first class of a code stands for it where there is no reason.
_BY_CODE = {code: kind for kind in reversed(BoardwireError.__subclasses__()) for code in kind.CODES}
