"""An engine in this process instead of a server."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import _core
from ._batch_stream import Resets
from ._connection import REPEAT, Connection, deadline
from ._seat import WAIT_SECONDS
from ._spec import GameSpec
from ._types import BatchStep
from ._waiting import aside, given, result_of
from .errors import BoardwireError, CallTimeout, NotServed

#: The address that selects an engine in this process.
LOCAL = "local:"


class LocalConnection(Connection):
    """A connection to an engine in this process. A forked process has a separate engine."""

    def __init__(self) -> None:
        """Creates no engine yet: each process creates one when it first needs it."""
        super().__init__(LOCAL)
        self._engines: dict[int, _core.Engine] = {}

    @property
    def engine(self) -> _core.Engine:
        """Returns the engine of this process, and creates it the first time."""
        process = os.getpid()
        engine = self._engines.get(process)
        return self._engines.setdefault(process, _core.Engine()) if engine is None else engine

    @property
    def channel(self) -> NoReturn:
        """Raises `NotServed`: a local connection has no channel."""
        raise NotServed(
            f"this needs a server, because a process can read all its own memory: connect without {LOCAL!r}, "
            "which starts one"
        )

    def call(
        self,
        method: str,
        request: dict[str, Any],
        *,
        timeout: float | None,
        token: str = "",
        attempts: int = 1,
        advice: str = REPEAT,
    ) -> dict[str, Any]:
        """Calls a method of the engine. No response can be lost.

        Raises:
            BoardwireError: The call failed.
            NotServed: The method needs a server.
        """
        try:
            return result_of(aside(self.engine.call, method, request, timeout))
        except KeyError:
            return self.channel

    def give_back(self, process: int, method: str, request: dict[str, Any], token: str) -> None:
        """Releases a batch or search that this process has opened; ignores errors of the call."""
        if process == os.getpid():
            with contextlib.suppress(BoardwireError):
                self.engine.call(method, request, WAIT_SECONDS)

    def close(self) -> None:
        """Ends all batches and searches."""
        engine = self._engines.get(os.getpid())
        if engine is not None:
            result_of(aside(engine.close))


class LocalCarrier:
    """The transport of a batch in this process.

    Requests run in the order in which they are sent, as on a stream: none starts before the earlier ones are
    done. The first request runs in the engine's threads. The next one starts when this process sends a
    request of the batch or waits for one.
    """

    def __init__(self, connection: LocalConnection, about: dict[str, Any], spec: GameSpec) -> None:
        """Takes ownership of the batch, which ends with this transport."""
        self.about = about
        self.spec = spec
        self._connection = connection
        self._engine = connection.engine
        self._batch = self._engine.batch(about["id"])
        self._unfinished: deque[_Sent] = deque()
        self._unanswered: deque[_Sent] = deque()
        self._resets = Resets(about["config"]["environments"])

    @property
    def at_once(self) -> Callable[[Any], BatchStep | None]:
        """Returns a function that steps all environments; it returns None if the step would have to wait."""
        return self._batch.step

    def step(self, rows: slice, actions: bytes, mask: bytes) -> _Sent:
        """Sends an action for each environment in a range."""
        first, count = rows.start, rows.stop - rows.start
        return result_of(given(self._send(rows, lambda: self._batch.send(first, count, actions, mask))))

    def reset(self, mask: bytes, seed: int | None, seeds: Sequence[int]) -> _Sent:
        """Sends a reset of the environments in the mask."""
        everywhere = slice(0, self.about["config"]["environments"])
        sent = self._send(everywhere, lambda: self._batch.reset(mask, seed, seeds))
        self._resets.note(mask)
        return result_of(given(sent))

    def receive(self, sent: _Sent, timeout: float | None) -> BatchStep:
        """Waits for the response to a request and returns its rows.

        Raises:
            BoardwireError: The request was refused.
            CallTimeout: The response takes longer; call `receive` again.
        """
        result_of(self._wait(sent, timeout))
        # As on a stream, the responses to earlier requests have arrived too.
        while sent in self._unanswered:
            self._unanswered.popleft()
        assert sent.doing is not None
        return sent.doing.take()

    def _wait(self, sent: _Sent, timeout: float | None) -> None:
        due = deadline(timeout)
        while not sent.done:
            first = self._unfinished[0]
            assert first.doing is not None, "the first one has begun"
            # This takes no response, so a caller that is cancelled while it waits loses none.
            if not result_of(aside(first.doing.wait, max(due - time.monotonic(), 0.0))):
                raise CallTimeout(f"no response within {timeout} s", reason="TIMED_OUT")
            self._go_on()

    def may_answer(self, sent: _Sent) -> bool:
        """Returns whether the response is still pending."""
        return not sent.done

    def is_dropped(self, sent: _Sent) -> bool:
        """Returns whether the response is discarded: all environments of the request were reset since."""
        return self._resets.cover(sent.rows, sent.resets)

    def make_way(self) -> None:
        """Ensures that no response is pending. After a fork, moves the batch to the engine of this process.

        Raises:
            RuntimeError: A response is pending.
        """
        if self._unanswered:
            raise RuntimeError("a response is pending: call `recv` first")
        if self._engine is not self._connection.engine:
            self._engine = self._connection.engine
            self._engine.adopt(self._batch)
        result_of(given(None))

    def save(self, mask: bytes) -> bytes:
        """Returns a snapshot of the environments in the mask."""
        result_of(self.make_way())
        return result_of(aside(self._batch.save, mask, WAIT_SECONDS))

    def text(self, environment: int, seat: int) -> str:
        """Describes a position as text, as a seat may know it."""
        result_of(self.make_way())
        return result_of(aside(self._batch.text, environment, seat, WAIT_SECONDS))

    def load(self, snapshot: bytes, mask: bytes) -> BatchStep:
        """Replaces the environments in the mask by saved ones, and returns the rows of all environments."""
        result_of(self.make_way())
        return result_of(aside(self._batch.load, snapshot, mask, WAIT_SECONDS))

    def close(self) -> None:
        """Closes the batch."""
        self._batch.close()
        result_of(given(None))

    def _send(self, rows: slice, begin: Callable[[], _core.Sent]) -> _Sent:
        sent = _Sent(rows, begin, self._resets.count)
        self._unfinished.append(sent)
        self._unanswered.append(sent)
        self._go_on()
        return sent

    def _go_on(self) -> None:
        """Starts the next request, and continues with the one after it as long as each is done."""
        while self._unfinished:
            first = self._unfinished[0]
            if first.doing is None:
                first.doing = first.begin()
            if not first.doing.done:
                break
            self._unfinished.popleft()
        self._batch.busy = bool(self._unfinished)


class _Sent:
    """A request to a batch.

    Attributes:
        rows: The environments that the request covers.
        begin: The function that starts the request.
        doing: The started request, which holds the response once it is done; None before the start.
        resets: The number of resets before this request.
    """

    __slots__ = ("begin", "doing", "resets", "rows")

    def __init__(self, rows: slice, begin: Callable[[], _core.Sent], resets: int) -> None:
        self.rows = rows
        self.begin = begin
        self.doing: _core.Sent | None = None
        self.resets = resets

    @property
    def done(self) -> bool:
        """Returns whether the response is available or was received."""
        return self.doing is not None and self.doing.done
