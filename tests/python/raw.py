"""What calls by plain messages are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

import boardwire
from boardwire import _core
from boardwire_v1.match_pb2 import Player
from boardwire_v1.match_service_pb2 import PlayResponse

#: The parameter of each bot that has one.
PARAMETERS = {"greedy": "worlds", "mc": "playouts"}


def player(name: str) -> Player:
    """Who plays: `agent`, or a bot such as `mc:160`."""
    if name == "agent":
        return Player(agent=Player.Agent())
    kind, _, value = name.partition(":")
    parameters = {PARAMETERS[kind]: int(value)} if value else {}
    return Player(bot=Player.Bot(name=kind, parameters=parameters))


def players(names: Iterable[str]) -> list[Player]:
    """Who plays at each seat."""
    return [player(name) for name in names]


def fields_of(message: Message) -> dict[str, Any]:
    """The fields of a message, as the client's own calls take them."""
    return _core.decode(type(message).__name__, message.SerializeToString())


def refusal(status: Status) -> boardwire.BoardwireError:
    """The exception for a status, as streams refuse by it."""
    error: boardwire.BoardwireError = fields_of(PlayResponse(error=status))["error"]
    return error
