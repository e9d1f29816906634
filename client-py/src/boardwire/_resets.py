"""Which environments of a batch were reset since something was asked: its answer tells of them no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _rows


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
        self._last[_rows.chosen(mask, len(self._last))] = self.count

    def cover(self, rows: Any, since: int) -> bool:
        """Whether each of these environments was reset after so many resets."""
        return bool((self._last[rows] > since).all())
