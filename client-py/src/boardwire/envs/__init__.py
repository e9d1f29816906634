"""Gymnasium environments over a Boardwire server; they know no game. Needs `boardwire[gym]`."""

from .._registration import environment_id, register
from .single import BoardwireEnv, MaskPlace, ObservationKind

__all__ = ["BoardwireEnv", "MaskPlace", "ObservationKind", "environment_id", "register"]
