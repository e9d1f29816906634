"""An engine in this process instead of a server.

Generated from boardwire/_local.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from .. import _core
from .._spec import GameSpec
from .._types import BatchStep
from ..errors import BoardwireError, CallTimeout, NotServed
from ._batch_stream import Resets
from ._connection import REPEAT_CALL, Connection, deadline
from ._seat import WAIT_SECONDS
from ._waiting import in_thread, ready

LOCAL = "local:"


class LocalConnection(Connection):
    """A connection to an engine in this process. A forked process has a separate engine."""

    def __init__(self, module: str | None) -> None:
        """Imports the extension, and creates no engine yet: each process creates one when it first needs it.

        Raises:
            ImportError: There is no such module.
            ValueError: The module has no engine.
        """
        super().__init__(LOCAL)
        extension = _core if module is None else import_module(module)
        if not hasattr(extension, "Engine"):
            raise ValueError(
                f"`module` must be an extension with games of Boardwire; {module!r} has no engine"
            )
        BatchStep.register(extension.Step)
        self._new_engine: Callable[[], _core.Engine] = extension.Engine
        self._engines: dict[int, _core.Engine] = {}

    @property
    def engine(self) -> _core.Engine:
        """Returns the engine of this process, and creates it the first time."""
        process = os.getpid()
        engine = self._engines.get(process)
        return self._engines.setdefault(process, self._new_engine()) if engine is None else engine

    @property
    def channel(self) -> NoReturn:
        """Raises `NotServed`: a local connection has no channel."""
        raise NotServed(
            f"this needs a server, because a process can read all its own memory: connect without {LOCAL!r}, which starts one"
        )

    async def call(
        self,
        method: str,
        request: dict[str, Any],
        *,
        timeout: float | None,
        token: str = "",
        attempts: int = 1,
        advice: str = REPEAT_CALL,
    ) -> dict[str, Any]:
        """Calls a method of the engine. No response can be lost.

        Raises:
            BoardwireError: The call failed.
            NotServed: The method needs a server.
        """
        try:
            return await in_thread(self.engine.call, method, request, timeout)
        except KeyError:
            return self.channel

    def release(self, process: int, method: str, request: dict[str, Any], token: str) -> None:
        """Releases a batch or search that this process has opened; ignores errors of the call."""
        if process == os.getpid():
            with contextlib.suppress(BoardwireError):
                self.engine.call(method, request, WAIT_SECONDS)

    async def close(self) -> None:
        """Ends all batches and searches."""
        engine = self._engines.get(os.getpid())
        if engine is not None:
            await in_thread(engine.close)


class LocalTransport:
    """The transport of a batch in this process.

    Requests for the same environments run in the order in which they are sent, as on a stream. Other requests
    run at the same time.
    """

    def __init__(self, connection: LocalConnection, about: dict[str, Any], spec: GameSpec) -> None:
        """Takes ownership of the batch, which ends with this transport."""
        self.about = about
        self.spec = spec
        self._connection = connection
        self._engine = connection.engine
        self._batch = self._engine.batch(about["id"])
        self._pending: deque[_LocalRequest] = deque()
        self._resets = Resets(about["config"]["environments"])

    @property
    def step_without_waiting(self) -> Callable[[Any], BatchStep | None]:
        """Returns a function that steps all environments; it returns None if the step would have to wait."""
        return self._batch.step

    async def step(self, rows: slice, actions: bytes, mask: bytes) -> _LocalRequest:
        """Starts a step of the environments in a range."""
        call = self._batch.send(rows.start, rows.stop - rows.start, actions, mask)
        return await ready(self._started(rows, call))

    async def reset(self, mask: bytes, seed: int | None, seeds: Sequence[int]) -> _LocalRequest:
        """Starts a reset of the environments in the mask."""
        everywhere = slice(0, self.about["config"]["environments"])
        request = self._started(everywhere, self._batch.reset(mask, seed, seeds))
        self._resets.record(mask)
        return await ready(request)

    def _started(self, rows: slice, call: _core.PendingStep) -> _LocalRequest:
        request = _LocalRequest(rows, call, self._resets.count)
        self._pending.append(request)
        return request

    async def receive(self, request: _LocalRequest, timeout: float | None) -> BatchStep:
        """Waits for the response to a request and for all earlier responses; returns its rows.

        Raises:
            BoardwireError: The request was refused.
            CallTimeout: The response takes longer; call `receive` again.
        """
        due = deadline(timeout)
        while request in self._pending:
            first = self._pending[0]
            if not await in_thread(first.call.wait, max(due - time.monotonic(), 0.0)):
                raise CallTimeout(f"no response within {timeout} s", reason="TIMED_OUT")
            if first in self._pending:
                self._pending.remove(first)
        return request.call.take()

    def may_have_response(self, request: _LocalRequest) -> bool:
        """Returns whether the response can still be received."""
        return request in self._pending

    def is_discarded(self, request: _LocalRequest) -> bool:
        """Returns whether the response is discarded: all environments of the request were reset since."""
        return self._resets.all_reset_since(request.rows, request.resets)

    async def require_no_pending(self) -> None:
        """Ensures that no response is pending. After a fork, moves the batch to the engine of this process.

        Raises:
            RuntimeError: A response is pending.
        """
        if self._pending:
            raise RuntimeError("a response is pending: call `recv` first")
        if self._engine is not self._connection.engine:
            self._engine = self._connection.engine
            self._engine.adopt(self._batch)
        await ready(None)

    async def save(self, mask: bytes) -> bytes:
        """Returns a snapshot of the environments in the mask."""
        await self.require_no_pending()
        return await in_thread(self._batch.save, mask, WAIT_SECONDS)

    async def describe(self, environment: int, seat: int, label_seed: int | None) -> dict[str, Any]:
        """Describes a position and the legal actions as text, as a seat may know them."""
        await self.require_no_pending()
        return await in_thread(self._batch.describe, environment, seat, label_seed, WAIT_SECONDS)

    async def load(self, snapshot: bytes, mask: bytes) -> BatchStep:
        """Replaces the environments in the mask by saved ones, and returns the rows of all environments."""
        await self.require_no_pending()
        return await in_thread(self._batch.load, snapshot, mask, WAIT_SECONDS)

    async def close(self) -> None:
        """Closes the batch."""
        self._batch.close()
        await ready(None)


@dataclass(frozen=True, slots=True, eq=False)
class _LocalRequest:
    """A started request to a batch.

    Attributes:
        rows: The environments that the request covers.
        call: The call of the engine, which holds the response once it is done.
        resets: The number of resets before this request.
    """

    rows: slice
    call: _core.PendingStep
    resets: int
