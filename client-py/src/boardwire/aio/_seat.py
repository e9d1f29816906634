"""A seat: observe, act, reset. Also the calls about a match that seats, host and spectators share.

Generated from boardwire/_seat.py by client-py/tools/aio.py.
"""

from __future__ import annotations

import operator
import time
from collections.abc import AsyncIterator
from typing import Any, SupportsIndex

from .. import _values
from .._info import FairDeal, MatchInfo
from .._replay import Frame, Replay
from .._spec import GameSpec
from .._types import Observation, Reward
from ..errors import BoardwireError, CallTimeout, IllegalAction, ServerFault
from ._connection import ATTEMPTS, Closing, Connection, deadline
from ._search import SEARCH_SECONDS, Search, create_search
from ._stream import PlayStream
from ._waiting import ready

WAIT_SECONDS = 600.0
MATCH_CONTINUES = "the match continues while the server runs, and after a restart with its journal: repeat the call, or take the seat again with client.seat(match_id, token)"


class Seat(Closing):
    """An agent's seat in a match, for use by one thread or task.

    The seat sends its requests over one stream. The stream opens at the first call, and again after it broke.
    Use the seat in a `with` statement, or `close` it, which ends the stream.

    Attributes:
        match_id: The match's id.
        index: The number of the seat, counted from 0; None for a seat from `Client.seat`.
        token: The seat's secret token, valid over any connection until the match is closed.
        spec: The spec of the table.
        secret: The 32 bytes that the seat contributes to fair deals; empty if unknown.
        bound: The commitments that the seat saw before it revealed its secret; None before that. `replay`
            compares the replay's commitments with them.
        last: The latest observation; `act` makes the decision that it asks for.
    """

    def __init__(
        self,
        connection: Connection,
        match_id: str,
        token: str,
        spec: GameSpec,
        *,
        index: int | None,
        timeout: float | None,
        host_token: str = "",
        secret: bytes = b"",
    ) -> None:
        """Is called by `Client.join`, `Client.seat` and `Match.join`."""
        self.match_id = match_id
        self.index = index
        self.token = token
        self.spec = spec
        self.last: Observation | None = None
        self._received_at = 0.0
        self._connection = connection
        self._timeout = timeout
        self._stream = PlayStream(connection, token, advice=MATCH_CONTINUES)
        self._host_token = host_token
        self.secret = secret
        self.bound: FairDeal | None = None

    async def observe(
        self,
        *,
        wait: bool = True,
        text: bool = False,
        explain: bool = False,
        actions: bool = False,
        head: bool = False,
        history: bool = False,
        label_seed: SupportsIndex | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> Observation:
        """Returns the seat's observation, when the seat owes a decision or the episode is over.

        Args:
            wait: Whether to wait for that; without it the server responds immediately.
            text: Whether to add the position as text.
            explain: Whether to add the sources of the points, once the episode is over.
            actions: Whether to add the legal actions with their labels and phrases.
            head: Whether to add the hash at the end of the chain of decisions, to compare with the replay.
            history: Whether to add what happened since the seat's last decision.
            label_seed: Exchanges names in all texts for neutral ones, such as `city 3`; see `Client.rules`.
            timeout: Seconds; None for no limit.
        """
        extras = _extras(text, explain, actions, head, history, label_seed)
        request = {"match_id": self.match_id, "wait": wait, "extras": extras}
        return await self._ask("observe", request, timeout)

    async def act(
        self,
        action: SupportsIndex,
        *,
        wait: bool = True,
        text: bool = False,
        explain: bool = False,
        actions: bool = False,
        head: bool = False,
        history: bool = False,
        label_seed: SupportsIndex | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> Observation:
        """Makes the decision that the last observation asks for; observes first if there is no observation.

        If the response was lost, it is safe to retry: the action counts once.

        Args:
            action: The index of the action.
            wait: Whether to wait until the seat owes a decision again or the episode is over.
            text: Whether to add the position as text.
            explain: Whether to add the sources of the points, once the episode is over.
            actions: Whether to add the legal actions with their labels and phrases.
            head: Whether to add the hash at the end of the chain of decisions, to compare with the replay.
            history: Whether to add what happened since the seat's last decision.
            label_seed: Exchanges names in all texts for neutral ones, such as `city 3`; see `Client.rules`.
            timeout: Seconds; None for no limit.

        Raises:
            IllegalAction: There is no such action, or it is illegal now and the match rejects
                illegal actions.
            NotYourTurn: The seat owes no decision.
            StaleRequest: The seat has decided already, or another episode has begun. With `DECISION_LATE`:
                the seat's time ran out, and the server decided for it. Observe again.
        """
        index, count = (operator.index(action), len(self.spec.actions))
        if not 0 <= index < 1 << 32:
            raise IllegalAction(
                f"there is no action {index}; action indices are below {count}",
                reason="ACTION_OUT_OF_RANGE",
                metadata={"action": str(index), "actions": str(count)},
            )
        last = self.last or await self.observe(wait=False, timeout=timeout)
        request = {
            "match_id": self.match_id,
            "episode": last.episode,
            "decision": last.decision,
            "action": index,
            "wait": wait,
            "extras": _extras(text, explain, actions, head, history, label_seed),
            "thought": time.monotonic() - self._received_at if last.clocks else None,
        }
        return await self._ask("act", request, timeout)

    async def reset(
        self,
        seed: SupportsIndex | None = None,
        *,
        wait: bool = True,
        text: bool = False,
        actions: bool = False,
        history: bool = False,
        label_seed: SupportsIndex | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> Observation:
        """Asks for the next episode and waits for it; the episode begins when all agents have asked.

        With `host_begins` the host must also have called `Match.reset`. An agent that plays only
        against bots may leave an episode early, unless the match has `episodes`, `host_begins` or fair deals.

        Args:
            seed: The seed of the next episode. A seat that the host took by `Match.join` may give one. So may
                the agent of a match with one agent and `seat_may_seed`. By default the seed follows from
                the last seed that a caller gave; if no caller gave one, the server draws a secret seed.
            wait: Whether to also wait until the seat owes a decision or the episode is over.
            text: Whether to add the position as text.
            actions: Whether to add the legal actions with their labels and phrases.
            history: Whether to add what happened since the deal.
            label_seed: Exchanges names in all texts for neutral ones, such as `city 3`; see `Client.rules`.
            timeout: Seconds; None for no limit.

        Raises:
            NotPossibleNow: The episode is not over, and this agent may not leave it.
            AccessDenied: The seat may not give a seed.
        """
        number = None if seed is None else operator.index(seed)
        episode = self.last.episode if self.last else None
        if number is not None and self._host_token:
            await self._connection.call(
                "MatchService/ResetMatch",
                {"match_id": self.match_id, "seed": number, "episode": episode},
                timeout=timeout,
                token=self._host_token,
                advice=MATCH_CONTINUES,
            )
            self.last = None
            return await self.observe(
                wait=wait, text=text, actions=actions, history=history, label_seed=label_seed, timeout=timeout
            )
        request = {
            "match_id": self.match_id,
            "seed": number,
            "episode": episode,
            "wait": wait,
            "extras": _extras(text, False, actions, False, history, label_seed),
        }
        return await self._ask("reset", request, timeout)

    async def reveal(self, *, timeout: float | None = WAIT_SECONDS) -> None:
        """Reveals the secret that this seat contributes to fair deals, once all agents have joined.

        The client sends the secret only after it has seen the commitments of all agents. Otherwise an agent
        could learn the secret and choose its own commitment to fit. When all agents have revealed their
        secrets, the server deals the first episode. It is safe to retry.

        Args:
            timeout: How long the other agents may take to join: seconds; None for no limit.

        Raises:
            CallTimeout: The other agents did not join in time; nothing was sent.
            InvalidRequest: The match has no fair deals.
            Gone: Another seat did not reveal its secret in time, and has forfeited the match.
        """
        self.bound = self.bound or await self._all_joined(timeout)
        request = {"match_id": self.match_id, "secret": self.secret}
        await self._connection.call(
            "MatchService/OpenDeal",
            request,
            timeout=self._timeout,
            token=self.token,
            attempts=ATTEMPTS,
            advice=MATCH_CONTINUES,
        )

    async def _all_joined(self, timeout: float | None) -> FairDeal | None:
        """Waits until all agents have joined, and returns the commitments; None without fair deals."""
        due, match = (deadline(timeout), await self.info())
        while match.fair is not None:
            seats = zip(match.players, match.fair.seat_commitments, strict=True)
            if all((commitment for player, commitment in seats if player == "agent")):
                return match.fair
            left = None if timeout is None else max(due - time.monotonic(), 0.0)
            try:
                match = await self.info(changed_from=match, timeout=left)
            except CallTimeout:
                raise CallTimeout(f"not all agents joined within {timeout:g} seconds: try again") from None
        return None

    async def resign(
        self,
        *,
        text: bool = False,
        explain: bool = False,
        history: bool = False,
        label_seed: SupportsIndex | None = None,
        timeout: float | None = WAIT_SECONDS,
    ) -> Observation:
        """Gives up the episode of the last observation: the seat is last, the others share the first place.

        It observes first if there is no observation. It is safe to retry.

        Args:
            text: Whether to add the position as text.
            explain: Whether to add the sources of the points.
            history: Whether to add what happened since the seat's last decision.
            label_seed: Exchanges names in all texts for neutral ones, such as `city 3`; see `Client.rules`.
            timeout: Seconds; None for no limit.

        Raises:
            EpisodeOver: The episode ended without a forfeit of the seat, or the next one has begun.
        """
        last = self.last or await self.observe(wait=False, timeout=timeout)
        extras = _extras(text, explain, False, False, history, label_seed)
        request = {"match_id": self.match_id, "episode": last.episode, "extras": extras}
        return await self._ask("resign", request, timeout)

    async def search(
        self,
        worlds: int = 16,
        *,
        places: int | None = None,
        seed: SupportsIndex | None = None,
        reward: Reward = "rank",
        skip_forced: bool = False,
        timeout: float | None = SEARCH_SECONDS,
    ) -> Search:
        """Samples determinizations, called worlds, from what the seat knows, to search ahead in.

        Use the search in a `with` statement.

        Args:
            worlds: The number of worlds.
            places: The number of places, which hold worlds and copies; by default the number of worlds.
            seed: The seed that the worlds and the chance in each follow from; by default the server draws
                one.
            reward: What a seat is rewarded for in the worlds.
            skip_forced: Whether the engine plays decisions with a single legal action.
            timeout: Seconds; None for no limit.

        Raises:
            NotYourTurn: The seat owes no decision.
            EpisodeOver: The episode has ended.
            InvalidRequest: The rows of the worlds do not fit a message, or there are fewer places than
                worlds.
            ServerFull: The server is full; places count as environments.
        """
        return await create_search(
            self._connection,
            self.token,
            self.spec,
            {"match_id": self.match_id},
            worlds=worlds,
            places=places,
            seed=seed,
            reward=reward,
            skip_forced=skip_forced,
            timeout=timeout,
        )

    async def info(
        self, *, changed_from: MatchInfo | None = None, timeout: float | None = WAIT_SECONDS
    ) -> MatchInfo:
        """Returns what every seat may know of the match.

        Args:
            changed_from: An earlier return value; the call then waits until the match differs from it or is
                closed. By default it returns at once.
            timeout: The longest time to wait for a change: seconds; None for no limit.
        """
        timeout = self._timeout if changed_from is None else timeout
        return await fetch_match(self._connection, self.match_id, timeout, self.token, changed_from)

    async def replay(self, episode: int | None = None) -> Replay:
        """Returns an episode from its deal on, as this seat saw it.

        Once the episode is over, the replay has every decision and the key.

        Args:
            episode: The episode; by default the present one. The server keeps it and the four before it.

        Raises:
            InvalidRequest: The episode has not begun, or the server no longer keeps it.
            ServerFault: Deals are fair, and the replay's commitments differ from `bound`.
        """
        replay = await fetch_replay(
            self._connection, self.match_id, episode, token=self.token, timeout=self._timeout
        )
        if self.bound is not None:
            check_commitments(self.bound, replay.fair)
        return replay

    async def close(self) -> None:
        """Closes the stream. The seat stays taken, and the next call opens a new stream."""
        await ready(self._stream.close())

    def __repr__(self) -> str:
        """Returns a text with the match and the seat, without the token."""
        return f"<Seat {self.index} of {self.match_id}>"

    async def _ask(self, kind: str, request: dict[str, Any], timeout: float | None) -> Observation:
        self.last = _values.observation(await self._stream.ask(kind, request, timeout), self.spec)
        self._received_at = time.monotonic()
        return self.last


def check_commitments(expected: FairDeal, actual: FairDeal | None) -> None:
    """Compares the commitments of a replay with those that a seat saw before.

    Raises:
        ServerFault: They differ, or `actual` is None.
    """
    if actual is None or (actual.server_commitment, actual.seat_commitments) != (
        expected.server_commitment,
        expected.seat_commitments,
    ):
        raise ServerFault(
            "the commitments in the replay differ from those that this seat saw before it revealed its secret"
        )


async def fetch_match(
    connection: Connection,
    match_id: str,
    timeout: float | None,
    token: str,
    changed_from: MatchInfo | None = None,
) -> MatchInfo:
    """Fetches what the holder of a token may know of a match, once it differs from `changed_from`."""
    request = {"match_id": match_id, "known_etag": changed_from.etag if changed_from else ""}
    answer = await connection.call(
        "MatchService/GetMatch", request, timeout=timeout, token=token, advice=MATCH_CONTINUES
    )
    return _values.match_info(answer["match"])


async def fetch_replay(
    connection: Connection, match_id: str, episode: int | None, *, token: str, timeout: float | None
) -> Replay:
    """Fetches an episode as the holder of `token` may see it, or the public if it is empty."""
    request = {"match_id": match_id, "episode": episode}
    answer = await connection.call(
        "MatchService/GetReplay", request, timeout=timeout, token=token, advice=MATCH_CONTINUES
    )
    return _values.replay(answer["replay"])


async def watch(
    connection: Connection, match_id: str, after: int | None, *, token: str, timeout: float | None
) -> AsyncIterator[Frame]:
    """Yields every position of a match as the public may see it, as the match is played."""
    request = {"match_id": match_id, "after": after}
    call_stream = connection.channel.stream("MatchService/Watch", token, request)
    try:
        while True:
            try:
                response = await call_stream.receive(timeout)
            except BoardwireError as failure:
                raise await connection.with_details(failure, MATCH_CONTINUES) from None
            if response is None:
                return
            yield _values.frame(response["frame"])
    finally:
        call_stream.close()


def _extras(
    text: bool, explain: bool, actions: bool, head: bool, history: bool, label_seed: SupportsIndex | None
) -> dict[str, Any] | None:
    wanted = {"text": text, "explanation": explain, "actions": actions, "head": head, "history": history}
    if not any(wanted.values()):
        return None
    return {**wanted, "label_seed": None if label_seed is None else operator.index(label_seed)}
