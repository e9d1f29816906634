"""Things that a `with` statement closes."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import TYPE_CHECKING

from ._waiting import given, result_of
from .errors import LOST, BoardwireError

if TYPE_CHECKING:
    from typing_extensions import Self


class Closing(abc.ABC):
    """Something that `with` gives and closes."""

    @abc.abstractmethod
    def close(self) -> object:
        """Ends it."""
        return result_of(given(None))

    def __enter__(self) -> Self:
        """Gives the thing itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it. What is gone needs no closing, and no failure to close hides that of the block."""
        try:
            result_of(self.close())
        except BoardwireError as failure:
            if error is None and not isinstance(failure, LOST):
                raise
