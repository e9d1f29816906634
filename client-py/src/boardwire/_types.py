"""What a match is made of, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: What a seat is rewarded for at the end of an episode: its place (+1 first to -1 last, ties share the
#: mean), the win (shared between winners), its margin over the best other score, or its score.
Reward = Literal["rank", "win", "margin", "score"]

#: What happens to an action that is illegal now: it is refused, the legal action with the lowest index or
#: one drawn from the episode's seed is played for it, or it loses the episode.
IllegalActions = Literal["reject", "first_legal", "seeded_legal", "forfeit"]


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One source of a seat's points.

    Attributes:
        source: What gave them, such as `region 27`.
        points: The points.
    """

    source: str
    points: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended.

    Attributes:
        scores: The final score of each seat; empty when the episode was truncated or forfeited.
        ranks: The place of each seat, 1 is first; seats that share a place have the same number; empty
            when the episode was truncated.
        forfeited_by: The seat that lost by an illegal action, if one did.
        explanations: Where the points of each seat came from, when asked for.
    """

    scores: tuple[int, ...]
    ranks: tuple[int, ...]
    forfeited_by: int | None
    explanations: tuple[tuple[ScoreLine, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What one seat sees. Its arrays belong to whoever holds it.

    Attributes:
        episode: The episode, counted from 0.
        ply: How many actions have been applied in it, by all seats.
        decision: How many decisions this seat has made in it.
        view: What the seat may know: `uint8[bytes]`, laid out as `GameSpec.fields` says.
        mask: The legal actions: `int8[actions]`, 0 or 1; all 0 when the seat owes no decision.
        pending: The seats that owe a decision, in order.
        reward: The reward since this seat's last decision.
        terminated: Whether the episode has ended by the rules, or by a forfeit.
        truncated: Whether it was cut at its greatest length.
        substituted: Whether this seat's last action was illegal and another was played for it.
        outcome: How it ended, once it has.
        text: The position for people, when asked for; else empty.
    """

    episode: int
    ply: int
    decision: int
    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    pending: tuple[int, ...]
    reward: float
    terminated: bool
    truncated: bool
    substituted: bool
    outcome: Outcome | None
    text: str

    @property
    def over(self) -> bool:
        """Whether the episode has ended, one way or the other."""
        return self.terminated or self.truncated

    @property
    def scores(self) -> tuple[int, ...]:
        """The final score of each seat; empty while there is none."""
        return self.outcome.scores if self.outcome else ()

    @property
    def ranks(self) -> tuple[int, ...]:
        """The place of each seat; empty while there is none."""
        return self.outcome.ranks if self.outcome else ()


@dataclass(frozen=True, slots=True)
class Invitation:
    """What lets one agent in, once.

    Attributes:
        seat: The seat, counted from 0.
        invitation: The word to join with, also in another process or on another machine.
    """

    seat: int
    invitation: str


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed with the salt of its commitment.

    Attributes:
        seed: The episode's seed.
        salt: 16 bytes.
    """

    seed: int
    salt: bytes


@dataclass(frozen=True, slots=True)
class MatchInfo:
    """What everybody may know of a match.

    Attributes:
        id: The match's id.
        game: The game's id.
        seats: Who sits at each seat: `remote`, or the name of a bot.
        joined: The seats that are bots or have been joined.
        options: Every option with its value.
        reward: What a seat is rewarded for.
        skip_forced: Whether the engine plays decisions with a single legal action.
        illegal_actions: What happens to illegal actions.
        spec_digest: The digest of the table's facts, as in `GameSpec.digest`.
        state: `playing`, `over` or `closed`.
        episode: The present episode, counted from 0.
        ply: How many actions have been applied in it.
        seed_commitment: BLAKE3 of the present episode's seed (8 bytes, low first) and a salt (16 bytes).
        seed: The seed behind the commitment, once it may be known.
    """

    id: str
    game: str
    seats: tuple[str, ...]
    joined: tuple[int, ...]
    options: Mapping[str, str]
    reward: Reward
    skip_forced: bool
    illegal_actions: IllegalActions
    spec_digest: str
    state: Literal["playing", "over", "closed"]
    episode: int
    ply: int
    seed_commitment: bytes
    seed: Seed | None
