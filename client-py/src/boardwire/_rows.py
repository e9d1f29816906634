"""Masks that select environments of a batch, and a record of the resets of each environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def packed(mask: ArrayLike | None, environments: int) -> bytes:
    """Packs a mask of environments into bytes for a message; empty bytes mean all environments.

    Raises:
        ValueError: The mask is not `bool[environments]`, or it selects no environment.
    """
    if mask is None:
        return b""
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != (environments,):
        raise ValueError(f"where= is bool[{environments}], not {mask.dtype}{list(mask.shape)}")
    if not mask.any():
        raise ValueError("where= names no environment")
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

    def note(self, mask: bytes) -> None:
        """Records one more reset, of the environments in a packed mask."""
        self.count += 1
        self._last[chosen(mask, len(self._last))] = self.count

    def cover(self, rows: Any, since: int) -> bool:
        """Returns whether each of these environments was reset after the first `since` resets."""
        return bool((self._last[rows] > since).all())
