"""What the extension `boardwire._core` makes for the rest of the package."""

from __future__ import annotations

import os
from functools import lru_cache

from . import _core
from ._types import BatchStep

BatchStep.register(_core.Step)


def channel(target: str) -> _core.Channel | None:
    """A connection to a server without TLS; nothing where grpcio is asked for.

    So it is by a target that says how names are resolved, such as `dns:///host:port`.
    """
    host, _, _ = target.rpartition(":")
    is_plain = target.startswith("unix:") or host.startswith("[") or ":" not in host
    if not is_plain or os.environ.get("BOARDWIRE_WIRE") == "grpcio":
        return None
    return _core.Channel(target)


@lru_cache(maxsize=32)
def painter(game: str, seats: int, options: tuple[tuple[str, str], ...], digest: str) -> _core.Painter:
    """What draws the views of a table.

    Raises:
        ValueError: The server plays by other rules or components than the extension knows.
    """
    return _core.Painter(game, seats, dict(options), digest)
