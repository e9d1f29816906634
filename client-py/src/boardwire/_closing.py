"""What is closed at the end of a `with` block."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


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
        """Closes it."""
        self.close()
