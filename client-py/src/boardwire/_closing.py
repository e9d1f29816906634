"""What is closed at the end of a `with` block."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import (
    BatchOwnerOnly,
    BoardwireError,
    BotFailed,
    ConnectionLost,
    MatchClosed,
    UnknownBatch,
    UnknownMatch,
    UnknownToken,
    WrongToken,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: What says that a match or batch, or its whole server, is there no longer: nothing is left to close.
GONE = (
    ConnectionLost,
    UnknownMatch,
    MatchClosed,
    BotFailed,
    WrongToken,
    UnknownToken,
    UnknownBatch,
    BatchOwnerOnly,
)


class Closing(abc.ABC):
    """Something that `with` gives and closes."""

    @abc.abstractmethod
    def close(self) -> object:
        """Ends it."""

    def __enter__(self) -> Self:
        """Gives the thing itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it. What is gone needs no closing, and no failure to close hides that of the block."""
        try:
            self.close()
        except BoardwireError as failure:
            if error is None and not isinstance(failure, GONE):
                raise
