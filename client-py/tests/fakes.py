"""A channel without a network: methods answered by plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2


class FakeStatus(grpc.RpcError, grpc.Call):
    """A failed call."""

    def __init__(
        self,
        code: grpc.StatusCode,
        details: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Carries an `ErrorInfo` when there is a reason."""
        super().__init__(details)
        self._code, self._details, self._reason = code, details, reason
        self._metadata = dict(metadata or {})

    def code(self) -> grpc.StatusCode:
        """The code."""
        return self._code

    def details(self) -> str:
        """The message."""
        return self._details

    def trailing_metadata(self) -> Any:
        """The details as they travel."""
        if not self._reason:
            return ()
        info = any_pb2.Any()
        info.Pack(error_details_pb2.ErrorInfo(reason=self._reason, metadata=self._metadata))
        status = status_pb2.Status(code=self._code.value[0], message=self._details, details=[info])
        return (("grpc-status-details-bin", status.SerializeToString()),)

    def initial_metadata(self) -> Any:
        """Nothing."""
        return ()

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """The call has ended."""
        return False

    def cancel(self) -> bool:
        """The call has ended."""
        return False

    def is_active(self) -> bool:
        """The call has ended."""
        return False

    def time_remaining(self) -> float:
        """The call has ended."""
        return 0.0


class FakeChannel(grpc.Channel):
    """Answers unary methods by name; all others cannot be called."""

    def __init__(self, answers: Mapping[str, Callable[[Any], Any]]) -> None:
        """Takes a function for each method."""
        self._answers = answers

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """A method that hands its request to the function of its name."""
        name = method.rpartition("/")[2]
        return lambda request, timeout, metadata: self._answers[name](request)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing."""

    unary_stream = stream_unary = stream_stream

    def subscribe(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    def unsubscribe(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def __enter__(self) -> FakeChannel:
        """Gives itself."""
        return self

    def __exit__(self, *args: object) -> None:
        """Does nothing."""
