"""Carriers: what takes to its engine what a batch is asked for, and brings the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ._batch_stream import BatchStream
from ._channel import Connection
from ._local import LocalCarrier, LocalConnection
from ._spec import GameSpec
from ._types import BatchStep
from .v1 import batch_pb2

#: What steps a whole batch.
AtOnce: TypeAlias = Callable[[Any], BatchStep | None]

#: What a carrier has sent, to be received by; each carrier has its own.
Sent: TypeAlias = Any


class BatchCarrier(Protocol):
    """The way to the engine of one batch.

    Masks of environments are packed, low bit first, and empty for all.

    Attributes:
        about: What is known of the batch.
        spec: The table's description.
    """

    about: batch_pb2.Batch
    spec: GameSpec

    @property
    def at_once(self) -> AtOnce | None:
        """What steps a whole batch for whoever waits in the thread that calls.

        It takes `uint8[environments]`. Where that takes waiting, or actions are of another shape or type, it
        does nothing and gives nothing. None where it would be no faster than to send and receive.
        """

    async def step(self, rows: slice, actions: bytes, mask: bytes) -> Sent:
        """Sends an action for each of some environments; what is wrong with them, `receive` tells."""

    async def reset(self, mask: bytes, seed: int | None, seeds: Sequence[int]) -> Sent:
        """Asks for episodes to be begun: from a batch seed, and each of its own."""

    async def receive(self, sent: Sent, timeout: float) -> BatchStep:
        """Waits for the answer to what was sent.

        Raises:
            BoardwireError: It was refused, or its answer was lost.
        """

    def may_answer(self, sent: Sent) -> bool:
        """Whether the answer to what was sent is still to come."""

    def is_dropped(self, sent: Sent) -> bool:
        """Whether nobody wants the answer any more: something failed, and its rows were reset since."""

    async def make_way(self) -> None:
        """Sees to it that nothing is under way, for calls that do not wait for what was sent.

        Raises:
            RuntimeError: Something has been sent and is still to be received.
        """

    async def save(self, mask: bytes) -> bytes:
        """Saves environments."""

    async def text(self, environment: int, seat: int) -> str:
        """The position as a seat may know it, for people.

        Raises:
            NotImplementedError: The server shows no text of batches.
        """

    async def load(self, snapshot: bytes, mask: bytes) -> BatchStep:
        """Puts saved environments in the places of some."""

    async def close(self) -> None:
        """Closes the batch, unless it is gone."""


def carrier(
    connection: Connection,
    token: str,
    about: batch_pb2.Batch,
    spec: GameSpec,
    *,
    keep: bool,
    timeout: float,
) -> BatchCarrier:
    """The carrier of a batch that was opened over a connection."""
    if isinstance(connection, LocalConnection):
        return LocalCarrier(connection, about, spec)
    return BatchStream(connection, token, about, spec, keep=keep, timeout=timeout)
