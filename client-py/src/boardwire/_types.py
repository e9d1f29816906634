"""What is played, as plain values: observations, outcomes, the steps of batches."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core

#: What a seat is rewarded for at the end of an episode: its place (+1 first to -1 last, ties share the
#: mean), the win (shared between winners), its margin over the best other score, or its score.
Reward = Literal["rank", "win", "margin", "score"]

#: What happens to an action that is illegal now: it is refused, the legal action with the lowest index or
#: one drawn from the episode's seed is played for it, or it loses the episode.
IllegalActions = Literal["reject", "first_legal", "seeded_legal", "forfeit"]

#: What becomes of an environment of a batch whose episode has ended: the next step begins the next episode,
#: the same step does, or nothing before a reset.
Autoreset = Literal["next_step", "same_step", "disabled"]

#: What steps of a batch carry on request.
BatchColumn = Literal["scores", "final_views", "episodes", "oracle", "advice_shares"]

#: Who plays worlds to their end: what the game's own estimate likes best one ply ahead, or any legal action.
RolloutPolicy = Literal["estimate", "random"]

#: Why a seat forfeited an episode: an illegal action where that forfeits, no choice in the time it had, it
#: resigned, or the host ended the episode against it.
Forfeit = Literal["illegal_action", "time", "resigned", "host"]

#: The seat of a row whose episode is over.
NOBODY = 255

# The bits of a row's flags.
TERMINATED, TRUNCATED, SUBSTITUTED, FORFEITED = 1, 2, 4, 8


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
        forfeits: For each seat why it forfeited the episode, or None where it did not; empty when none did.
        explanations: Where the points of each seat came from, when asked for.
    """

    scores: tuple[int, ...]
    ranks: tuple[int, ...]
    forfeits: tuple[Forfeit | None, ...]
    explanations: tuple[tuple[ScoreLine, ...], ...]


@dataclass(frozen=True, slots=True)
class LegalAction:
    """An action that a seat may choose now.

    Attributes:
        index: Its index, for `act`.
        label: What it does, in words: `GameSpec.actions[index].label`.
    """

    index: int
    label: str


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What a seat's clock shows: seconds.

    Attributes:
        left: How long the seat may still think about the present decision, or the next.
        bank: How much of that is in the bank.
        running: Whether time passes.
        strikes: How often it is still forgiven that time runs out.
    """

    left: float
    bank: float
    running: bool
    strikes: int


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
        reward: The reward since this seat's last decision, a `float32`; 0 until the episode is over.
        terminated: Whether the episode has ended by the rules, or by a forfeit.
        truncated: Whether it was cut at its greatest length.
        substituted: Whether this seat's last action was illegal and another was played for it.
        outcome: How it ended, once it has.
        text: The position for people, when asked for; else empty.
        actions: The legal actions with their labels, ascending, when asked for; else empty.
        head: What all decisions of the episode so far chain up to, 32 bytes, when asked for; else empty.
        clocks: What the clock of each seat shows, none where it has none; empty where nobody has one.
        timed_out: Whether this seat's last decision was made for it, since its time had run out.
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
    actions: tuple[LegalAction, ...]
    head: bytes = b""
    clocks: tuple[ClockReading | None, ...] = ()
    timed_out: bool = False

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


def unpacked_mask(packed: NDArray[np.uint8], actions: int) -> NDArray[np.int8]:
    """Masks of actions from their bits, low bit first: `int8[..., actions]`, 0 or 1."""
    return np.unpackbits(packed, axis=-1, count=actions, bitorder="little").view(np.int8)


class _Rows(metaclass=ABCMeta):
    """Rows with masks of actions, and with flags: whether an episode, or a world of a search, has ended.

    Its metaclass lets steps that the extension makes pass for a `BatchStep`.
    """

    __slots__ = ("_mask",)

    flags: NDArray[np.uint8]
    packed_mask: NDArray[np.uint8]
    action_count: int
    _mask: NDArray[np.int8]

    @property
    def mask(self) -> NDArray[np.int8]:
        """`int8[n, actions]`, 0 or 1: the legal actions; all 0 when it has ended.

        It is unpacked when it is first asked for, and the caller's own: what is written to it stays.
        """
        try:
            return self._mask
        except AttributeError:
            mask = unpacked_mask(self.packed_mask, self.action_count)
            # The class is frozen, and this no change of it.
            object.__setattr__(self, "_mask", mask)
            return mask

    @property
    def terminated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether it has ended by the rules, or an episode by a forfeit."""
        return (self.flags & TERMINATED).astype(np.bool_)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether it was cut at its greatest length."""
        return (self.flags & TRUNCATED).astype(np.bool_)

    @property
    def over(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether it has ended, one way or the other."""
        return (self.flags & (TERMINATED | TRUNCATED)).astype(np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class BatchStep(_Rows):
    """The decisions that a run of environments shows: a row an environment.

    No array is used again by a later step. All but `mask` are read-only, since they lie in what was received:
    copy what you want to change. Without a server each keeps the memory of the whole step.

    Attributes:
        first: The environment of the first row.
        seat: `uint8[n]`, the seat whose decision the row shows; 255 when the episode is over.
        view: `uint8[n, bytes]`, what that seat may know; when over, what the lowest agent's seat may know.
        packed_mask: `uint8[n, ceil(actions / 8)]`, what `mask` unpacks: action i is bit i % 8 of byte i // 8.
        action_count: How many actions there are.
        reward: `float32[n, seats]`, the reward of every seat; 0 unless an episode ended in this step.
        ply: `uint32[n]`, how many actions have been applied in the episode shown.
        flags: `uint8[n]`, the sum of 1 terminated, 2 truncated, 4 substituted, 8 forfeited. When the same
            step begins the next episode, they tell of the one that ended.
        ended: `uint32[k]`, the environments whose episodes ended in this step, ascending.
        episode: `uint32[n]`, the number of the episode shown, on request.
        scores: `int32[k, seats]`, final scores; 0 when truncated or forfeited; on request.
        ranks: `uint8[k, seats]`, places, 1 is first; 0 when truncated; on request.
        final_view: `uint8[k, agents, bytes]`, what the agents' seats, ascending, saw at the end; zero
            where a line-up has fewer than another; on request.
        oracle: `uint8[n, seats, bytes]`, what every seat may know, from the deciding one on clockwise; 0 when
            over; on request. For critics in training: who acts on it plays with open hands.
        oracle_mask: `uint8[n, seats, ceil(actions / 8)]`, what every seat may choose, packed, in the same
            order; 0 for those who owe no decision, and when over; with `oracle`.
        advice: `uint8[n]`, the action that the bot asked for advice would choose, from what the deciding seat
            knows; 255 when over; on request.
        advice_shares: `float32[n, actions]`, what speaks for each action: its share of the playouts of `mc`,
            how likely a policy is to choose it, else 1 for the advice; 0 when over; on request.
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

    @property
    def substituted(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and another was played for it."""
        return (self.flags & SUBSTITUTED).astype(np.bool_)

    @property
    def forfeited(self) -> NDArray[np.bool_]:
        """`bool[n]`: whether the action was illegal and lost the episode."""
        return (self.flags & FORFEITED).astype(np.bool_)

    def part(self, rows: slice) -> BatchStep:
        """Some neighbouring rows, with what has ended among them.

        Args:
            rows: Which ones, from 0 to n.
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

    def _row(
        self, row: int, seat: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int8], int | None, int, int, float]:
        """A row by itself: view, mask, episode where it was asked for, ply, flags, and reward of a seat."""
        episode = None if self.episode is None else int(self.episode[row])
        ply, flags, reward = int(self.ply[row]), int(self.flags[row]), float(self.reward[row, seat])
        return self.view[row], self.mask[row], episode, ply, flags, reward

    def legal(self, row: int) -> list[int]:
        """The legal actions of a row, ascending."""
        legal: list[int] = np.unpackbits(self.packed_mask[row], bitorder="little").nonzero()[0].tolist()
        return legal


@dataclass(frozen=True, slots=True, eq=False)
class WorldStep(_Rows):
    """The decisions that some worlds of a search show: a row a world.

    All but `mask` are read-only, since they lie in what was received: copy what you want to change.

    Attributes:
        seat: `uint8[n]`, the seat whose decision the row shows: that for which the world was drawn, if it
            owes one, or else the lowest that does; 255 when the world is over.
        view: `uint8[n, bytes]`, what that seat may know there; when over, what the seat may know for which
            the world was drawn.
        packed_mask: `uint8[n, ceil(actions / 8)]`, what `mask` unpacks: action i is bit i % 8 of byte i // 8.
        action_count: How many actions there are.
        reward: `float32[n, seats]`, the reward of every seat; 0 unless the world has ended by the rules.
        ply: `uint32[n]`, how many actions have been applied since the world was drawn.
        flags: `uint8[n]`, 1 terminated, 2 truncated.
    """

    seat: NDArray[np.uint8]
    view: NDArray[np.uint8]
    packed_mask: NDArray[np.uint8]
    action_count: int
    reward: NDArray[np.float32]
    ply: NDArray[np.uint32]
    flags: NDArray[np.uint8]


BatchStep.register(_core.Step)
