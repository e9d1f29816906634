"""Spaces and observations, built from a game's spec."""

from __future__ import annotations

import operator
from typing import Any, Literal, SupportsIndex

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from .._fields import ViewField
from .._spec import GameSpec
from .._types import FORFEITED, TERMINATED, TRUNCATED, BatchStep, Outcome

#: How an observation shows the view: `ids` as named fields of ids and counts, `features` as one vector of
#: numbers for a network.
ObservationKind = Literal["ids", "features"]

#: Where the action mask is: in the info or in the observation. Gymnasium infos always have it.
MaskPlace = Literal["info", "observation"]


class Lens:
    """A converter from a seat's view and action mask to an environment's observation.

    - `ids`: a `Dict` with one `Box` for each field of the view, from 0 to the field's maximum, in the
      field's shape; a single value has the shape `(1,)`. The dtype is `uint8`, or `int32` if the maximum
      exceeds 255, because PyTorch barely supports `uint16`.
    - `features`: a `Box` of `float32` with the layout of `GameSpec.features`.

    With `mask="observation"` the observation is a `Dict`: `observation` as above, and `action_mask`,
    `int8[actions]`.
    """

    def __init__(self, spec: GameSpec, kind: ObservationKind, mask: MaskPlace) -> None:
        """Builds the spaces.

        Raises:
            ValueError: `kind` or `mask` has an unknown value.
        """
        if kind not in ("ids", "features"):
            raise ValueError(f"observation={kind!r} is neither 'ids' nor 'features'")
        if mask not in ("info", "observation"):
            raise ValueError(f"mask={mask!r} is neither 'info' nor 'observation'")
        self._spec = spec
        self._kind = kind
        self._mask = mask
        self._cuts = _cuts(spec)
        self._wide = [field.name for field in spec.fields.values() if field.width > 1]
        self.action_space = spaces.Discrete(len(spec.actions))
        inner = self._fields() if kind == "ids" else spaces.Box(spec.layout.low, spec.layout.high)
        self.observation_space: spaces.Space[Any] = inner
        if mask == "observation":
            legal = spaces.Box(0, 1, (len(spec.actions),), np.int8)
            self.observation_space = spaces.Dict({"observation": inner, "action_mask": legal})

    def _fields(self) -> spaces.Dict:
        return spaces.Dict(
            {
                field.name: spaces.Box(0, field.max, field.shape or (1,), _dtype(field))
                for field in self._spec.fields.values()
            }
        )

    def observation(self, view: NDArray[np.uint8], mask: NDArray[np.int8]) -> Any:
        """Converts a view and mask, or a batch of both, to an observation in the space, with new arrays.

        Args:
            view: `uint8[..., bytes]`.
            mask: `int8[..., actions]`.
        """
        shown = self._ids(view.copy()) if self._kind == "ids" else self._spec.features(view)
        if self._mask == "observation":
            return {"observation": shown, "action_mask": mask.copy()}
        return shown

    def _ids(self, view: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Cuts contiguous views into fields, which share their memory except for two-byte fields."""
        cut: NDArray[Any] = np.ndarray(view.shape[:-1], self._cuts, view.data)
        shown = {name: cut[name] for name in self._spec.fields}
        for name in self._wide:
            shown[name] = shown[name].astype(np.int32)
        return shown


def row_of(shown: Any, row: int) -> Any:
    """Returns one row of a batched observation."""
    if isinstance(shown, dict):
        return {name: row_of(part, row) for name, part in shown.items()}
    return shown[row]


def _cuts(spec: GameSpec) -> np.dtype[np.void]:
    """Returns the structured dtype that cuts a view into its fields."""
    fields = spec.fields.values()
    return np.dtype(
        {
            "names": [field.name for field in fields],
            "formats": [(f"<u{field.width}", field.shape or (1,)) for field in fields],
            "offsets": [field.offset for field in fields],
            "itemsize": spec.view_bytes,
        }
    )


def _dtype(field: ViewField) -> type[np.uint8] | type[np.int32]:
    return np.uint8 if field.width == 1 else np.int32


# One row for each action, because building an array takes longer than playing the action.
_ACTIONS = np.arange(256, dtype=np.uint8)[:, None]


def one_action(action: SupportsIndex) -> ArrayLike:
    """Returns the action as the array that a batch of one environment takes."""
    index = operator.index(action)
    return _ACTIONS[index] if 0 <= index < len(_ACTIONS) else [index]


def outcome_of(step: BatchStep, flags: int) -> Outcome | None:
    """Returns the outcome of a single-environment batch's episode; None if its flags mark no end."""
    if not flags & (TERMINATED | TRUNCATED):
        return None
    assert step.scores is not None
    assert step.ranks is not None
    truncated, forfeited = flags & TRUNCATED > 0, flags & FORFEITED > 0
    return Outcome(
        scores=() if truncated or forfeited else tuple(step.scores[0].tolist()),
        ranks=() if truncated else tuple(step.ranks[0].tolist()),
        forfeits=(),
        explanations=(),
    )
