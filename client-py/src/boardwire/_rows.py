"""The rows of batches and searches as arrays, and masks of them.

Each column is copied out of the message once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._spec import GameSpec
from ._types import BatchStep, WorldStep
from .v1 import batch_pb2


def batch_step(message: batch_pb2.Step, spec: GameSpec, about: batch_pb2.Batch) -> BatchStep:
    """The rows of a step of a batch that is described so."""
    seat = np.frombuffer(message.seat, dtype=np.uint8)
    ended, columns = np.frombuffer(message.ended, dtype="<u4"), about.config.columns
    n, k, seats, view = len(seat), len(ended), spec.seats, spec.view_bytes
    return BatchStep(
        first=message.first,
        seat=seat,
        view=np.frombuffer(message.view, dtype=np.uint8).reshape(n, view),
        packed_mask=np.frombuffer(message.mask, dtype=np.uint8).reshape(n, spec.mask_bytes),
        action_count=len(spec.actions),
        reward=np.frombuffer(message.reward, dtype="<f4").reshape(n, seats),
        ply=np.frombuffer(message.ply, dtype="<u4"),
        flags=np.frombuffer(message.flags, dtype=np.uint8),
        ended=ended,
        episode=_wanted(columns.episodes, message.episode, "<u4", n),
        scores=_wanted(columns.scores, message.scores, "<i4", k, seats),
        ranks=_wanted(columns.scores, message.ranks, "u1", k, seats),
        final_view=_wanted(columns.final_views, message.final_view, "u1", k, about.agents, view),
        oracle=_wanted(columns.oracle, message.oracle, "u1", n, seats, view),
        oracle_mask=_wanted(columns.oracle, message.oracle_mask, "u1", n, seats, spec.mask_bytes),
        advice=_wanted(columns.HasField("advice"), message.advice, "u1", n),
        advice_shares=_wanted(columns.advice_shares, message.advice_shares, "<f4", n, len(spec.actions)),
    )


def world_step(message: batch_pb2.Step, spec: GameSpec) -> WorldStep:
    """The rows of worlds."""
    seat = np.frombuffer(message.seat, dtype=np.uint8)
    n = len(seat)
    return WorldStep(
        seat=seat,
        view=np.frombuffer(message.view, dtype=np.uint8).reshape(n, spec.view_bytes),
        packed_mask=np.frombuffer(message.mask, dtype=np.uint8).reshape(n, spec.mask_bytes),
        action_count=len(spec.actions),
        reward=np.frombuffer(message.reward, dtype="<f4").reshape(n, spec.seats),
        ply=np.frombuffer(message.ply, dtype="<u4"),
        flags=np.frombuffer(message.flags, dtype=np.uint8),
    )


def packed(mask: ArrayLike | None, environments: int) -> bytes:
    """A mask of environments as the wire has it; nothing for all of them.

    Raises:
        ValueError: It is of another shape, or names no environment.
    """
    if mask is None:
        return b""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != (environments,):
        raise ValueError(f"a mask is bool[{environments}], not {mask.dtype}{list(mask.shape)}")
    if not mask.any():
        raise ValueError("the mask names no environment")
    return np.packbits(mask, bitorder="little").tobytes()


def chosen(mask: bytes, environments: int) -> Any:
    """The environments of a mask as the wire has it, to index rows by."""
    if not mask:
        return slice(0, environments)
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask, np.uint8), count=environments, bitorder="little"))


def _wanted(is_wanted: bool, column: bytes, dtype: str, *shape: int) -> NDArray[Any] | None:
    """A column that is sent on request."""
    return np.frombuffer(column, dtype).reshape(shape) if is_wanted else None
