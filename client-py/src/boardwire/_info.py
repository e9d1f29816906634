"""Value types that describe a server and its matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ._types import IllegalActions, Reward

#: The state of a match: a seat owes a decision, the current episode has ended, the match is closed, or, in a
#: match with fair deals, some seats have not yet joined or not yet opened their secrets.
MatchState = Literal["playing", "over", "closed", "gathering"]

#: Why a match was closed: its host closed it, it was unused for too long, one of its bots failed, the server
#: is shutting down, a seat did not open its secret for the deal, or all its episodes have been played.
CloseReason = Literal["host", "idle", "bot_failed", "shutting_down", "withheld", "finished"]


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation, which lets one agent join a match once.

    Attributes:
        seat: The seat, counted from 0.
        code: The secret to join with; it also works in another process or on another machine.
    """

    seat: int
    code: str


@dataclass(frozen=True, slots=True)
class Clock:
    """The time control of a seat, in seconds.

    The clock runs from when the server can show the seat its decision and no bot is thinking, until the
    seat's action arrives. The server credits network delay within bounds. It does not count time in which it
    is down or stalled.

    Attributes:
        limit: The time for each decision, before the bank is used.
        bank: The time for the whole episode that decisions may use beyond the limit.
        increment: The time added to the bank after each decision made in time.
        strikes: How many timeouts the server forgives in an episode, at most 100: the decision then starts
            again.
        on_timeout: What happens on a timeout that is not forgiven: `forfeit`; `first_legal` or
            `seeded_legal`, which the server plays for the seat; or the name of a bot that decides, such as
            `greedy`.
    """

    limit: float = 0.0
    bank: float = 0.0
    increment: float = 0.0
    strikes: int = 0
    on_timeout: str = "forfeit"


@dataclass(frozen=True, slots=True)
class SeedOpening:
    """The values that open the commitment to an episode's key.

    Attributes:
        seed: The seed, 0 to 2**64 - 1, if a caller gave it or it follows from such a seed; else None.
        salt: The salt of the commitment, 16 bytes.
        key: The episode's key, 32 bytes, which determines all randomness of the episode.
        server_secret: The server's secret for a fair deal, 32 bytes; empty if deals are not fair.
    """

    seed: int | None
    salt: bytes
    key: bytes
    server_secret: bytes = b""


@dataclass(frozen=True, slots=True)
class FairDeal:
    """The commitments and secrets of fair deals, to which all parties contribute. All hashes are SHA-256.

    Attributes:
        server_commitment: The server's secret for episode e, hashed e + 1 times.
        seat_commitments: The hash of each seat's secret; empty for bots, and for agents that have not joined.
        seat_secrets: The secret of each seat; empty for bots, and until all agents have opened theirs.
    """

    server_commitment: bytes
    seat_commitments: tuple[bytes, ...]
    seat_secrets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class MatchInfo:
    """The public facts of a match.

    Attributes:
        id: The match's id.
        game: The game's id.
        players: The player of each seat: `agent`, or the name of a bot.
        options: Every option with its value.
        reward: What a seat is rewarded for.
        skip_forced: Whether the engine plays decisions with a single legal action.
        illegal_actions: What the server does with illegal actions.
        seat_may_seed: Whether the agent may give seeds, if the match has exactly one agent.
        episodes: After how many episodes the match closes; never, when 0.
        host_begins: Whether only the host starts episodes.
        private: Whether the match is visible only to holders of one of its tokens: host, seats, spectators.
        labels: The labels that the host gave the match.
        watch_delay: The delay in seconds before positions are shown: by `watch` to all callers, by `replay`
            to callers that are neither the host nor a seat.
        clocks: The clock of each seat, None for unlimited time; empty if no seat has a clock.
        fair: The commitments and secrets of fair deals; None if deals are not fair.
        spec_digest: The digest of the spec, as in `GameSpec.digest`.
        state: `gathering`, `playing`, `over` or `closed`.
        close_reason: Why the match was closed; None while it is open.
        joined: The seats of bots, and the seats that agents have joined.
        waiting_for: The seats that the match waits for: during an episode those that owe a decision, after
            it the agents that have not asked for the next episode.
        episode: The current episode, counted from 0.
        ply: How many actions have been applied in the current episode.
        create_time: When the match was created, in UTC.
        last_action_time: When the last action was applied, or the current episode dealt if it has none.
        seed_commitment: 32 bytes: BLAKE3 of the match's id, the current episode (4 bytes, low first), the
            spec digest, the episode's key and the salt.
        seed_source: `drawn` if the server drew the seed, `given` if a caller gave it and can compute every
            card.
        seed_opening: The values that open the seed commitment; None until they may be known.
        etag: A hash of the other attributes.
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
    etag: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server.

    Attributes:
        message_bytes: The largest message that the server sends, or accepts to load a snapshot, in bytes.
        matches: The maximum number of open matches.
        matches_per_caller: The maximum number of open matches that one caller created.
        waiting_calls: The maximum number of waiting calls of one seat.
        match_idle_timeout: After how many seconds the server closes an unused match.
        batches: The maximum number of open batches, searches and worlds (determinizations); one caller may
            have three quarters of them.
        environments: The maximum number of environments in all of them together.
        environments_per_caller: The maximum number of environments in those of one caller.
        batch_idle_timeout: After how many seconds the server closes an unused batch.
        opening_timeout: Within how many seconds an agent must call `Seat.reveal`, once all have joined.
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
    opening_timeout: float


@dataclass(frozen=True, slots=True)
class BotParameter:
    """A parameter of a bot, as in `mc:160`.

    Attributes:
        name: The parameter's name, such as `playouts`.
        default: The value without a number in the bot's name.
        min: The lowest value.
        max: The highest value.
    """

    name: str
    default: int
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class BotSpec:
    """A bot that a server offers.

    Attributes:
        name: The bot's name. `search` is followed by the name of a policy: `search:NAME`.
        parameters: Its parameters.
    """

    name: str
    parameters: tuple[BotParameter, ...]


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A network that a server offers at one table, as the bots `policy:NAME` and `search:NAME`.

    Attributes:
        name: The policy's name.
        spec_digest: The digest of its table, as in `GameSpec.digest`.
        game: The game of the table; empty if the server does not know the table.
        seats: The number of seats.
        options: Every option with its value.
    """

    name: str
    spec_digest: str
    game: str
    seats: int
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The version, protocols, features, limits, bots and policies of a server.

    Attributes:
        version: The software version of the server, such as `0.2.0`.
        protocols: The protocols that the server speaks, such as `boardwire.v1`.
        features: The optional features of the protocol that the server supports.
        limits: The limits for callers.
        bots: The bots that matches and batches can use.
        policies: The networks that matches and batches can use, one for each policy and table.
    """

    version: str
    protocols: tuple[str, ...]
    features: tuple[str, ...]
    limits: Limits
    bots: tuple[BotSpec, ...]
    policies: tuple[PolicySpec, ...]
