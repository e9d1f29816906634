"""Spaces and observations from a game's description."""

from __future__ import annotations

import operator
from typing import Any, Literal, SupportsIndex

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from .._fields import ViewField
from .._spec import GameSpec
from .._types import FORFEITED, TERMINATED, TRUNCATED, BatchStep, Outcome

#: The view by named field, as ids and counts; or all of it as one vector of numbers for a network.
ObservationKind = Literal["ids", "features"]

#: Where the legal mask is found: in the info alone, or in the observation as well.
MaskPlace = Literal["info", "observation"]


class Lens:
    """Turns what a seat is answered into what an environment shows.

    - `ids`: a `Dict` of the view's fields, each a `Box` from 0 to the field's maximum in the field's shape,
      `uint8`, or `int32` where that exceeds 255, since PyTorch hardly knows `uint16`; a single value has
      the shape `(1,)`.
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
        """What the environment shows of a view and mask, or of a batch of both: fresh arrays, in the space.

        Args:
            view: `uint8[..., bytes]`.
            mask: `int8[..., actions]`.
        """
        shown = self._ids(view.copy()) if self._kind == "ids" else self._spec.features(view)
        if self._mask == "observation":
            return {"observation": shown, "action_mask": mask.copy()}
        return shown

    def _ids(self, view: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """The fields of views in one piece, whose memory they share but for those of two bytes a value."""
        cut: NDArray[Any] = np.ndarray(view.shape[:-1], self._cuts, view.data)
        shown = {name: cut[name] for name in self._spec.fields}
        for name in self._wide:
            shown[name] = shown[name].astype(np.int32)
        return shown


def row_of(shown: Any, row: int) -> Any:
    """One row of what a batch of environments shows."""
    if isinstance(shown, dict):
        return {name: row_of(part, row) for name, part in shown.items()}
    return shown[row]


def _cuts(spec: GameSpec) -> np.dtype[np.void]:
    """A view as numpy cuts it into its fields."""
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


# Rows of one action each, since to make an array takes longer than to play it.
_ACTIONS = np.arange(256, dtype=np.uint8)[:, None]


def one_action(action: SupportsIndex) -> ArrayLike:
    """An action for the one environment of a batch."""
    index = operator.index(action)
    return _ACTIONS[index] if 0 <= index < len(_ACTIONS) else [index]


def outcome_of(step: BatchStep, flags: int) -> Outcome | None:
    """How the episode of a batch's one environment has ended, if it has by its flags."""
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
