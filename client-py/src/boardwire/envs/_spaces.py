"""Spaces and observations, built from a game's spec."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .. import GameSpec

#: How an observation shows the view: `ids` as named fields of ids and counts, `features` as one vector of
#: numbers for a network.
ObservationKind = Literal["ids", "features"]

#: Where the action mask is: in the info or in the observation. Gymnasium infos always have it.
MaskPlace = Literal["info", "observation"]


class ObservationEncoder:
    """A converter from views and action masks to observations, as the environments show them.

    - `ids`: a `Dict` with one `Box` for each field of the view, from 0 to the field's maximum, in the
      field's shape; a single value has the shape `(1,)`. The dtype is `uint8`, or `int32` if the maximum
      exceeds 255, because PyTorch barely supports `uint16`.
    - `features`: a `Box` of `float32` with the layout of `GameSpec.features`.

    With `mask="observation"` the observation is a `Dict`: `observation` as above, and `action_mask`,
    `int8[actions]`, the dtype that `Space.sample` needs.

    Attributes:
        observation_space: The space of the observations.
        action_space: The space of the actions.
    """

    def __init__(
        self, spec: GameSpec, observation: ObservationKind = "features", mask: MaskPlace = "info"
    ) -> None:
        """Builds the spaces.

        Raises:
            ValueError: `observation` or `mask` has an unknown value.
        """
        if observation not in ("ids", "features"):
            raise ValueError(f"`observation` must be 'ids' or 'features'; got {observation!r}")
        if mask not in ("info", "observation"):
            raise ValueError(f"`mask` must be 'info' or 'observation'; got {mask!r}")
        self._spec = spec
        self._has_ids = observation == "ids"
        self._has_mask = mask == "observation"
        fields = spec.fields.values()
        shapes = {field.name: field.shape or (1,) for field in fields}
        # Cuts a view into its fields.
        self._cuts = np.dtype(
            {
                "names": list(shapes),
                "formats": [(f"<u{field.width}", shapes[field.name]) for field in fields],
                "offsets": [field.offset for field in fields],
                "itemsize": spec.view_bytes,
            }
        )
        self._wide = [field.name for field in fields if field.width > 1]
        inner: spaces.Space[Any] = spaces.Box(spec.layout.low, spec.layout.high)
        if self._has_ids:
            dtypes = {name: np.int32 if name in self._wide else np.uint8 for name in shapes}
            boxes = {each.name: (each.max, shapes[each.name], dtypes[each.name]) for each in fields}
            inner = spaces.Dict({name: spaces.Box(0, *box) for name, box in boxes.items()})
        self.observation_space = inner
        if self._has_mask:
            legal = spaces.Box(0, 1, (len(spec.actions),), np.int8)
            self.observation_space = spaces.Dict({"observation": inner, "action_mask": legal})
        self.action_space = spaces.Discrete(len(spec.actions))

    def __call__(self, view: NDArray[np.uint8], mask: NDArray[np.bool_]) -> Any:
        """Converts a view and mask, or a batch of both, to an observation in the space, with new arrays.

        Args:
            view: `uint8[..., bytes]`, such as `Decisions.view`.
            mask: `bool[..., actions]`, such as `Decisions.mask`.
        """
        observation = self._ids(view.copy()) if self._has_ids else self._spec.features(view)
        if not self._has_mask:
            return observation
        return {"observation": observation, "action_mask": mask.astype(np.int8)}

    def _ids(self, view: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Cuts contiguous views into fields, which share their memory except for two-byte fields."""
        cut: NDArray[Any] = np.ndarray(view.shape[:-1], self._cuts, view.data)
        observation = {name: cut[name] for name in self._spec.fields}
        for name in self._wide:
            observation[name] = observation[name].astype(np.int32)
        return observation
