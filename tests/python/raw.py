"""Conversions between protobuf messages and the values of the client."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message
from google.rpc.status_pb2 import Status

import boardwire
from boardwire import _core
from boardwire_v1.match_pb2 import Player
from boardwire_v1.match_service_pb2 import PlayResponse

#: The parameter of each configurable bot.
PARAMETERS = {"greedy": "worlds", "mc": "playouts"}


def player(name: str) -> Player:
    """Returns the message of a player: `agent`, or a bot such as `mc:160`."""
    if name == "agent":
        return Player(agent=Player.Agent())
    kind, _, value = name.partition(":")
    parameters = {PARAMETERS[kind]: int(value)} if value else {}
    return Player(bot=Player.Bot(name=kind, parameters=parameters))


def players(names: Iterable[str]) -> list[Player]:
    """Returns the messages of the players at all seats."""
    return [player(name) for name in names]


def fields_of(message: Message) -> dict[str, Any]:
    """Returns the fields of a message in the form that calls of the client take."""
    return _core.decode(type(message).__name__, message.SerializeToString())


def stream_error(status: Status) -> boardwire.BoardwireError:
    """Returns the exception for a status in a stream."""
    error: boardwire.BoardwireError = fields_of(PlayResponse(error=status))["error"]
    return error
