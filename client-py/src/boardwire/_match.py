"""The host's handle of a match."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _values
from ._connection import Closing, Connection
from ._info import Invitation, MatchInfo
from ._replay import Frame, Replay
from ._seat import MATCH_CONTINUES, WAIT_SECONDS, Seat, fetch_match, fetch_replay, watch
from ._spec import GameSpec
from ._waiting import result_of

if TYPE_CHECKING:
    from ._client import Client


class Match(Closing):
    """The host's handle of a match; it shows no seat's cards.

    Attributes:
        id: The match's id.
        spec: The spec of the table.
        host_token: The token that authenticates the host.
        spectator_token: The token that spectators of a private match need.
        invitations: An invitation for each agent's seat; each lets one agent join, once.
    """

    def __init__(
        self,
        client: Client,
        connection: Connection,
        match_id: str,
        spec: GameSpec,
        host_token: str,
        spectator_token: str,
        invitations: tuple[Invitation, ...],
    ) -> None:
        """Is called by `Client.create_match`."""
        self.id = match_id
        self.spec = spec
        self.host_token = host_token
        self.spectator_token = spectator_token
        self.invitations = invitations
        self._client = client
        self._connection = connection

    def join(self, seat: int) -> Seat:
        """Takes an agent's seat in this process.

        Raises:
            ValueError: The seat is not an agent's.
            NotPossibleNow: An agent has already taken the seat.
        """
        for invitation in self.invitations:
            if invitation.seat == seat:
                return result_of(self._client._join_with(self._connection, invitation.code, self.host_token))
        seats = ", ".join(str(invitation.seat) for invitation in self.invitations) or "there are none"
        raise ValueError(f"`seat` must be an agent's seat of {self.id} ({seats}); got {seat}")

    def invite(self, seat: int) -> Invitation:
        """Creates a new invitation for an agent's seat; the former invitation and token become invalid.

        Raises:
            InvalidRequest: The seat is not an agent's.
            NotPossibleNow: Agents are revealing their secrets for fair deals; no agent may be replaced then.
        """
        request = {"match_id": self.id, "seat": operator.index(seat)}
        answer = result_of(self._call("Invite", request, self._client._timeout))
        new = _values.invitation(answer["invitation"])
        self.invitations = tuple(new if known.seat == seat else known for known in self.invitations)
        return new

    def info(
        self, *, changed_from: MatchInfo | None = None, timeout: float | None = WAIT_SECONDS
    ) -> MatchInfo:
        """Returns what every seat may know of the match.

        Args:
            changed_from: An earlier return value; the call then waits until the match differs from it or is
                closed. By default it returns at once.
            timeout: The longest time to wait for a change: seconds; None for no limit.
        """
        timeout = self._client._timeout if changed_from is None else timeout
        return result_of(fetch_match(self._connection, self.id, timeout, self.host_token, changed_from))

    def reset(self, seed: SupportsIndex | None = None) -> None:
        """Begins the next episode, with `seed`, or with the next derived seed.

        The episode begins immediately, or with `host_begins` when every agent has asked for it.
        """
        request = {"match_id": self.id, "seed": seed}
        result_of(self._call("ResetMatch", request, WAIT_SECONDS))

    def resign(self, seat: int, *, episode: int | None = None) -> None:
        """Ends the present episode against an agent's seat: it is last, the others share the first place.

        Args:
            seat: The seat, counted from 0.
            episode: The episode, by default the present one. With an episode given, it is safe to retry.

        Raises:
            EpisodeOver: The episode ended without a forfeit of the seat, or the next one has begun.
            InvalidRequest: The seat is not an agent's.
        """
        request = {"match_id": self.id, "episode": episode, "seat": operator.index(seat)}
        result_of(self._call("Resign", request, self._client._timeout))

    def replay(self, episode: int | None = None) -> Replay:
        """Returns an episode from its deal on, as the public may see it.

        Once the episode is over, the replay has every decision and the key.

        Args:
            episode: The episode; by default the present one. The server keeps it and the four before it.

        Raises:
            InvalidRequest: The episode has not begun, or the server no longer keeps it.
        """
        return result_of(
            fetch_replay(
                self._connection,
                self.id,
                episode,
                token=self.host_token,
                timeout=self._client._timeout,
            )
        )

    def watch(self, *, after: int | None = None, timeout: float | None = WAIT_SECONDS) -> Iterator[Frame]:
        """Yields every position as the public may see it, as the match is played.

        A slow caller falls behind and delays no player. The iterator ends when the host closes the match or
        its last episode is over. To resume a lost stream, give `after`.

        Args:
            after: The `sequence` of the last frame that the caller has; the frames after it follow. By
                default the present position comes first.
            timeout: The longest time without a frame: seconds; None for no limit.

        Raises:
            NotFound: The server no longer keeps the frames after `after`: call `watch` without it.
            CallTimeout: No frame came within `timeout`.
            ConnectionLost: The server does not answer, or the connection was lost.
        """
        return watch(self._connection, self.id, after, token=self.spectator_token, timeout=timeout)

    def close(self) -> MatchInfo:
        """Closes the match for good; waiting calls fail with `Gone`.

        Raises:
            ConnectionLost: The server does not answer. The end of a `with` block ignores this error.
        """
        request = {"match_id": self.id}
        answer = result_of(self._call("CloseMatch", request, self._client._timeout))
        return _values.match_info(answer["match"])

    def __repr__(self) -> str:
        """Returns a text with the game and the match, without the token."""
        return f"<Match {self.id} of {self.spec.id}>"

    def _call(self, method: str, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        """Makes a call as the host."""
        return result_of(
            self._connection.call(
                f"MatchService/{method}",
                request,
                timeout=timeout,
                token=self.host_token,
                advice=MATCH_CONTINUES,
            )
        )
