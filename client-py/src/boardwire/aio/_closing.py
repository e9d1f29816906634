"""Things that a `with` statement closes.

Generated from boardwire/_closing.py by client-py/tools/aio.py.
"""
from __future__ import annotations
import abc
from types import TracebackType
from typing import TYPE_CHECKING
from ._waiting import given
from ..errors import LOST, BoardwireError
if TYPE_CHECKING:
    from typing_extensions import Self

class Closing(abc.ABC):
    """Something that `with` gives and closes."""

    @abc.abstractmethod
    async def close(self) -> object:
        """Ends it."""
        return await given(None)

    async def __aenter__(self) -> Self:
        """Gives the thing itself."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes it. What is gone needs no closing, and no failure to close hides that of the block."""
        try:
            await self.close()
        except BoardwireError as failure:
            if error is None and (not isinstance(failure, LOST)):
                raise