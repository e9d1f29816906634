"""An engine in this process in the place of a server.

Generated from boardwire/_local.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn
from .. import _core
from ._connection import REPEAT, Connection
from .._rows import Resets
from ._seat import WAIT_SECONDS
from .._spec import GameSpec
from .._types import BatchStep
from ._waiting import aside, given
from ..errors import BoardwireError, from_status
LOCAL = 'local:'

class LocalConnection(Connection):
    """An engine, and the calls of the protocol that it answers. A forked process has one of its own."""

    def __init__(self) -> None:
        """Makes an engine at the first call of each process."""
        super().__init__(LOCAL)
        self._engines: dict[int, _core.Engine] = {}

    @property
    def engine(self) -> _core.Engine:
        """The engine of this process."""
        process = os.getpid()
        engine = self._engines.get(process)
        return self._engines.setdefault(process, _core.Engine()) if engine is None else engine

    @property
    def channel(self) -> NoReturn:
        """There is none."""
        raise from_status('UNIMPLEMENTED', '', f'this needs a server, since one process has no secrets from itself: connect without {LOCAL!r} starts one')

    async def call(self, method: str, request: dict[str, Any], *, timeout: float, token: str='', attempts: int=1, advice: str=REPEAT) -> dict[str, Any]:
        """Makes one call, which nothing can get lost of.

        Raises:
            BoardwireError: The call failed.
            NotServed: It needs a server.
        """
        try:
            return await aside(self.engine.call, method, request, timeout)
        except KeyError:
            return self.channel

    def give_back(self, process: int, method: str, request: dict[str, Any], token: str) -> None:
        """Gives back what this process has begun."""
        if process == os.getpid():
            with contextlib.suppress(BoardwireError):
                self.engine.call(method, request, WAIT_SECONDS)

    async def close(self) -> None:
        """Ends all batches and searches."""
        await aside(self.engine.close)

class LocalCarrier:
    """The carrier of a batch in this process.

    What is asked for is done in the order in which it is sent, as on a stream: nothing begins before what was
    sent earlier is done. What comes first goes on in the engine's threads; what waits behind it begins when
    this process sends, or waits for, something of the batch.
    """

    def __init__(self, connection: LocalConnection, about: dict[str, Any], spec: GameSpec) -> None:
        """Takes over the batch, which ends with this carrier."""
        self.about = about
        self.spec = spec
        self._connection = connection
        self._engine = connection.engine
        self._batch = self._engine.batch(about['id'])
        self._unfinished: deque[_Sent] = deque()
        self._unanswered: deque[_Sent] = deque()
        self._resets = Resets(about['config']['environments'])

    @property
    def at_once(self) -> Callable[[Any], BatchStep | None]:
        """Steps all environments, if that takes no waiting."""
        return self._batch.step

    async def step(self, rows: slice, actions: bytes, mask: bytes) -> _Sent:
        """Sends actions for some environments."""
        first, count = (rows.start, rows.stop - rows.start)
        return await given(self._send(rows, lambda: self._batch.send(first, count, actions, mask)))

    async def reset(self, mask: bytes, seed: int | None, seeds: Sequence[int]) -> _Sent:
        """Asks for episodes to be begun."""
        everywhere = slice(0, self.about['config']['environments'])
        sent = self._send(everywhere, lambda: self._batch.reset(mask, seed, seeds))
        self._resets.note(mask)
        return await given(sent)

    async def receive(self, sent: _Sent, timeout: float) -> BatchStep:
        """Waits for what comes of it.

        Raises:
            BoardwireError: It was refused.
            CallTimeout: It takes longer: it may be received again.
        """
        try:
            await self._wait(sent, timeout)
            while sent in self._unanswered:
                self._unanswered.popleft()
            assert sent.doing is not None
            return sent.doing.take()
        except BaseException:
            for each in self._unanswered:
                each.failed = True
            raise

    async def _wait(self, sent: _Sent, timeout: float) -> None:
        due = time.monotonic() + timeout
        while not sent.done:
            first = self._unfinished[0]
            assert first.doing is not None, 'the first one has begun'
            if not await aside(first.doing.wait, max(due - time.monotonic(), 0.0)):
                raise from_status('DEADLINE_EXCEEDED', '', f'no answer within {timeout} s')
            self._go_on()

    def may_answer(self, sent: _Sent) -> bool:
        """Whether the answer is still to come."""
        return not sent.done

    def is_dropped(self, sent: _Sent) -> bool:
        """Whether nobody wants the answer any more: its rows were all reset since."""
        return self._resets.cover(sent.rows, sent.resets)

    async def make_way(self) -> None:
        """Sees to it that nothing is under way.

        Raises:
            RuntimeError: Something has been sent and is still to be received.
        """
        if self._unanswered:
            raise RuntimeError('receive what has been sent first: single calls do not wait for it')
        if self._engine is not self._connection.engine:
            self._engine = self._connection.engine
            self._engine.adopt(self._batch)
        await given(None)

    async def save(self, mask: bytes) -> bytes:
        """Saves environments."""
        await self.make_way()
        return await aside(self._batch.save, mask, WAIT_SECONDS)

    async def text(self, environment: int, seat: int) -> str:
        """The position as a seat may know it, for people."""
        return await aside(self._batch.text, environment, seat, WAIT_SECONDS)

    async def load(self, snapshot: bytes, mask: bytes) -> BatchStep:
        """Puts saved environments in the places of some."""
        await self.make_way()
        return await aside(self._batch.load, snapshot, mask, WAIT_SECONDS)

    async def close(self) -> None:
        """Ends the batch."""
        self._batch.close()
        await given(None)

    def _send(self, rows: slice, begin: Callable[[], _core.Sent]) -> _Sent:
        sent = _Sent(rows, begin, self._resets.count)
        self._unfinished.append(sent)
        self._unanswered.append(sent)
        self._go_on()
        return sent

    def _go_on(self) -> None:
        """Begins what comes next, as long as it is done at once."""
        while self._unfinished:
            first = self._unfinished[0]
            if first.doing is None:
                first.doing = first.begin()
            if not first.doing.done:
                break
            self._unfinished.popleft()
        self._batch.busy = bool(self._unfinished)

class _Sent:
    """What a batch was asked for.

    Attributes:
        rows: The environments that it is about.
        begin: Begins to do it.
        doing: What comes of it, once it has begun.
        resets: How many resets had been asked for before.
        failed: Whether somebody has waited in vain for it, or for something before it.
    """
    __slots__ = ('begin', 'doing', 'failed', 'resets', 'rows')

    def __init__(self, rows: slice, begin: Callable[[], _core.Sent], resets: int) -> None:
        self.rows = rows
        self.begin = begin
        self.doing: _core.Sent | None = None
        self.resets = resets
        self.failed = False

    @property
    def done(self) -> bool:
        """Whether the answer is there, or has been received."""
        return self.doing is not None and self.doing.done