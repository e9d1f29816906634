"""Messages into values and back; beyond here there are no messages."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np

from ._spec import Field, FieldKind, Game, GameSpec, Option, Table
from ._types import (
    IllegalActions,
    Invitation,
    MatchInfo,
    Observation,
    Outcome,
    Reward,
    ScoreLine,
    Seed,
)
from .v1 import catalog_pb2, match_pb2, match_service_pb2, observation_pb2


def game(message: catalog_pb2.Game) -> Game:
    """A game."""
    return Game(
        id=message.id,
        name=message.name,
        rules_version=message.rules_version,
        min_seats=message.min_seats,
        max_seats=message.max_seats,
        options=tuple(
            Option(
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
        provenance={part.section: part.source for part in message.provenance},
    )


def game_spec(message: catalog_pb2.GameSpec) -> GameSpec:
    """One table of a game."""
    return GameSpec(
        game=game(message.game),
        seats=message.seats,
        options=dict(message.options),
        actions=tuple(message.actions),
        fields={field.name: _field(field) for field in message.fields},
        view_bytes=message.view_bytes,
        tables={table.name: _table(table) for table in message.tables},
        max_plies=message.max_plies,
        min_score=message.min_score,
        max_score=message.max_score,
        digest=message.spec_digest,
        chance_streams=tuple(message.chance_streams),
    )


def _field(message: catalog_pb2.Field) -> Field:
    kind = catalog_pb2.FieldKind.Name(message.kind).removeprefix("FIELD_KIND_").lower()
    return Field(
        name=message.name,
        offset=message.offset,
        shape=tuple(message.shape),
        max=message.max,
        kind=cast(FieldKind, kind),
        table=message.table,
        names=tuple(message.names),
        description=message.description,
    )


def _table(message: catalog_pb2.Table) -> Table:
    values = np.array(message.values, dtype=np.int32).reshape(message.rows, len(message.columns))
    values.flags.writeable = False
    return Table(message.name, tuple(message.columns), values)


def observation(message: observation_pb2.Observation, spec: GameSpec) -> Observation:
    """What a seat sees, in arrays of its own."""
    mask = np.frombuffer(message.mask, dtype=np.uint8)
    return Observation(
        episode=message.episode,
        ply=message.ply,
        decision=message.decision,
        view=np.frombuffer(message.view, dtype=np.uint8).copy(),
        mask=np.unpackbits(mask, count=len(spec.actions), bitorder="little").view(np.int8),
        pending=bits(message.pending),
        reward=message.reward,
        terminated=message.terminated,
        truncated=message.truncated,
        substituted=message.substituted,
        outcome=_outcome(message.outcome) if message.HasField("outcome") else None,
        text=message.text,
    )


def _outcome(message: observation_pb2.Outcome) -> Outcome:
    return Outcome(
        scores=tuple(message.scores),
        ranks=tuple(message.ranks),
        forfeited_by=message.forfeited_by if message.HasField("forfeited_by") else None,
        explanations=tuple(
            tuple(ScoreLine(line.source, line.points) for line in explanation.lines)
            for explanation in message.explanations
        ),
    )


def match_info(message: match_pb2.Match) -> MatchInfo:
    """What everybody may know of a match."""
    reward = match_pb2.RewardKind.Name(message.reward).removeprefix("REWARD_KIND_").lower()
    policy = match_pb2.IllegalActionPolicy.Name(message.illegal_actions)
    state = match_pb2.MatchState.Name(message.state).removeprefix("MATCH_STATE_").lower()
    return MatchInfo(
        id=message.id,
        game=message.game,
        seats=tuple(message.seats),
        joined=bits(message.joined),
        options=dict(message.options),
        reward=cast(Reward, reward),
        skip_forced=message.skip_forced,
        illegal_actions=cast(IllegalActions, policy.removeprefix("ILLEGAL_ACTION_POLICY_").lower()),
        spec_digest=message.spec_digest,
        state=cast(Literal["playing", "over", "closed"], state),
        episode=message.episode,
        ply=message.ply,
        seed_commitment=message.seed_commitment,
        seed=Seed(message.seed.seed, message.seed.salt) if message.HasField("seed") else None,
    )


def invitations(message: match_service_pb2.CreateMatchResponse) -> tuple[Invitation, ...]:
    """The invitations of a new match, in seat order."""
    return tuple(Invitation(given.seat, given.invitation) for given in message.invitations)


def reward(name: Reward) -> match_pb2.RewardKind.ValueType:
    """The wire's word for what a seat is rewarded for."""
    return match_pb2.RewardKind.Value(f"REWARD_KIND_{_one_of(name, get_args(Reward)).upper()}")


def policy(name: IllegalActions) -> match_pb2.IllegalActionPolicy.ValueType:
    """The wire's word for what happens to illegal actions."""
    known = _one_of(name, get_args(IllegalActions))
    return match_pb2.IllegalActionPolicy.Value(f"ILLEGAL_ACTION_POLICY_{known.upper()}")


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ValueError(f"{name!r} is not one of {', '.join(known)}")
    return name


def bits(mask: int) -> tuple[int, ...]:
    """The members of a set given as bits."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
