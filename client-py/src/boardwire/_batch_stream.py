"""A batch's stream: several requests for ranges of environments may be unanswered at the same time."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._connection import Connection, deadline, lease
from ._seat import WAIT_SECONDS
from ._spec import GameSpec
from ._stream import Stream
from ._types import BatchStep
from ._waiting import result_of
from .errors import LOST, ConnectionLost

_BATCH_ENDS = "a batch ends with its connection: open another batch"
_BATCH_IS_KEPT = (
    "while the server runs, the batch continues, because it was opened with keep: repeat the call, or call "
    "`recv` again"
)

_RESET_FIRST = "while the server has the batch, a reset continues with it; otherwise open another batch"


def packed(mask: ArrayLike | None, environments: int) -> bytes:
    """Packs a mask of environments into bytes for a message; empty bytes mean all environments.

    Raises:
        ValueError: The mask is not `bool[environments]`, or it selects no environment.
    """
    if mask is None:
        return b""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != (environments,):
        raise ValueError(f"`where` must be bool[{environments}]; got {mask.dtype}{list(mask.shape)}")
    if not mask.any():
        raise ValueError("`where` must select at least one environment")
    return np.packbits(mask, bitorder="little").tobytes()


def chosen(mask: bytes, environments: int) -> Any:
    """Converts a packed mask to an index into rows: a slice for all environments, else their numbers."""
    if not mask:
        return slice(0, environments)
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask, np.uint8), count=environments, bitorder="little"))


class Resets:
    """A record of the resets that were requested of a batch.

    Attributes:
        count: The number of resets so far.
    """

    def __init__(self, environments: int) -> None:
        """Starts with no resets."""
        self.count = 0
        self._last = np.zeros(environments, dtype=np.int64)

    def record(self, mask: bytes) -> None:
        """Records one more reset, of the environments in a packed mask."""
        self.count += 1
        self._last[chosen(mask, len(self._last))] = self.count

    def all_reset_since(self, rows: Any, since: int) -> bool:
        """Returns whether each of these environments was reset after the first `since` resets."""
        return bool((self._last[rows] > since).all())


class BatchRequest:
    """A request on the stream.

    Attributes:
        kind: The kind of request: `step` or `reset`.
        fields: The fields of the request.
        rows: The environments that the response covers.
        opening: The number of the stream opening in which the request was last sent.
        response: The response; None until it arrives.
        failed: Whether a wait for this response, or for an earlier one, has failed.
        touched: The environments that the request changes.
        resets: The number of resets up to this request; a reset counts itself.
    """

    __slots__ = ("failed", "fields", "kind", "opening", "resets", "response", "rows", "touched")

    def __init__(self, kind: str, fields: dict[str, Any], rows: slice, touched: Any, resets: int) -> None:
        """Creates a request that has not been sent."""
        self.kind = kind
        self.fields = fields
        self.rows = rows
        self.touched = touched
        self.opening = 0
        self.response: _core.BatchResponse | None = None
        self.failed = False
        self.resets = resets

    def overlaps(self, rows: slice) -> bool:
        """Returns whether the response covers any of these environments."""
        return bool(self.rows.start < rows.stop and rows.start < self.rows.stop)


class BatchStream:
    """The transport of a batch in a server: sends its requests and receives the responses.

    The client numbers the requests of a batch opened with `keep`. When a stream breaks, the client resends
    the unanswered requests on the next stream. Numbered requests are idempotent: the server repeats a
    response that it has given, and executes no request twice. The server caches only the last response for
    each range of environments. So before the client sends a request, it waits for pending responses that
    cover any of the same environments.

    Attributes:
        about: The server's description of the batch.
        spec: The spec of the table.
    """

    def __init__(
        self,
        connection: Connection,
        token: str,
        about: dict[str, Any],
        spec: GameSpec,
        *,
        keep: bool,
        timeout: float | None,
    ) -> None:
        """Sends nothing yet; `timeout` is the time limit for closing the batch, in seconds."""
        self.about = about
        self.spec = spec
        self._connection = connection
        self._token = token
        self._keep = keep
        self._timeout = timeout
        self._advice = _BATCH_IS_KEPT if keep else _BATCH_ENDS
        columns = about["config"]["columns"]
        self._shape = _core.Rows(spec.seats, spec.view_bytes, len(spec.actions), about["agents"], columns)
        self._stream = Stream(
            connection, token, "BatchService/RunBatch", advice=self._advice, rows=self._shape
        )
        self._unanswered: deque[BatchRequest] = deque()
        # Requests whose responses were lost with an earlier stream.
        self._lost: list[BatchRequest] = []
        self._sequence = np.zeros(about["config"]["environments"], dtype=np.uint64)
        self._resets = Resets(about["config"]["environments"])
        self._lease = lease(self, connection, "BatchService/CloseBatch", {"batch_id": about["id"]}, token)

    @property
    def step_without_waiting(self) -> None:
        """Returns None: a batch in a server is stepped by messages only."""

    def step(self, rows: slice, actions: bytes, mask: bytes) -> BatchRequest:
        """Sends an action for each environment in a range.

        Raises:
            ConnectionLost: An earlier response for these environments was lost, so the client cannot know
                whether the server executed that request.
            BoardwireError: The stream does not open, or it broke before an earlier response arrived.
        """
        fields = {
            "batch_id": self.about["id"],
            "actions": actions,
            "first": rows.start,
            "count": rows.stop - rows.start,
            "mask": mask,
        }
        return result_of(self._send(BatchRequest("step", fields, rows, rows, self._resets.count)))

    def reset(self, mask: bytes, seed: int | None, seeds: Sequence[int]) -> BatchRequest:
        """Sends a reset, unless it repeats the last one, whose response is pending after a failed wait.

        Raises:
            BoardwireError: The stream does not open, or it broke before an earlier response arrived.
        """
        fields = {"batch_id": self.about["id"], "mask": mask, "seed": seed, "seeds": seeds}
        if (repeated := self._repeated(fields)) is not None:
            return repeated
        environments = self.about["config"]["environments"]
        touched = chosen(mask, environments)
        reset = BatchRequest("reset", fields, slice(0, environments), touched, self._resets.count + 1)
        request = result_of(self._send(reset))
        self._resets.record(mask)
        return request

    def _repeated(self, fields: dict[str, Any]) -> BatchRequest | None:
        """Returns the last unanswered request if it is the same reset and a wait for its response failed."""
        last = self._unanswered[-1] if self._keep and self._unanswered else None
        if last is None or not last.failed or last.kind != "reset":
            return None
        return last if all(last.fields[name] == value for name, value in fields.items()) else None

    def _send(self, request: BatchRequest) -> BatchRequest:
        if self._keep:
            # The server caches one response per range: wait for these before the next request.
            for earlier in [each for each in self._unanswered if each.overlaps(request.rows)]:
                result_of(self._wait(earlier, WAIT_SECONDS))
            request.fields["sequence"] = int(self._sequence[request.rows].max()) + 1
            self._resend()
        else:
            result_of(self._refuse_after_lost_response(request))
        self._transmit(request)
        while self._unanswered and self._unanswered[0].opening != request.opening:
            self._lost.append(self._unanswered.popleft())
        self._unanswered.append(request)
        return request

    def _refuse_after_lost_response(self, request: BatchRequest) -> None:
        """Refuses a step if an earlier response for its environments was lost and no reset followed."""
        while self._unanswered and not self._is_in_flight(self._unanswered[0]):
            self._lost.append(self._unanswered.popleft())
        self._lost = [
            each for each in self._lost if not self._resets.all_reset_since(each.touched, each.resets)
        ]
        if request.kind == "step" and any(each.overlaps(request.rows) for each in self._lost):
            cause = result_of(self._connection.cause_or(_RESET_FIRST))
            raise ConnectionLost(f"a response was lost, so the result of its step is unknown: {cause}")

    def receive(self, request: BatchRequest, timeout: float | None) -> BatchStep:
        """Waits for the response to a request and returns its rows.

        Raises:
            BoardwireError: The request was refused, or its response was lost.
        """
        request.failed = True
        try:
            response = result_of(self._wait(request, timeout))
            if response.step is None:
                raise response.error
        except BaseException:
            # The caller may abandon pending responses: mark them for `_repeated` and `require_no_pending`.
            for each in self._unanswered:
                each.failed = True
            raise
        request.failed = False
        return response.step

    def may_have_response(self, request: BatchRequest) -> bool:
        """Returns whether the response to a request can still be received."""
        return request.response is None and (self._keep or self._is_in_flight(request))

    def is_discarded(self, request: BatchRequest) -> bool:
        """Returns whether the response is discarded: all environments of the request were reset since."""
        return self._resets.all_reset_since(request.touched, request.resets)

    def require_no_pending(self) -> None:
        """Ensures that no response is pending. Single calls need this: they do not wait for the stream.

        With `keep`, the client waits once more for each response for which a wait has failed.

        Raises:
            RuntimeError: A response is pending.
            BoardwireError: A wait has failed once more.
        """
        if self._keep:
            for request in [each for each in self._unanswered if each.failed]:
                result_of(self._wait(request, WAIT_SECONDS))
        if self._unanswered and (self._keep or self._stream.is_open):
            raise RuntimeError("a response is pending: call `recv` first")

    def save(self, mask: bytes) -> bytes:
        """Returns a snapshot of the environments in the mask."""
        response = result_of(self._call("SaveBatch", {"mask": mask}))
        snapshot: bytes = response["snapshot"]
        return snapshot

    def describe(self, environment: int, seat: int, label_seed: int | None) -> dict[str, Any]:
        """Describes a position and the legal actions as text, as a seat may know them."""
        request = {"environment": environment, "seat": seat, "label_seed": label_seed}
        return result_of(self._call("DescribeEnvironment", request))

    def load(self, snapshot: bytes, mask: bytes) -> BatchStep:
        """Replaces the environments in the mask by saved ones, and returns the rows of all environments."""
        response = result_of(self._call("LoadBatch", {"snapshot": snapshot, "mask": mask}))
        step: BatchStep = self._shape.step(response["step"])
        self._store_sequence(slice(0, self.about["config"]["environments"]), step)
        self._resets.record(mask)
        return step

    def close(self) -> None:
        """Closes the batch, unless the server no longer has it or cannot be reached."""
        self.disconnect()
        with contextlib.suppress(*LOST):
            result_of(
                self._connection.call(
                    "BatchService/CloseBatch",
                    {"batch_id": self.about["id"]},
                    timeout=self._timeout,
                    token=self._token,
                )
            )
        self._lease.detach()

    def disconnect(self) -> None:
        """Closes the stream; the next request opens another."""
        self._stream.close()

    def _call(self, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Makes a single call about the batch, after the responses of the stream."""
        result_of(self.require_no_pending())
        return result_of(
            self._connection.call(
                f"BatchService/{method}",
                {"batch_id": self.about["id"], **fields},
                timeout=WAIT_SECONDS,
                token=self._token,
                advice=self._advice,
            )
        )

    def _store_sequence(self, rows: slice, step: Any) -> None:
        self._sequence[rows] = step.sequence

    def _is_in_flight(self, request: BatchRequest) -> bool:
        return self._stream.is_open and request.opening == self._stream.openings

    def _resend(self) -> None:
        for request in self._unanswered:
            if not self._is_in_flight(request):
                self._transmit(request)

    def _transmit(self, request: BatchRequest) -> None:
        self._stream.send({request.kind: request.fields})
        request.opening = self._stream.openings

    def _wait(self, request: BatchRequest, timeout: float | None) -> _core.BatchResponse:
        due, again = deadline(timeout), self._keep
        while request.response is None:
            if self._keep:
                self._resend()
            elif not self._is_in_flight(request):
                cause = result_of(self._connection.cause_or(_RESET_FIRST))
                raise ConnectionLost(f"the stream broke before the response arrived: {cause}")
            try:
                response = result_of(self._stream.receive(timeout))
            except ConnectionLost as lost:
                # Retry once, unless the error has a reason: then a retry is useless.
                if not again or lost.reason:
                    raise
                again, timeout = False, due - time.monotonic()
                continue
            first = self._unanswered.popleft()
            first.response = response
            if response.step is not None:
                self._store_sequence(first.rows, response.step)
        return request.response
