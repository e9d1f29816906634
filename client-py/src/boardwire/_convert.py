"""Messages into values and back; beyond here there are no messages."""

from __future__ import annotations

from typing import Literal, cast, get_args

import numpy as np

from ._spec import Field, FieldKind, Game, GameSpec, Option, Table
from ._types import (
    Autoreset,
    BatchStep,
    IllegalActions,
    Invitation,
    MatchInfo,
    Observation,
    Outcome,
    Reward,
    ScoreLine,
    Seed,
)
from .v1 import batch_pb2, catalog_pb2, match_pb2, match_service_pb2, observation_pb2

#: Who plays at the seats of a batch that bots do not play.
LEARNER = "learner"


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


def batch_step(message: batch_pb2.BatchStep, spec: GameSpec, about: batch_pb2.Batch) -> BatchStep:
    """The rows of a step. Each column is copied out of the message once, and only the mask is unpacked."""
    seat = np.frombuffer(message.seat, dtype=np.uint8)
    n, ended, columns = len(seat), np.frombuffer(message.ended, dtype="<u4"), about.columns
    k, scores = len(ended), columns.scores
    packed = np.frombuffer(message.mask, dtype=np.uint8).reshape(n, -1)
    mask = np.unpackbits(packed, axis=1, count=len(spec.actions), bitorder="little").view(np.int8)
    final_view = None
    if columns.final_views:
        shape = k, list(about.seats).count(LEARNER), spec.view_bytes
        final_view = np.frombuffer(message.final_view, dtype=np.uint8).reshape(shape)
    return BatchStep(
        first=message.first,
        seat=seat,
        view=np.frombuffer(message.view, dtype=np.uint8).reshape(n, spec.view_bytes),
        mask=mask,
        reward=np.frombuffer(message.reward, dtype="<f4").reshape(n, spec.seats),
        ply=np.frombuffer(message.ply, dtype="<u4"),
        flags=np.frombuffer(message.flags, dtype=np.uint8),
        ended=ended,
        episode=np.frombuffer(message.episode, dtype="<u4") if columns.episodes else None,
        scores=np.frombuffer(message.scores, dtype="<i4").reshape(k, spec.seats) if scores else None,
        ranks=np.frombuffer(message.ranks, dtype=np.uint8).reshape(k, spec.seats) if scores else None,
        final_view=final_view,
    )


def match_info(message: match_pb2.Match) -> MatchInfo:
    """What everybody may know of a match."""
    reward = match_pb2.RewardKind.Name(message.reward).removeprefix("REWARD_KIND_").lower()
    policy = match_pb2.IllegalActionPolicy.Name(message.illegal_actions)
    state = match_pb2.MatchState.Name(message.state).removeprefix("MATCH_STATE_").lower()
    source = match_pb2.SeedSource.Name(message.seed_source).removeprefix("SEED_SOURCE_").lower()
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
        seed=_seed(message.seed) if message.HasField("seed") else None,
        seed_source=cast(Literal["drawn", "given"], source),
        seat_may_seed=message.seat_may_seed,
        private=message.private,
    )


def _seed(message: match_pb2.Seed) -> Seed:
    return Seed(message.seed if message.HasField("seed") else None, message.salt, message.key)


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


def autoreset(name: Autoreset) -> batch_pb2.AutoresetMode.ValueType:
    """The wire's word for what becomes of environments whose episodes have ended."""
    return batch_pb2.AutoresetMode.Value(f"AUTORESET_MODE_{_one_of(name, get_args(Autoreset)).upper()}")


def _one_of(name: str, known: tuple[str, ...]) -> str:
    if name not in known:
        raise ValueError(f"{name!r} is not one of {', '.join(known)}")
    return name


def bits(mask: int) -> tuple[int, ...]:
    """The members of a set given as bits."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)
