"""Messages into values and back; beyond here there are no messages."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from datetime import timedelta, timezone
from typing import Any, Literal, cast, get_args

import numpy as np
from google.protobuf.duration_pb2 import Duration

from ._fields import Axis, AxisOrder, Column, ComponentTable, ValueKind, ViewField
from ._info import (
    Clock,
    CloseReason,
    FairDeal,
    Invitation,
    Limits,
    MatchInfo,
    MatchState,
    SeedOpening,
    ServerInfo,
)
from ._line_ups import AGENT
from ._spec import ActionSpec, Game, GameOption, GameSpec
from ._types import (
    Autoreset,
    ClockReading,
    Forfeit,
    IllegalActions,
    LegalAction,
    Observation,
    Outcome,
    Reward,
    RolloutPolicy,
    ScoreLine,
    unpacked_mask,
)
from .v1 import batch_pb2, catalog_pb2, match_pb2, match_service_pb2, observation_pb2, search_pb2


def game(message: catalog_pb2.Game) -> Game:
    """A game."""
    return Game(
        id=message.id,
        name=message.name,
        rules_version=message.rules_version,
        min_seats=message.min_seats,
        max_seats=message.max_seats,
        options=tuple(
            GameOption(
                name=option.name,
                description=option.description,
                default=option.default_value,
                choices=tuple(option.choices),
                min=option.min if option.HasField("min") else None,
                max=option.max if option.HasField("max") else None,
            )
            for option in message.options
        ),
        catalogue_digest=message.catalogue_digest,
    )


def game_spec(message: catalog_pb2.GameSpec) -> GameSpec:
    """One table of a game."""
    return GameSpec(
        game=game(message.game),
        seats=message.seats,
        options=dict(message.options),
        actions=tuple(
            ActionSpec(action.label, action.verb, action.table, action.row) for action in message.actions
        ),
        fields={field.name: _field(field) for field in message.fields},
        view_bytes=message.view_bytes,
        public_fields={field.name: _field(field) for field in message.public_fields},
        public_view_bytes=message.public_view_bytes,
        tables={table.name: _table(table) for table in message.tables},
        max_plies=message.max_plies,
        min_score=message.min_score,
        max_score=message.max_score,
        digest=message.spec_digest,
    )


def _field(message: catalog_pb2.ViewField) -> ViewField:
    return ViewField(
        name=message.name,
        offset=message.offset,
        axes=tuple(
            Axis(axis.name, axis.size, cast(AxisOrder, word(catalog_pb2.AxisOrder, axis.order)), axis.table)
            for axis in message.axes
        ),
        max=message.max,
        usual_max=message.usual_max or message.max,
        copies=message.copies or 1,
        kind=_kind(message.kind),
        table=message.table,
        names=tuple(message.names),
        description=message.description,
    )


def _table(message: catalog_pb2.ComponentTable) -> ComponentTable:
    columns = tuple(
        Column(column.name, _kind(column.kind), column.table, tuple(column.names))
        for column in message.columns
    )
    values = np.array(message.values, dtype=np.int32).reshape(message.rows, len(columns))
    values.flags.writeable = False
    return ComponentTable(message.name, columns, values)


def _kind(value: catalog_pb2.ValueKind.ValueType) -> ValueKind:
    return cast(ValueKind, word(catalog_pb2.ValueKind, value))


def observation(message: observation_pb2.Observation, spec: GameSpec) -> Observation:
    """What a seat sees, in arrays of its own."""
    mask = np.frombuffer(message.mask, dtype=np.uint8)
    return Observation(
        episode=message.episode,
        ply=message.ply,
        decision=message.decision,
        view=np.frombuffer(message.view, dtype=np.uint8).copy(),
        mask=unpacked_mask(mask, len(spec.actions)),
        pending=tuple(message.pending),
        reward=message.reward,
        terminated=message.terminated,
        truncated=message.truncated,
        substituted=message.substituted,
        outcome=outcome(message.outcome) if message.HasField("outcome") else None,
        text=message.text,
        actions=tuple(LegalAction(action.index, action.label) for action in message.actions),
        head=message.head,
        clocks=tuple(_reading(reading) for reading in message.clocks),
        timed_out=message.timed_out,
    )


def _reading(message: observation_pb2.ClockReading) -> ClockReading | None:
    if message == observation_pb2.ClockReading():
        return None
    left, bank = message.left.ToTimedelta(), message.bank.ToTimedelta()
    return ClockReading(left.total_seconds(), bank.total_seconds(), message.running, message.strikes)


def outcome(message: observation_pb2.Outcome) -> Outcome:
    """How an episode ended."""
    return Outcome(
        scores=tuple(message.scores),
        ranks=tuple(message.ranks),
        forfeits=tuple(
            cast(Forfeit, word(observation_pb2.Forfeit, why)) if why else None for why in message.forfeits
        ),
        explanations=tuple(
            tuple(ScoreLine(line.source, line.points) for line in explanation.lines)
            for explanation in message.explanations
        ),
    )


def match_info(message: match_pb2.Match) -> MatchInfo:
    """What everybody may know of a match."""
    opening = message.seed_opening if message.HasField("seed_opening") else None
    config, closed = message.config, message.close_reason
    return MatchInfo(
        id=message.id,
        game=config.game,
        players=players_of(config.players),
        options=dict(config.options),
        reward=cast(Reward, word(match_pb2.RewardKind, config.reward)),
        skip_forced=config.skip_forced,
        illegal_actions=cast(IllegalActions, word(match_pb2.IllegalActionPolicy, config.illegal_actions)),
        seat_may_seed=config.seat_may_seed,
        episodes=config.episodes,
        host_begins=config.host_begins,
        private=config.private,
        labels=dict(config.labels),
        watch_delay=config.watch_delay.ToTimedelta(),
        clocks=tuple(_clock_of(clock) for clock in config.clocks),
        fair=fair_deal(message.fair) if message.HasField("fair") else None,
        spec_digest=message.spec_digest,
        state=cast(MatchState, word(match_pb2.MatchState, message.state)),
        close_reason=cast(CloseReason, word(match_pb2.CloseReason, closed)) if closed else None,
        joined=tuple(message.joined),
        waiting_for=tuple(message.waiting_for),
        episode=message.episode,
        ply=message.ply,
        create_time=message.create_time.ToDatetime(timezone.utc),
        last_action_time=message.last_action_time.ToDatetime(timezone.utc),
        seed_commitment=message.seed_commitment,
        seed_source=cast(Literal["drawn", "given"], word(match_pb2.SeedSource, message.seed_source)),
        seed_opening=None if opening is None else seed_opening(opening),
    )


def seed_opening(message: match_pb2.SeedOpening) -> SeedOpening:
    """What opens the commitment to an episode's key."""
    seed = message.seed if message.HasField("seed") else None
    return SeedOpening(seed, message.salt, message.key, message.server_secret)


def fair_deal(message: match_pb2.FairDeal) -> FairDeal:
    """How fair deals come about."""
    commitments, secrets = tuple(message.seat_commitments), tuple(message.seat_secrets)
    return FairDeal(message.server_commitment, commitments, secrets)


def invitations(message: match_service_pb2.CreateMatchResponse) -> tuple[Invitation, ...]:
    """The invitations of a new match, in seat order."""
    return tuple(Invitation(given.seat, given.code) for given in message.invitations)


def server_info(message: catalog_pb2.Server) -> ServerInfo:
    """What a server is."""
    limits = message.limits
    return ServerInfo(
        version=message.version,
        protocols=tuple(message.protocols),
        features=tuple(message.features),
        limits=Limits(
            message_bytes=limits.message_bytes,
            matches=limits.matches,
            matches_per_caller=limits.matches_per_caller,
            waiting_calls=limits.waiting_calls,
            match_idle_timeout=limits.match_idle_timeout.ToTimedelta(),
            batches=limits.batches,
            environments=limits.environments,
            environments_per_caller=limits.environments_per_caller,
            batch_idle_timeout=limits.batch_idle_timeout.ToTimedelta(),
        ),
    )


def options(given: Mapping[str, str] | None) -> dict[str, str]:
    """The options of a table as the wire has them: words, as which whole numbers and flags are taken too.

    Raises:
        TypeError: A value is neither.
    """
    return {name: _option(name, value) for name, value in (given or {}).items()}


def _option(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return str(operator.index(value))  # type: ignore[arg-type] # It is asked whether it can.
    except TypeError:
        raise TypeError(f"option {name!r} is a word or a whole number, not {value!r}") from None


#: The parameter of each bot that has one.
_PARAMETERS = {"greedy": "worlds", "mc": "playouts"}


def player(name: str) -> match_pb2.Player:
    """Who plays, by a name: `agent`, a bot such as `mc:160`, `policy:NAME` or `policy:NAME:argmax`.

    What is no such name is sent as that of a bot: the server says which there are.
    """
    if name == AGENT:
        return match_pb2.Player(agent=match_pb2.Player.Agent())
    kind, _, rest = name.partition(":")
    if kind == "policy" and rest:
        policy = match_pb2.Player.Policy(name=rest.removesuffix(":argmax"), argmax=rest.endswith(":argmax"))
        return match_pb2.Player(policy=policy)
    if kind in _PARAMETERS and rest.isascii() and rest.isdigit() and len(rest) < 10:
        bot = match_pb2.Player.Bot(name=kind, parameters={_PARAMETERS[kind]: int(rest)})
        return match_pb2.Player(bot=bot)
    return match_pb2.Player(bot=match_pb2.Player.Bot(name=name))


def player_of(message: match_pb2.Player) -> str:
    """The name of who plays; `unknown` where a newer server knows more kinds."""
    kind = message.WhichOneof("kind")
    if kind == "agent":
        return AGENT
    if kind == "policy":
        return f"policy:{message.policy.name}{':argmax' if message.policy.argmax else ''}"
    if kind == "bot":
        return ":".join([message.bot.name, *map(str, message.bot.parameters.values())])
    return "unknown"


def players(names: Iterable[str]) -> list[match_pb2.Player]:
    """Who plays at each seat, by their names."""
    return [player(name) for name in names]


def players_of(messages: Iterable[match_pb2.Player]) -> tuple[str, ...]:
    """The names of who plays at each seat."""
    return tuple(player_of(message) for message in messages)


def reward(name: Reward) -> match_pb2.RewardKind.ValueType:
    """The wire's word for what a seat is rewarded for."""
    return match_pb2.RewardKind.Value(f"REWARD_KIND_{_one_of(name, get_args(Reward)).upper()}")


def policy(name: IllegalActions) -> match_pb2.IllegalActionPolicy.ValueType:
    """The wire's word for what happens to illegal actions."""
    known = _one_of(name, get_args(IllegalActions))
    return match_pb2.IllegalActionPolicy.Value(f"ILLEGAL_ACTION_POLICY_{known.upper()}")


def autoreset(name: Autoreset) -> batch_pb2.AutoresetMode.ValueType:
    """The wire's word for what becomes of environments whose episodes have ended."""
    return batch_pb2.AutoresetMode.Value(f"AUTORESET_MODE_{_one_of(name, get_args(Autoreset)).upper()}")


def rollout(name: RolloutPolicy) -> search_pb2.RolloutPolicy.ValueType:
    """The wire's word for who plays worlds to their end."""
    return search_pb2.RolloutPolicy.Value(f"ROLLOUT_POLICY_{_one_of(name, get_args(RolloutPolicy)).upper()}")


def autoreset_of(message: batch_pb2.Batch) -> Autoreset:
    """What becomes of environments of a batch whose episodes have ended."""
    return cast(Autoreset, word(batch_pb2.AutoresetMode, message.config.autoreset))


def states(names: Iterable[MatchState]) -> list[match_pb2.MatchState.ValueType]:
    """The wire's words for how matches stand."""
    known = get_args(MatchState)
    return [match_pb2.MatchState.Value(f"MATCH_STATE_{_one_of(name, known).upper()}") for name in names]


def word(enum: Any, value: int) -> str:
    """The word of an enum's value: `VALUE_KIND_ID` is `id`; `unknown` where a newer server has more."""
    if value not in enum.values():
        return "unknown"
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return cast(str, enum.Name(value)).removeprefix(prefix).lower()


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ValueError(f"{name!r} is not one of {', '.join(known)}")
    return name


_POLICIES = {
    "forfeit": match_pb2.TIMEOUT_POLICY_FORFEIT,
    "first_legal": match_pb2.TIMEOUT_POLICY_FIRST_LEGAL,
    "seeded_legal": match_pb2.TIMEOUT_POLICY_SEEDED_LEGAL,
}


def clocks(given: Clock | Mapping[int, Clock] | None, seats: int) -> list[match_pb2.Clock]:
    """Clocks as messages: none, one for all seats, or one for each.

    Raises:
        ValueError: A clock is for a seat that is not there.
    """
    if given is None:
        return []
    if isinstance(given, Clock):
        return [_clock(given)]
    for seat in given:
        if not 0 <= seat < seats:
            raise ValueError(f"there is no seat {seat}")
    return [_clock(given[seat]) if seat in given else match_pb2.Clock() for seat in range(seats)]


def _clock(given: Clock) -> match_pb2.Clock:
    bot = None if given.on_timeout in _POLICIES else player(given.on_timeout)
    return match_pb2.Clock(
        limit=duration(given.limit),
        bank=duration(given.bank),
        increment=duration(given.increment),
        strikes=given.strikes,
        on_timeout=_POLICIES.get(given.on_timeout, match_pb2.TIMEOUT_POLICY_BOT),
        bot=bot,
    )


def _clock_of(message: match_pb2.Clock) -> Clock | None:
    if message == match_pb2.Clock():
        return None
    times = (message.limit, message.bank, message.increment)
    limit, bank, increment = (time.ToTimedelta().total_seconds() for time in times)
    named = message.HasField("bot")
    on_timeout = player_of(message.bot) if named else word(match_pb2.TimeoutPolicy, message.on_timeout)
    return Clock(limit, bank, increment, message.strikes, on_timeout)


def duration(seconds: float) -> Duration:
    """A time as a message."""
    message = Duration()
    message.FromTimedelta(timedelta(seconds=seconds))
    return message
