"""The extension `boardwire_local`, a package of its own that does some of the work where it is installed."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from ._types import BatchStep
from .errors import StartError

if TYPE_CHECKING:
    import boardwire_local

    from ._feature_parts import Plan


def check() -> None:
    """Sees to it that the extension can be imported, and is of this package's version.

    Raises:
        ImportError: It is not installed.
        StartError: It is of another version.
    """
    import boardwire_local

    own, its = version("boardwire"), boardwire_local.__version__
    if own != its:
        raise StartError(
            f"boardwire {own} has an engine {its} beside it: pip install 'boardwire-local=={own}'"
        )
    BatchStep.register(boardwire_local.Step)


def feature_writer(view_bytes: int, features: int, plan: Plan) -> boardwire_local.Features | None:
    """What writes features as planned; nothing without the extension."""
    if not _is_there():
        return None
    import boardwire_local

    return boardwire_local.Features(view_bytes, features, plan)


def channel(target: str) -> boardwire_local.Channel | None:
    """A connection to a server without TLS; nothing without the extension, or where grpcio is asked for.

    So it is by a target that says how names are resolved, such as `dns:///host:port`.
    """
    host, _, _ = target.rpartition(":")
    is_plain = target.startswith("unix:") or host.startswith("[") or ":" not in host
    if not is_plain or os.environ.get("BOARDWIRE_WIRE") == "grpcio" or not _is_there():
        return None
    import boardwire_local

    return boardwire_local.Channel(target)


def rows(about: bytes, seats: int, view_bytes: int, actions: int) -> boardwire_local.Rows:
    """What the rows of a batch are shaped like, for who has a channel of the extension."""
    import boardwire_local

    return boardwire_local.Rows(about, seats, view_bytes, actions)


@lru_cache(maxsize=32)
def painter(
    game: str, seats: int, options: tuple[tuple[str, str], ...], digest: str
) -> boardwire_local.Painter:
    """What draws the views of a table.

    Raises:
        ImportError: The extension is not installed.
        StartError: It is of another version.
        ValueError: The server plays by other rules or components than the extension knows.
    """
    try:
        check()
    except ImportError as missing:
        raise ImportError("pictures are drawn by an extension: pip install 'boardwire[local]'") from missing
    import boardwire_local

    return boardwire_local.Painter(game, seats, dict(options), digest)


def _is_there() -> bool:
    try:
        check()
    except (ImportError, StartError):
        return False
    return True
