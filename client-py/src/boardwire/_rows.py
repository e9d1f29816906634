"""Which environments of a batch are meant, and which were reset since something was asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def packed(mask: ArrayLike | None, environments: int) -> bytes:
    """A mask of environments as messages have it; nothing for all of them.

    Raises:
        ValueError: It is of another shape, or names no environment.
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
    """The environments of a mask as messages have it, to index rows by."""
    if not mask:
        return slice(0, environments)
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask, np.uint8), count=environments, bitorder="little"))


class Resets:
    """The resets that a batch was asked for, in order.

    Attributes:
        count: How many there were.
    """

    def __init__(self, environments: int) -> None:
        """There was none."""
        self.count = 0
        self._last = np.zeros(environments, dtype=np.int64)

    def note(self, mask: bytes) -> None:
        """There was one more, of these environments."""
        self.count += 1
        self._last[chosen(mask, len(self._last))] = self.count

    def cover(self, rows: Any, since: int) -> bool:
        """Whether each of these environments was reset after so many resets."""
        return bool((self._last[rows] > since).all())
