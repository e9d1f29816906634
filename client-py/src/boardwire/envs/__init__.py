"""Gymnasium environments for every game that a Boardwire server serves. Needs `boardwire[gym]`.

Environments with several agents are in `boardwire.pettingzoo`.
"""

from .._registration import environment_id
from ._common import Opponents
from ._session import IllegalActionWarning, Session
from ._spaces import MaskPlace, ObservationEncoder, ObservationKind
from .single import BoardwireEnv
from .vector import BoardwireVectorEnv, Seeds

__all__ = [
    "BoardwireEnv",
    "BoardwireVectorEnv",
    "IllegalActionWarning",
    "MaskPlace",
    "ObservationEncoder",
    "ObservationKind",
    "Opponents",
    "Seeds",
    "Session",
    "environment_id",
]
