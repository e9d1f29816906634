"""The base class of objects that a `with` statement closes."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import TYPE_CHECKING

from ._waiting import given, result_of
from .errors import LOST, BoardwireError

if TYPE_CHECKING:
    from typing_extensions import Self


class Closing(abc.ABC):
    """An object that a `with` statement enters and closes."""

    @abc.abstractmethod
    def close(self) -> object:
        """Closes the object."""
        return result_of(given(None))

    def __enter__(self) -> Self:
        """Returns the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the object.

        It ignores `LOST` errors, since a lost object needs no closing. If the block raised an error, no
        `BoardwireError` from closing hides it.
        """
        try:
            result_of(self.close())
        except BoardwireError as failure:
            if error is None and not isinstance(failure, LOST):
                raise
