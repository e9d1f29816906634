"""A part of a batch: its actions are sent, and its decisions received, apart from those of others."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _rows
from ._carrier import BatchCarrier, Sent
from ._seat import WAIT_SECONDS
from ._types import BatchStep
from .errors import BatchActionOutOfRange


class BatchPartCore:
    """A run of environments of a batch, which is sent actions while others are being decided.

    Attributes:
        first: Its first environment.
        environments: How many it has.
    """

    def __init__(self, carrier: BatchCarrier, first: int, environments: int) -> None:
        """Is called by `Batch.parts`.

        It refers to the carrier, not to the batch: the two would make a cycle, which keeps the stream of a
        forgotten batch until garbage is collected.
        """
        self.first = first
        self.environments = environments
        self._carrier = carrier
        self._sent: deque[Sent] = deque()

    @property
    def rows(self) -> slice:
        """Where its rows stand among those of the whole batch."""
        return slice(self.first, self.first + self.environments)

    async def _send(self, actions: ArrayLike, *, mask: NDArray[np.bool_] | None = None) -> None:
        """Sends an action for every environment, and does not wait for what follows.

        A batch opened with `keep` first waits for what was sent before for any of the same environments.

        Args:
            actions: `int[n]`, the index of each action. Where an episode is over, it is ignored.
            mask: `bool[n]`, which environments make a decision; all when left out. The actions of others are
                ignored, and they stay as they are: their rows show what they showed, without reward.
        """
        chosen = _rows.packed(mask, self.environments)
        given = self._bytes(actions, mask)
        self._sent.append(await self._carrier.step(self.rows, given, chosen))

    async def _recv(self, *, timeout: float = WAIT_SECONDS) -> BatchStep:
        """Waits for the decisions that follow the earliest actions sent and not received.

        Args:
            timeout: Seconds.

        Raises:
            IllegalAction: An action is not legal now, and the batch refuses such; none was stepped.
            EnvironmentOver: An episode is over, and the batch resets none by itself; none was stepped.
            ConnectionLost: The answer was lost. With `keep` it may be received again; else the batch is gone.
            RuntimeError: No actions have been sent.
        """
        if not self._is_waiting():
            raise RuntimeError("nothing has been sent whose answer could be received")
        sent = self._sent[0]
        try:
            return await self._carrier.receive(sent, timeout)
        finally:
            if not self._carrier.may_answer(sent):
                self._sent.popleft()

    async def _step(
        self,
        actions: ArrayLike,
        *,
        mask: NDArray[np.bool_] | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> BatchStep:
        """Makes a decision in every environment and waits for the next ones: `send`, then `recv`."""
        if self._is_waiting():
            raise RuntimeError("receive what has been sent before another step")
        await self._send(actions, mask=mask)
        return await self._recv(timeout=timeout)

    def _is_waiting(self) -> bool:
        """Whether something has been sent and is still to be received."""
        while self._sent and self._carrier.is_dropped(self._sent[0]):
            self._sent.popleft()
        return bool(self._sent)

    def _bytes(self, actions: ArrayLike, mask: NDArray[np.bool_] | None) -> bytes:
        given = np.asarray(actions)
        if given.shape != (self.environments,):
            raise ValueError(f"actions have shape {given.shape}, not ({self.environments},)")
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions are whole numbers, not {given.dtype}")
        if mask is not None:
            given = np.where(mask, given, 0)
        if given.dtype == np.uint8:
            return given.tobytes()
        most = np.iinfo(np.uint8).max
        if given.min() < 0 or given.max() > most:
            at = int(np.flatnonzero((given < 0) | (given > most))[0])
            environment, action, known = self.first + at, int(given[at]), len(self._carrier.spec.actions)
            raise BatchActionOutOfRange(
                f"environment {environment}: there is no action {action}, only 0 to {known - 1}",
                metadata={
                    "environment": str(environment),
                    "action": str(action),
                    "actions": str(known),
                },
            )
        return given.astype(np.uint8).tobytes()

    def __repr__(self) -> str:
        """Names its environments."""
        last = self.first + self.environments - 1
        return f"<environments {self.first} to {last} of batch {self._carrier.about.id}>"
