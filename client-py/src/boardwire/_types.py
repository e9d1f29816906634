"""Value types of play: observations, outcomes, and the steps of batches and searches."""

from __future__ import annotations

import operator
from abc import ABCMeta
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core

#: What a seat is rewarded for at the end of an episode: its rank (+1 first to -1 last, ties share the
#: mean), the win (shared between winners), its margin over the best other score, or its score.
Reward = Literal["rank", "win", "margin", "score"]

#: What the server does with an illegal action: it rejects the action, plays the legal action with the lowest
#: index, plays a legal action drawn from the episode's seed, or makes the seat forfeit the episode.
IllegalActions = Literal["reject", "first_legal", "seeded_legal", "forfeit"]

#: When an environment of a batch starts its next episode: in the step after the one that ended the episode,
#: in the same step, or only on a reset.
Autoreset = Literal["next_step", "same_step", "disabled"]

#: Columns that the steps of a batch contain on request.
BatchColumn = Literal["scores", "final_views", "episodes", "oracle", "advice_shares", "estimates"]

#: Why a seat forfeited an episode: it chose an illegal action in a match that forfeits those, it ran out of
#: time, it resigned, or the host ended the episode against it.
Forfeit = Literal["illegal_action", "time", "resigned", "host"]

#: The name, in a line-up, of a player that the client controls.
AGENT = "agent"

#: The value of `seat` in a row whose episode is over.
NOBODY = 255

# The bits of a row's flags.
TERMINATED, TRUNCATED, SUBSTITUTED, FORFEITED = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One source of a seat's points.

    Attributes:
        source: What gave the points, such as `R27`.
        points: The points.
    """

    source: str
    points: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended.

    Attributes:
        scores: The final score of each seat; empty when the episode was truncated or forfeited.
        ranks: The rank of each seat, 1 is first; tied seats have the same rank; empty when the episode was
            truncated.
        forfeits: For each seat the reason why it forfeited the episode, None if it did not; empty when no
            seat forfeited.
        explanations: The sources of each seat's points, on request.
    """

    scores: tuple[int, ...]
    ranks: tuple[int, ...]
    forfeits: tuple[Forfeit | None, ...]
    explanations: tuple[tuple[ScoreLine, ...], ...]


@dataclass(frozen=True, slots=True)
class LegalAction:
    """An action that a seat may choose now.

    Attributes:
        index: The action's index, for `act`.
        label: The action in words: `GameSpec.actions[index].label`, except with a label seed.
        phrase: What the action does in this position, unique among the legal actions.
    """

    index: int
    label: str
    phrase: str


@dataclass(frozen=True, slots=True)
class ClockReading:
    """A reading of a seat's clock, in seconds.

    Attributes:
        left: The time left for the seat's current decision, or for its next one.
        bank: The part of that time that is in the bank.
        running: Whether the clock is running.
        strikes: How many more timeouts the server forgives.
    """

    left: float
    bank: float
    running: bool
    strikes: int


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """An observation of one seat. The caller owns its arrays.

    Attributes:
        episode: The episode, counted from 0.
        ply: How many actions all seats together have made in the episode.
        decision: How many decisions this seat has made in the episode.
        view: What the seat may know: `uint8[bytes]`, with the layout in `GameSpec.fields`.
        mask: The action mask: `bool[actions]`, True for legal; all False when the seat owes no decision.
        pending: The seats that owe a decision, ascending.
        reward: The reward since this seat's last decision, a `float32`; 0 until the episode is over.
        terminated: Whether the episode has ended by the rules, or by a forfeit.
        truncated: Whether the episode was cut off at its maximum length.
        substituted: Whether this seat's last action was illegal and the server played another in its place.
        outcome: How the episode ended; None before it ends.
        text: The position as text for people, on request; else empty.
        actions: The legal actions with their labels and phrases, ascending, on request; else empty.
        head: The head of the hash chain over all decisions of the episode, 32 bytes, on request; else empty.
        clocks: The reading of each seat's clock, None for a seat without one; empty if no seat has a clock.
        timed_out: Whether the server made this seat's last decision because the seat's time had run out.
        history: Lines of text, on request: what the seat may know of all decisions since its last one, its
            last one included; before its first decision, since the deal.
    """

    episode: int
    ply: int
    decision: int
    view: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    pending: tuple[int, ...]
    reward: float
    terminated: bool
    truncated: bool
    substituted: bool
    outcome: Outcome | None
    text: str
    actions: tuple[LegalAction, ...]
    head: bytes = b""
    clocks: tuple[ClockReading | None, ...] = ()
    timed_out: bool = False
    history: str = ""

    @property
    def over(self) -> bool:
        """Whether the episode has terminated or was truncated."""
        return self.terminated or self.truncated

    @property
    def scores(self) -> tuple[int, ...]:
        """The final score of each seat; empty if there is none."""
        return self.outcome.scores if self.outcome else ()

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each seat; empty if there is none."""
        return self.outcome.ranks if self.outcome else ()


def unpacked_mask(packed: NDArray[np.uint8], actions: int) -> NDArray[np.bool_]:
    """Unpacks action masks from bits, low bit first, to `bool[..., actions]`."""
    return np.unpackbits(packed, axis=-1, count=actions, bitorder="little").view(np.bool_)


@dataclass(frozen=True, eq=False)
class BatchStep(metaclass=ABCMeta):
    """A step of consecutive environments of a batch, or of worlds of a search: one row for each.

    Later steps do not reuse these arrays. All arrays but `mask` are read-only, because they share the memory
    of the received message: copy an array to change it. Without a server, each array keeps the memory of the
    whole step alive.

    Attributes:
        first: The environment of the first row.
        seat: `uint8[n]`, the seat that owes the row's decision; 255 when the episode is over.
        view: `uint8[n, bytes]`, the view of `seat`; when the episode is over, of the lowest agent seat.
        packed_mask: `uint8[n, ceil(actions / 8)]`, `mask` as bits: action i is bit i % 8 of byte i // 8.
        action_count: The number of actions.
        reward: `float32[n, seats]`, the reward of every seat; 0 unless an episode ended in this step.
        ply: `uint32[n]`, how many actions have been applied in the row's episode.
        flags: `uint8[n]`, the sum of 1 terminated, 2 truncated, 4 substituted, 8 forfeited. With autoreset
            `same_step`, the flags are those of the episode that ended.
        ended: `uint32[k]`, the environments whose episodes ended in this step, ascending.
        episode: `uint32[n]`, the number of the row's episode, on request.
        scores: `int32[k, seats]`, final scores; 0 when truncated or forfeited; on request.
        ranks: `uint8[k, seats]`, final ranks, 1 is first; 0 when truncated; on request.
        final_view: `uint8[k, agents, bytes]`, the final views of the agent seats, ascending; zero where a
            line-up has fewer agents than another; on request.
        oracle: `uint8[n, seats, bytes]`, the views of all seats, clockwise from the deciding seat; 0 when
            over; on request. For critics in training: a player that acts on it sees all hands.
        oracle_mask: `uint8[n, seats, ceil(actions / 8)]`, the packed action masks of all seats, in the order
            of `oracle`; 0 for seats that owe no decision, and when over; with `oracle`.
        advice: `uint8[n]`, the action that the advising bot or policy would choose, from what the deciding
            seat knows; 255 when over; on request.
        advice_shares: `float32[n, actions]`, the weight of each action: its share of the playouts of `mc`, a
            policy's probability, or for other bots 1 for `advice`; 0 when over; on request.
        estimates: `float32[n, actions]`, the game's estimate for the deciding seat after each action: the
            mean over 8 states sampled from what the seat knows; NaN for illegal actions; on request. The
            advice of `greedy` is the lowest action with the greatest estimate. Each game has its own unit.
    """

    first: int
    seat: NDArray[np.uint8]
    view: NDArray[np.uint8]
    packed_mask: NDArray[np.uint8]
    action_count: int
    reward: NDArray[np.float32]
    ply: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    ended: NDArray[np.uint32]
    episode: NDArray[np.uint32] | None
    scores: NDArray[np.int32] | None
    ranks: NDArray[np.uint8] | None
    final_view: NDArray[np.uint8] | None
    oracle: NDArray[np.uint8] | None
    oracle_mask: NDArray[np.uint8] | None
    advice: NDArray[np.uint8] | None
    advice_shares: NDArray[np.float32] | None
    estimates: NDArray[np.float32] | None

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """`bool[n, actions]`, the action mask: True for legal; all False when the episode has ended.

        The first access unpacks the mask and keeps it. The caller may write to it.
        """
        return unpacked_mask(self.packed_mask, self.action_count)

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the episode has ended by the rules or by a forfeit."""
        return (self.flags & TERMINATED).astype(np.bool_)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the episode was cut off at its maximum length."""
        return (self.flags & TRUNCATED).astype(np.bool_)

    @property
    def over(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the episode has terminated or was truncated."""
        return (self.flags & (TERMINATED | TRUNCATED)).astype(np.bool_)

    @property
    def substituted(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and the server played another in its place."""
        return (self.flags & SUBSTITUTED).astype(np.bool_)

    @property
    def forfeited(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and the seat forfeited the episode."""
        return (self.flags & FORFEITED).astype(np.bool_)

    def part(self, rows: slice) -> BatchStep:
        """Returns a step of some consecutive rows, with the episode ends of these rows.

        Args:
            rows: The rows, from 0 to n.
        """
        first, end, _ = rows.indices(len(self.seat))
        among = (self.ended >= self.first + first) & (self.ended < self.first + end)
        of_ends = ("ended", "scores", "ranks", "final_view")
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        cut: dict[str, Any] = {
            name: column[among if name in of_ends else slice(first, end)]
            for name, column in columns.items()
            if isinstance(column, np.ndarray)
        }
        return replace(self, first=self.first + first, **cut)

    def _row(self, row: int, seat: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_], int, int, float]:
        """Returns a row's view, mask, ply, flags and reward of `seat`."""
        ply, flags, reward = int(self.ply[row]), int(self.flags[row]), float(self.reward[row, seat])
        return self.view[row], self.mask[row], ply, flags, reward

    def legal(self, row: int) -> list[int]:
        """Returns the legal actions of a row, ascending."""
        legal: list[int] = np.unpackbits(self.packed_mask[row], bitorder="little").nonzero()[0].tolist()
        return legal


# The steps of the extension have the same attributes.
BatchStep.register(_core.Step)


def check_bot(name: str) -> None:
    """Refuses `AGENT` as the name of a bot.

    Raises:
        ValueError: The name is `AGENT`.
    """
    if name == AGENT:
        raise ValueError(f"{name!r} is not a bot: opponents must be bots, such as 'greedy', or policies")


def line_up_against(opponents: Mapping[int, str], seats: int) -> list[str]:
    """Returns the line-up with these bots at their seats and agents at all others.

    Raises:
        ValueError: The table has no such seat for a bot.
    """
    players = [AGENT] * seats
    for seat, bot in opponents.items():
        if not 0 <= seat < seats:
            raise ValueError(f"the seats of `opponents` must be from 0 to {seats - 1}; got {seat}")
        players[seat] = bot
    return players


def seats_of(
    line_ups: Sequence[Sequence[str]], seats: int | None, opponents: Mapping[int, str] | None
) -> int:
    """Returns the number of seats of the line-ups.

    Raises:
        ValueError: The line-ups differ in their number of seats, it is not `seats`, a line-up is a string, or
            `opponents` is given too.
    """
    if opponents is not None:
        raise ValueError("`opponents` and `line_ups` exclude each other: give one of them")
    if any(isinstance(players, str) for players in line_ups):
        raise ValueError("`line_ups` must be a list of lists of players, such as [['agent', 'greedy']]")
    counts = sorted({len(players) for players in line_ups})
    if not counts:
        raise ValueError("`line_ups` must have at least one line-up")
    if len(counts) > 1:
        found = " or ".join(map(str, counts))
        raise ValueError(f"all `line_ups` must have the same number of seats; got {found}")
    if seats is not None and operator.index(seats) != counts[0]:
        raise ValueError(f"`line_ups` have {counts[0]} seats, but seats={seats}")
    return counts[0]
