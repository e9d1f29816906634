"""What a server and its matches tell of themselves, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ._types import IllegalActions, Reward

#: How a match stands: some seat owes a decision, the present episode has ended, it has been closed, or, where
#: deals are fair, seats have yet to join or to open what they contribute.
MatchState = Literal["playing", "over", "closed", "gathering"]

#: Why a match has been closed: by its host, since nobody used it for too long, since a bot of it failed,
#: since the server is shutting down, since a seat did not open what it had contributed to the deal,
#: or since all its episodes have been played.
CloseReason = Literal["host", "idle", "bot_failed", "shutting_down", "withheld", "finished"]


@dataclass(frozen=True, slots=True)
class Invitation:
    """What lets one agent in, once.

    Attributes:
        seat: The seat, counted from 0.
        code: The secret to join with, also in another process or on another machine.
    """

    seat: int
    code: str


@dataclass(frozen=True, slots=True)
class Clock:
    """How long a seat may think: seconds.

    It thinks from when it could be shown that it owes a decision, and no bot is thinking, until its act has
    come; what that was on the wire is given back within bounds. Time in which the server is down or held up
    is not counted.

    Attributes:
        limit: For every decision, before the bank is drawn on.
        bank: For the whole episode: what decisions take beyond the limit.
        increment: What is put into the bank after every decision that was made in time.
        strikes: How often in an episode it is forgiven that time has run out, at most 100: the decision then
            begins anew.
        on_timeout: What happens when it is not forgiven: `forfeit`; `first_legal` or `seeded_legal`, which
            are played for the seat; or the name of a bot that makes the decision, such as `greedy`.
    """

    limit: float = 0.0
    bank: float = 0.0
    increment: float = 0.0
    strikes: int = 0
    on_timeout: str = "forfeit"


@dataclass(frozen=True, slots=True)
class SeedOpening:
    """What opens the commitment to an episode's key.

    Attributes:
        seed: The seed, 0 to 2**64 - 1, if it was given or follows from one that was.
        salt: 16 bytes.
        key: The 32 bytes of the episode's key, which all its randomness follows from.
        server_secret: Where deals are fair, the 32 bytes that the server has contributed; else empty.
    """

    seed: int | None
    salt: bytes
    key: bytes
    server_secret: bytes = b""


@dataclass(frozen=True, slots=True)
class FairDeal:
    """How deals come about in which everybody has a hand. All hashes are SHA-256.

    Attributes:
        server_commitment: Hashed e + 1 times, what the server contributes to episode e.
        seat_commitments: By seat the hash of what it contributes; empty of bots, and of agents that have not
            joined.
        seat_secrets: By seat what it contributes; empty of bots, and until all have opened that.
    """

    server_commitment: bytes
    seat_commitments: tuple[bytes, ...]
    seat_secrets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class MatchInfo:
    """What everybody may know of a match.

    Attributes:
        id: The match's id.
        game: The game's id.
        players: Who plays at each seat: `agent`, or the name of a bot.
        options: Every option with its value.
        reward: What a seat is rewarded for.
        skip_forced: Whether the engine plays decisions with a single legal action.
        illegal_actions: What happens to illegal actions.
        seat_may_seed: Whether the only agent may give seeds.
        episodes: After how many episodes it closes itself; never, when 0.
        host_begins: Whether only the host begins episodes.
        private: Whether the match is shown to those alone who hold a token of it: host, seats, spectators.
        labels: What its host has labelled it with.
        watch_delay: How long after they have come to be positions are shown, by `watch` to everybody, by
            `replay` to all but the host and the seats: seconds.
        clocks: How long each seat may think, none for as long as it likes; empty where nobody has a clock.
        fair: How its deals come about, if they are fair.
        spec_digest: The digest of the table's facts, as in `GameSpec.digest`.
        state: `gathering`, `playing`, `over` or `closed`.
        close_reason: Why it has been closed; None as long as it is open.
        joined: The seats that are bots or have been joined.
        waiting_for: The seats that the match waits for: those that owe a decision while it is played, the
            agents that have not asked for the next episode once one is over.
        episode: The present episode, counted from 0.
        ply: How many actions have been applied in it.
        create_time: When the match was created, in UTC.
        last_action_time: When the last action was applied, or the present episode dealt if none has been.
        seed_commitment: 32 bytes: BLAKE3 of the match's id, the present episode (4 bytes, low first), the
            spec digest, the episode's key and the salt.
        seed_source: Whether the server has drawn the seed, or somebody gave it and can compute every card.
        seed_opening: What the commitment hides, once it may be known.
    """

    id: str
    game: str
    players: tuple[str, ...]
    options: Mapping[str, str]
    reward: Reward
    skip_forced: bool
    illegal_actions: IllegalActions
    seat_may_seed: bool
    episodes: int
    host_begins: bool
    private: bool
    labels: Mapping[str, str]
    watch_delay: float
    clocks: tuple[Clock | None, ...]
    fair: FairDeal | None
    spec_digest: str
    state: MatchState
    close_reason: CloseReason | None
    joined: tuple[int, ...]
    waiting_for: tuple[int, ...]
    episode: int
    ply: int
    create_time: datetime
    last_action_time: datetime
    seed_commitment: bytes
    seed_source: Literal["drawn", "given"]
    seed_opening: SeedOpening | None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much callers may ask of a server.

    Attributes:
        message_bytes: The largest message that it sends, and that loading a snapshot takes.
        matches: The most matches that may be open at once.
        matches_per_caller: The most of them that one caller may have created.
        waiting_calls: The most calls that one seat may have waiting.
        match_idle_timeout: How long a match stays that nobody uses: seconds.
        batches: The most batches, searches and worlds that may be open at once; one caller may have three
            quarters of them.
        environments: The most environments that all of them may have.
        environments_per_caller: The most environments that those of one caller may have.
        batch_idle_timeout: How long a batch stays that nobody uses: seconds.
    """

    message_bytes: int
    matches: int
    matches_per_caller: int
    waiting_calls: int
    match_idle_timeout: float
    batches: int
    environments: int
    environments_per_caller: int
    batch_idle_timeout: float


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server is.

    Attributes:
        version: The version of its software, such as `0.2.0`.
        protocols: The protocols it speaks, such as `boardwire.v1`.
        features: What it can do that not every server of the protocol can.
        limits: How much callers may ask for.
    """

    version: str
    protocols: tuple[str, ...]
    features: tuple[str, ...]
    limits: Limits
