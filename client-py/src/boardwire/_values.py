"""Converts between the client's value types and the server's messages, which the extension gives as dicts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

from . import _core
from ._fields import Axis, Column, ComponentTable, ViewField
from ._info import (
    BotParameter,
    BotSpec,
    Clock,
    FairDeal,
    Invitation,
    Limits,
    MatchInfo,
    PolicySpec,
    SeedOpening,
    ServerInfo,
)
from ._replay import Frame, PlayedAction, Replay
from ._spec import ActionSpec, GameOption, GameSpec
from ._types import ClockReading, LegalAction, Observation, Outcome, ScoreLine, unpacked_mask

#: The fields of a message by name.
Fields: TypeAlias = Mapping[str, Any]

_T = TypeVar("_T")


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init)


def _build(kind: Callable[..., _T], message: Fields, **overrides: Any) -> _T:
    """Builds a `kind` from the message's fields of the same names, except the attributes in `overrides`."""
    return kind(**{name: message[name] for name in _names(kind) if name not in overrides}, **overrides)


def game_spec(message: Fields) -> GameSpec:
    """Converts a message to a `GameSpec`."""
    game = message["game"]
    return _build(
        GameSpec,
        {**game, **message},
        option_specs=tuple(
            _build(GameOption, option, default=option["default_value"]) for option in game["options"]
        ),
        actions=tuple(_build(ActionSpec, action) for action in message["actions"]),
        fields={field["name"]: _field(field) for field in message["fields"]},
        public_fields={field["name"]: _field(field) for field in message["public_fields"]},
        tables={table["name"]: _table(table) for table in message["tables"]},
        digest=message["spec_digest"],
        encoded=_core.encode("GameSpec", dict(message)),
    )


def _field(message: Fields) -> ViewField:
    return _build(
        ViewField,
        message,
        axes=tuple(_build(Axis, axis) for axis in message["axes"]),
        usual_max=message["usual_max"] or message["max"],
        copies=message["copies"] or 1,
    )


def _table(message: Fields) -> ComponentTable:
    columns = tuple(_build(Column, column) for column in message["columns"])
    values = np.array(message["values"], dtype=np.int32).reshape(message["rows"], len(columns))
    values.flags.writeable = False
    return ComponentTable(message["name"], columns, values)


def observation(message: Fields, spec: GameSpec) -> Observation:
    """Converts a message to an `Observation`, whose arrays are copies."""
    return _build(
        Observation,
        message,
        view=np.frombuffer(message["view"], np.uint8).copy(),
        mask=unpacked_mask(np.frombuffer(message["mask"], np.uint8), len(spec.actions)),
        outcome=outcome(message["outcome"]),
        actions=legal_actions(message["actions"]),
        clocks=tuple(
            None if clock["left"] is None else _build(ClockReading, clock) for clock in message["clocks"]
        ),
    )


def legal_actions(messages: Iterable[Fields]) -> tuple[LegalAction, ...]:
    """Converts messages to legal actions."""
    return tuple(_build(LegalAction, message) for message in messages)


def outcome(message: Fields | None) -> Outcome | None:
    """Converts a message to an `Outcome`; returns None if there is no message."""
    if message is None:
        return None
    explained = (explanation["lines"] for explanation in message["explanations"])
    lines = tuple(tuple(_build(ScoreLine, line) for line in lines) for lines in explained)
    return _build(Outcome, message, explanations=lines)


def match_info(message: Fields) -> MatchInfo:
    """Converts a message to a `MatchInfo`."""
    config = message["config"]
    return _build(
        MatchInfo,
        {**config, **message},
        watch_delay=config["watch_delay"] or 0.0,
        clocks=tuple(map(_clock, config["clocks"])),
        fair=fair_deal(message["fair"]),
        seed_opening=seed_opening(message["seed_opening"]),
    )


def _clock(message: Fields) -> Clock | None:
    if not any(message.values()):
        return None
    times = {name: message[name] or 0.0 for name in ("limit", "bank", "increment")}
    return _build(Clock, message, on_timeout=message["bot"] or message["on_timeout"], **times)


def seed_opening(message: Fields | None) -> SeedOpening | None:
    """Converts a message to a `SeedOpening`; returns None if there is no message."""
    return None if message is None else _build(SeedOpening, message)


def fair_deal(message: Fields | None) -> FairDeal | None:
    """Converts a message to a `FairDeal`; returns None if there is no message."""
    return None if message is None else _build(FairDeal, message)


def invitation(message: Fields) -> Invitation:
    """Converts a message to an `Invitation`."""
    return _build(Invitation, message)


def server_info(message: Fields) -> ServerInfo:
    """Converts a message to a `ServerInfo`."""
    limits = {name: 0.0 if value is None else value for name, value in message["limits"].items()}
    return _build(
        ServerInfo,
        message,
        limits=_build(Limits, limits),
        bots=tuple(_build(BotSpec, bot, parameters=_parameters(bot)) for bot in message["bots"]),
        policies=tuple(_build(PolicySpec, policy) for policy in message["policies"]),
    )


def _parameters(bot: Fields) -> tuple[BotParameter, ...]:
    return tuple(_build(BotParameter, known, default=known["default_value"]) for known in bot["parameters"])


def replay(message: Fields) -> Replay:
    """Converts a message to a `Replay`."""
    return _build(
        Replay,
        {**message["config"], **message},
        seed_opening=seed_opening(message["seed_opening"]),
        frames=tuple(map(frame, message["frames"])),
        fair=fair_deal(message["fair"]),
        _raw=message["raw"],
    )


def frame(message: Fields) -> Frame:
    """Converts a message to a `Frame`, whose view is a copy."""
    played = message["played"]
    return _build(
        Frame,
        message,
        view=np.frombuffer(message["view"], np.uint8).copy(),
        played=None if played is None else _build(PlayedAction, played),
        outcome=outcome(message["outcome"]),
    )


def options(chosen: Mapping[str, str] | None) -> dict[str, str]:
    """Converts the options of a table to strings, as messages contain them.

    Raises:
        TypeError: A value is not a string, an integer or a bool.
    """
    return {name: _option(name, value) for name, value in (chosen or {}).items()}


def _option(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return str(operator.index(value))  # type: ignore[arg-type] # The call checks it.
    except TypeError:
        raise TypeError(f"option {name!r} must be a string, an integer or a bool; got {value!r}") from None


def words(argument: str, given: Iterable[str], allowed: tuple[str, ...]) -> list[str]:
    """Returns the strings of an argument as a list.

    Raises:
        ValueError: The argument has a string that is not one of `allowed`.
    """
    listed = list(given)
    for word in listed:
        if word not in allowed:
            raise ValueError(f"`{argument}` may have {', '.join(allowed)}; got {word!r}")
    return listed


def clocks(clock: Clock | Mapping[int, Clock] | None, seats: int) -> list[dict[str, Any]]:
    """Converts clocks to messages: none, one for all seats, or one for each seat.

    Raises:
        ValueError: A clock is for a seat that does not exist.
    """
    if clock is None:
        return []
    if isinstance(clock, Clock):
        return [_clock_message(clock)]
    for seat in clock:
        if not 0 <= seat < seats:
            raise ValueError(f"the seats of `clock` must be from 0 to {seats - 1}; got {seat}")
    return [_clock_message(clock[seat]) if seat in clock else {} for seat in range(seats)]


def _clock_message(clock: Clock) -> dict[str, Any]:
    message = {name: getattr(clock, name) for name in _names(Clock)}
    if clock.on_timeout not in ("forfeit", "first_legal", "seeded_legal"):
        message |= {"on_timeout": "bot", "bot": clock.on_timeout}
    return message
