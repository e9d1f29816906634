"""Spaces and observations from a game's description."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from .._spec import GameSpec
from .._types import Observation

#: The view by named field, as ids and counts; or all of it as one vector of numbers for a network.
ObservationKind = Literal["ids", "features"]

#: Where the legal mask is found: in the info alone, or in the observation as well.
MaskPlace = Literal["info", "observation"]


class Lens:
    """Turns what a seat is answered into what an environment shows.

    - `ids`: a `Dict` of the view's fields, each a `Box` of `uint8` or `uint16` from 0 to the field's maximum
      in the field's shape; a single value has the shape `(1,)`.
    - `features`: a `Box` of `float32` as `GameSpec.features` lays out.

    With `mask="observation"` that is the entry `observation` of a `Dict`; the other is `action_mask`,
    `int8[actions]`.
    """

    def __init__(self, spec: GameSpec, kind: ObservationKind, mask: MaskPlace) -> None:
        """Builds the spaces.

        Raises:
            ValueError: No such kind of observation, or place for the mask.
        """
        if kind not in ("ids", "features"):
            raise ValueError(f"observation={kind!r} is neither 'ids' nor 'features'")
        if mask not in ("info", "observation"):
            raise ValueError(f"mask={mask!r} is neither 'info' nor 'observation'")
        self._spec = spec
        self._kind = kind
        self._mask = mask
        self.action_space = spaces.Discrete(len(spec.actions))
        inner = self._fields() if kind == "ids" else spaces.Box(spec.layout.low, spec.layout.high)
        self.observation_space: spaces.Space[Any] = inner
        if mask == "observation":
            legal = spaces.Box(0, 1, (len(spec.actions),), np.int8)
            self.observation_space = spaces.Dict({"observation": inner, "action_mask": legal})

    def _fields(self) -> spaces.Dict:
        return spaces.Dict(
            {
                field.name: spaces.Box(0, field.max, field.shape or (1,), field.dtype.type)
                for field in self._spec.fields.values()
            }
        )

    def observation(self, seen: Observation) -> Any:
        """What the environment shows of an observation: fresh arrays, in `observation_space`."""
        shown = self._ids(seen) if self._kind == "ids" else self._spec.features(seen.view)
        if self._mask == "observation":
            return {"observation": shown, "action_mask": seen.mask.copy()}
        return shown

    def _ids(self, seen: Observation) -> dict[str, np.ndarray[Any, Any]]:
        return {name: np.atleast_1d(values) for name, values in self._spec.decode(seen.view).items()}
