"""Gymnasium environments for every game that a Boardwire server serves. Needs `boardwire[gym]`.

Environments with several agents are in `boardwire.pettingzoo`.
"""

from .._registration import environment_id, register
from ._common import IllegalActionWarning
from ._spaces import MaskPlace, ObservationKind
from .single import BoardwireEnv
from .vector import BoardwireVectorEnv

__all__ = [
    "BoardwireEnv",
    "BoardwireVectorEnv",
    "IllegalActionWarning",
    "MaskPlace",
    "ObservationKind",
    "environment_id",
    "register",
]
