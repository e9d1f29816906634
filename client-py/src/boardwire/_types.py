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


#: What becomes of an environment of a batch whose episode has ended: the next step begins the next episode,
#: the same step does, or nothing before a reset.
Autoreset = Literal["next_step", "same_step", "disabled"]


#: The seat of a row whose episode is over.
NOBODY = 255


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


@dataclass(frozen=True, slots=True, eq=False)
class BatchStep:
    """The decisions that a run of environments shows: a row an environment.

    No array is used again by a later step. All but `mask` are read-only, since they lie in what was received:
    copy what you want to change.

    Attributes:
        first: The environment of the first row.
        seat: `uint8[n]`, the seat whose decision the row shows; 255 when the episode is over.
        view: `uint8[n, bytes]`, what that seat may know; when over, what the lowest learner seat may know.
        mask: `int8[n, actions]`, 0 or 1, the legal actions; all 0 when over.
        reward: `float32[n, seats]`, the reward of every seat; 0 unless an episode ended in this step.
        ply: `uint32[n]`, how many actions have been applied in the episode shown.
        flags: `uint8[n]`, the sum of 1 terminated, 2 truncated, 4 substituted, 8 forfeited. When the same
            step begins the next episode, they tell of the one that ended.
        ended: `uint32[k]`, the environments whose episodes ended in this step, ascending.
        episode: `uint32[n]`, the number of the episode shown, on request.
        scores: `int32[k, seats]`, final scores; 0 when truncated or forfeited; on request.
        ranks: `uint8[k, seats]`, places, 1 is first; 0 when truncated; on request.
        final_view: `uint8[k, learners, bytes]`, what the learner seats saw at the end, on request.
    """

    first: int
    seat: NDArray[np.uint8]
    view: NDArray[np.uint8]
    mask: NDArray[np.int8]
    reward: NDArray[np.float32]
    ply: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    ended: NDArray[np.uint32]
    episode: NDArray[np.uint32] | None
    scores: NDArray[np.int32] | None
    ranks: NDArray[np.uint8] | None
    final_view: NDArray[np.uint8] | None

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the episode has ended by the rules, or by a forfeit."""
        return (self.flags & 1).astype(np.bool_)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether it was cut at its greatest length."""
        return (self.flags & 2).astype(np.bool_)

    @property
    def substituted(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and another was played for it."""
        return (self.flags & 4).astype(np.bool_)

    @property
    def forfeited(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and lost the episode."""
        return (self.flags & 8).astype(np.bool_)

    @property
    def over(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether an episode has ended, one way or the other."""
        return (self.flags & 3).astype(np.bool_)


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
        seed: The seed, 0 to 2**64 - 1, if it was given or follows from one that was.
        salt: 16 bytes.
        key: The 32 bytes of the episode's key, which all its randomness follows from.
    """

    seed: int | None
    salt: bytes
    key: bytes


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
        seed_commitment: 32 bytes: BLAKE3 of the match's id, the present episode (4 bytes, low first), the
            spec digest, the episode's key and the salt.
        seed: What is behind the commitment, once it may be known.
        seed_source: Whether the server has drawn the seed, or somebody gave it and can compute every card.
        seat_may_seed: Whether the only remote seat may give seeds.
        private: Whether the match is shown to its host and its seats alone.
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
    seed_source: Literal["drawn", "given"]
    seat_may_seed: bool
    private: bool
