"""What the extension `boardwire._core` makes for the rest of the package."""

from __future__ import annotations

from functools import lru_cache

from . import _core
from ._types import BatchStep

BatchStep.register(_core.Step)


@lru_cache(maxsize=32)
def painter(game: str, seats: int, options: tuple[tuple[str, str], ...], digest: str) -> _core.Painter:
    """What draws the views of a table.

    Raises:
        ValueError: The server plays by other rules or components than the extension knows.
    """
    return _core.Painter(game, seats, dict(options), digest)
