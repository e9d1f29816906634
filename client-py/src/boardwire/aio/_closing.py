"""The base class of objects that a `with` statement closes.

Generated from boardwire/_closing.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import abc
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import LOST, BoardwireError
from ._waiting import given

if TYPE_CHECKING:
    from typing_extensions import Self


class Closing(abc.ABC):
    """An object that a `with` statement enters and closes."""

    @abc.abstractmethod
    async def close(self) -> object:
        """Closes the object."""
        return await given(None)

    async def __aenter__(self) -> Self:
        """Returns the object itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the object.

        It ignores `LOST` errors, since a lost object needs no closing. If the block raised an error, no
        `BoardwireError` from closing hides it.
        """
        try:
            await self.close()
        except BoardwireError as failure:
            if error is None and (not isinstance(failure, LOST)):
                raise
