"""The layout that maps the values of a view to features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._feature_parts import Copies, Described, Numbers, Ones, Part, Plan
from ._fields import ComponentTable, ViewField


class FeatureLayout:
    """The layout of a view's features; `GameSpec.features` describes the features of each kind of field.

    Attributes:
        names: The name of each feature, such as `hand[regions 17]`.
        low: The smallest value of each feature: `float32[features]`, 0 or -1.
        high: The largest value of each feature: `float32[features]`, 1, or more where a number can exceed
            its usual maximum.
        row: `int32[features]`, the component that each feature is about, as an index into the concatenation
            of all tables, as in `GameSpec.action_rows`; -1 where it is about none. Read-only.
    """

    def __init__(
        self,
        fields: Iterable[ViewField],
        tables: Mapping[str, ComponentTable],
        row_offsets: Mapping[str, int],
    ) -> None:
        """Lays out the features of `fields`."""
        fields = tuple(fields)
        self._view_bytes = max(field.offset + field.size * field.width for field in fields)
        ones, copies, numbers = Ones(row_offsets), Copies(row_offsets), Numbers(row_offsets)
        described = {name: Described(table, tables) for name, table in tables.items()}
        for field in fields:
            if field.kind in ("count", "flag"):
                numbers.add(field)
            elif field.kind in ("seat", "category"):
                ones.add_words(field)
            else:
                about, members = described[field.table], copies if field.copies > 1 else ones
                # A row with several copies has no single place in a sequence: sequences count as places then.
                told = {"places", "sequence"} if field.copies > 1 else {"places"}
                has_places = any(axis.order in told and not axis.of_seats for axis in field.axes)
                # Each place has one feature per row if that takes no more features than the table's columns.
                is_apart = about.rows <= about.width
                kept = [axis.of_seats or (is_apart and axis.order in told) for axis in field.axes]
                members.add_members(field, kept, about.rows)
                if has_places and not is_apart:
                    about.add(field)
        parts: list[Part] = [ones, copies, *described.values(), numbers]
        self._parts = [part for part in parts if part.names]
        self.names = tuple(name for part in parts for name in part.names)
        self.low = np.array([low for part in parts for low in part.low], dtype=np.float32)
        self.high = np.array([high for part in parts for high in part.high], dtype=np.float32)
        self.row = np.array([row for part in parts for row in part.row], dtype=np.int32)
        self.row.flags.writeable = False
        first = 0
        for part in self._parts:
            part.lay_out(first, len(self.names))
            first += len(part.names)
        self._writer = self._planned()

    def _planned(self) -> _core.Features:
        plan: Plan = {"ones": [], "copies": [], "greatest": [], "described": [], "numbers": [], "empty": []}
        for part in self._parts:
            part.plan(plan)
        return _core.Features(self._view_bytes, len(self.names), plan)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state without the extension's writer, which cannot move to another process."""
        return {name: value for name, value in vars(self).items() if name != "_writer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores the state and creates the extension's writer in this process."""
        vars(self).update(state)
        self._writer = self._planned()

    def __call__(
        self, view: NDArray[np.uint8], *, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Converts views to features.

        Args:
            view: `uint8[..., bytes]`.
            out: `float32[..., features]`, the array to write to. Without it, the call allocates one.

        Returns:
            `float32[..., features]`, from `low` to `high`: `out`, if given.

        Raises:
            ValueError: `out` has the wrong shape or type, or `view` has a value that the table excludes.
        """
        view = np.ascontiguousarray(view, dtype=np.uint8)
        if out is None:
            return self._writer(view)
        shape = (*view.shape[:-1], len(self.names))
        if out.dtype != np.float32 or out.shape != shape:
            raise ValueError(f"out is float32{list(shape)}, not {out.dtype}{list(out.shape)}")
        if not out.flags.carray:
            out[...] = self._writer(view)
            return out
        return self._writer(view, out)
