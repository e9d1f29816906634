"""A game as text for a language model: one decision after the other, and the result of each episode."""

from __future__ import annotations

import contextlib
import operator
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, SupportsIndex, get_args

from .. import Address, Client, GameSpec, LegalAction, Match, Observation, Reward, Seat, shared_client
from .._connection import Closing
from ..errors import ConnectionLost, EpisodeOver, Gone, NotYourTurn, StaleRequest
from ._verbs import plain, verbs_of

#: How texts name components: by their names, or by neutral names such as `city 3`, which change with the
#: seed of the episode.
Labels = Literal["names", "permuted"]

#: Why an episode ended: by the rules; at its maximum length; a seat gave too many illegal replies; the
#: session resigned an episode that its caller left; or a seat forfeited otherwise, such as by its clock.
Ended = Literal["finished", "truncated", "illegal", "abandoned", "forfeited"]

#: The server decided instead of the seat, or another episode has begun.
_OUTDATED = (StaleRequest, NotYourTurn, EpisodeOver)


@dataclass(frozen=True, slots=True)
class Result:
    """How an episode ended.

    Attributes:
        ended: Why it ended. Only `finished` episodes were won or lost by play.
        scores: The score of each seat; empty if the episode was not scored.
        places: The place of each seat, 1 is first; empty if the episode was truncated.
        rewards: The reward of each seat that the session plays.
        illegal_replies: The number of illegal or unreadable replies of each seat that the session plays.
        seed: The seed of the episode; None in a match of another host.
    """

    ended: Ended
    scores: tuple[int, ...]
    places: tuple[int, ...]
    rewards: Mapping[int, float]
    illegal_replies: Mapping[int, int]
    seed: int | None

    def __str__(self) -> str:
        """Returns one line."""
        scores = ", ".join(map(str, self.scores)) or "none"
        places = ", ".join(map(str, self.places)) or "none"
        return f"The episode is over ({self.ended}). Scores by seat: {scores}. Places by seat: {places}."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the deciding seat may know. `str(prompt)` is the whole text for the model.

    Attributes:
        seat: The seat that decides; once the episode is over, the seat that decided last.
        text: What the seat saw since its last decision, and the position; after an illegal reply, only the
            error; at the end, the result.
        actions: The legal actions; empty once the episode is over.
        calls: The call of the verb's tool for each legal action, such as `place(sanctuary=3)`.
        error: Why the last reply changed nothing; empty if it was legal.
        illegal_replies: The number of illegal or unreadable replies of this seat in this episode.
        result: How the episode ended; None before that.
    """

    seat: int
    text: str
    actions: tuple[LegalAction, ...]
    calls: tuple[str, ...]
    error: str
    illegal_replies: int
    result: Result | None

    @property
    def legal(self) -> list[str]:
        """The phrases of the legal actions."""
        return [action.phrase for action in self.actions]

    def __str__(self) -> str:
        """Returns the text, and the legal actions to reply with."""
        return self._with("Reply with one of these actions:", self.legal)

    def for_tools(self) -> str:
        """Returns the text, and the legal actions with the calls of their tools."""
        lines = [f"{call}: {phrase}" for call, phrase in zip(self.calls, self.legal, strict=True)]
        return self._with("Call the tool of one of these actions:", lines)

    def _with(self, request: str, lines: list[str]) -> str:
        if self.result:
            return self.text
        return "\n".join([self.text, "", request, *(f"- {line}" for line in lines)])


class Session(Closing):
    """Episodes at seats of a match, as prompts and replies. Subclasses define how an episode begins.

    A session is for use by one thread at a time.

    Attributes:
        spec: The spec of the table.
        verbs: The verbs of the game by name; each is a tool.
        prompt: The last prompt; None before the first reset.
        how_to_play: What a player needs to know first, with the names of the present episode.
    """

    def __init__(
        self, client: Client, spec: GameSpec, labels: Labels, illegal_limit: int | None, seed: int | None
    ) -> None:
        """Is called by subclasses.

        Raises:
            ValueError: `labels` or `illegal_limit` is not allowed.
        """
        if labels not in get_args(Labels):
            raise ValueError(f"`labels` must be {' or '.join(map(repr, get_args(Labels)))}; got {labels!r}")
        if illegal_limit is not None and illegal_limit < 1:
            raise ValueError(f"`illegal_limit` must be at least 1, or None for no limit; got {illegal_limit}")
        self.spec = spec
        self.verbs = verbs_of(spec)
        self.prompt: Prompt | None = None
        self.how_to_play = ""
        self._client = client
        self._permuted, self._illegal_limit = labels == "permuted", illegal_limit
        self._seed = secrets.randbits(64) if seed is None else seed
        self._episode = 0
        self._label_seed: int | None = None
        #: The seed of the present episode, if the session chose it.
        self._episode_seed: int | None = None
        self._seats: dict[int, Seat] = {}
        self._illegal: dict[int, int] = {}

    def _begin(self, seed: int) -> None:
        """Begins an episode, and sets `_seats`."""
        raise NotImplementedError

    def reset(self, seed: SupportsIndex | None = None) -> Prompt:
        """Begins an episode and returns its first prompt.

        Args:
            seed: The seed of the episode, 0 to 2**64 - 1; by default it follows from the session's seed.
                Permuted names follow from it too.

        Raises:
            ValueError: The seed is not allowed.
        """
        drawn = Random(f"{self._seed}/{self._episode}").getrandbits(64)
        number = drawn if seed is None else operator.index(seed)
        if not 0 <= number < 2**64:
            raise ValueError(f"`seed` must be 0 to 2**64 - 1; got {number}")
        self._label_seed = Random(f"labels/{number}").getrandbits(64) if self._permuted else None
        self._begin(number)
        self._episode += 1
        self._illegal = dict.fromkeys(self._seats, 0)
        index = min(self._seats)
        spec, label_seed = self.spec, self._label_seed
        rules = self._client.rules(spec.id, seats=spec.seats, options=spec.options, label_seed=label_seed)
        self.how_to_play = rules.how_to_play
        return self._show(index, self._seats[index].observe(wait=len(self._seats) == 1, **self._extras()))

    def play(self, reply: str | int) -> Prompt:
        """Makes the decision of the last prompt, and returns the next prompt.

        An illegal or unreadable reply changes nothing, and the next prompt has the error. Once the episode is
        over, the last prompt returns again.

        Args:
            reply: The phrase or label of a legal action, with any case and spaces. Or its index, unless names
                are permuted, since an index is the same in all episodes.
        """
        wanted, actions = plain(str(reply)), self._last().actions
        named = {} if self._permuted else {str(action.index): action for action in actions}
        named |= {plain(action.label): action for action in actions}
        named |= {plain(action.phrase): action for action in actions}
        return self._decide(str(reply), named.get(wanted))

    def call(self, verb: str, argument: object = None) -> Prompt:
        """Makes the decision of the last prompt by a verb's tool; otherwise as `play`.

        Args:
            verb: One of `verbs`.
            argument: The argument of the tool; None for a verb without one.
        """
        last, call = self._last(), _call(verb, argument)
        called = dict(zip(map(plain, last.calls), last.actions, strict=True))
        return self._decide(call, called.get(plain(call)))

    def resign(self) -> Prompt:
        """Ends the episode against the deciding seat, as `abandoned`, and returns the last prompt."""
        last = self._last()
        return last if last.result else self._forfeit(last.seat, "abandoned")

    def close(self) -> None:
        """Closes the seats."""
        for seat in self._seats.values():
            seat.close()

    def _last(self) -> Prompt:
        if self.prompt is None:
            raise RuntimeError("there is no episode: call `reset` first")
        return self.prompt

    def _extras(self) -> dict[str, Any]:
        wanted = {"text": True, "actions": True, "history": True, "label_seed": self._label_seed}
        return {**wanted, "timeout": None}

    def _decide(self, reply: str, action: LegalAction | None) -> Prompt:
        last = self._last()
        if last.result:
            return last
        if action is None:
            return self._refuse(last, reply)
        seat, alone = self._seats[last.seat], len(self._seats) == 1
        try:
            obs = seat.act(action.index, wait=alone, **self._extras())
        except _OUTDATED:
            obs = seat.observe(wait=alone, **self._extras())
        return self._show(last.seat, obs)

    def _refuse(self, last: Prompt, reply: str) -> Prompt:
        self._illegal[last.seat] += 1
        count, limit = self._illegal[last.seat], self._illegal_limit
        if count == limit:
            return self._forfeit(last.seat, "illegal")
        of_limit = "" if limit is None else f" of {limit}, after which the seat forfeits"
        error = (
            f"The reply must be one of the legal actions; got {reply[:80]!r}. Nothing changed. "
            f"This was illegal reply {count}{of_limit}."
        )
        self.prompt = replace(last, text=error, error=error, illegal_replies=count)
        return self.prompt

    def _forfeit(self, index: int, reason: Ended) -> Prompt:
        obs = self._seats[index].resign(history=True, label_seed=self._label_seed)
        return self._end(index, obs, reason)

    def _show(self, index: int, obs: Observation) -> Prompt:
        """Returns the prompt of the seat that decides next, from an observation of one seat."""
        if obs.over:
            forfeited = obs.outcome is not None and any(obs.outcome.forfeits)
            return self._end(
                index, obs, "truncated" if obs.truncated else "forfeited" if forfeited else "finished"
            )
        if len(self._seats) > 1:
            index = min(obs.pending)
            obs = self._seats[index].observe(**self._extras())
        calls = []
        for action in obs.actions:
            verb = self.verbs[self.spec.actions[action.index].verb]
            calls.append(_call(verb.name, verb.value(action.label) if verb.argument else None))
        text = "\n\n".join(filter(None, [f"You play seat {index}.", obs.history.strip(), obs.text.strip()]))
        self.prompt = Prompt(index, text, obs.actions, tuple(calls), "", self._illegal[index], None)
        return self.prompt

    def _end(self, index: int, obs: Observation, ended: Ended) -> Prompt:
        others = {at: seat.observe(wait=False).reward for at, seat in self._seats.items() if at != index}
        rewards = {**others, index: obs.reward}
        seed, illegal = self._episode_seed, dict(self._illegal)
        result = Result(ended, obs.scores, obs.ranks, rewards, illegal, seed)
        text = "\n\n".join(filter(None, [obs.history.strip(), str(result)]))
        self.prompt = Prompt(index, text, (), (), "", self._illegal[index], result)
        return self.prompt


class GameSession(Session):
    """Episodes of one game for a language model, which plays one seat or all seats.

    In self-play every prompt is for one seat, one decision after the other, also where seats decide
    simultaneously.
    """

    def __init__(
        self,
        game: str,
        *,
        seats: int | None = None,
        agent_seat: int = 0,
        opponents: str | Sequence[str] | None = "greedy",
        options: Mapping[str, str] | None = None,
        reward: Reward = "rank",
        labels: Labels = "names",
        seed: int | None = None,
        illegal_limit: int | None = 3,
        address: str | Address | None = None,
    ) -> None:
        """Loads the game's spec; the first reset creates the match.

        Args:
            game: The game's id.
            seats: The number of seats; by default the fewest that the game allows.
            agent_seat: The seat of the session.
            opponents: A bot or policy for all other seats, such as `greedy` or `policy:NAME`, or one for each
                of them in order. None for self-play: the session has all seats.
            options: The game's options.
            reward: What a seat is rewarded for.
            labels: Whether texts use the names of the game, or neutral ones, which tells reasoning from
                recall.
            seed: The seed from which the seeds of episodes follow if `reset` gets none; by default drawn.
            illegal_limit: The number of illegal replies at which a seat forfeits the episode; None for no
                limit.
            address: The server's address; by default all sessions of this process share a private server.

        Raises:
            NotFound: The game is not served.
            InvalidRequest: The game has no such table.
            ValueError: `agent_seat`, the number of `opponents`, `labels` or `illegal_limit` is not allowed.
        """
        client = shared_client(address)
        super().__init__(client, client.game(game, seats=seats, options=options), labels, illegal_limit, seed)
        self._players = _players(self.spec.seats, agent_seat, opponents)
        self._reward: Reward = reward
        self._match: Match | None = None

    def _begin(self, seed: int) -> None:
        self._episode_seed = seed
        if self._match is not None:
            with contextlib.suppress(Gone, ConnectionLost):
                self._match.reset(seed)
                return
            # The server restarted, or closed an idle match.
            super().close()
        spec = self.spec
        self._match = self._client.create_match(
            spec.id, players=self._players, options=spec.options, seed=seed, reward=self._reward, private=True
        )
        agents = [index for index, player in enumerate(self._players) if player == "agent"]
        self._seats = {index: self._match.join(index) for index in agents}

    def close(self) -> None:
        """Closes the match."""
        super().close()
        if self._match is not None:
            with contextlib.suppress(Gone, ConnectionLost):
                self._match.close()
            self._match = None


class InvitedSession(Session):
    """Episodes at the seat of an invitation. Its `reset` waits for the next episode of the match."""

    def __init__(
        self, client: Client, code: str, *, labels: Labels = "names", illegal_limit: int | None = 3
    ) -> None:
        """Joins the match.

        Args:
            client: The client of the match's server.
            code: The code of the invitation.
            labels: As in `GameSession`.
            illegal_limit: As in `GameSession`.
        """
        seat = client.join(code)
        super().__init__(client, seat.spec, labels, illegal_limit, None)
        assert seat.index is not None, "the seat of an invitation has a number"
        self._seats = {seat.index: seat}

    def _begin(self, seed: int) -> None:
        """Waits for the next episode; its host chooses the seed."""
        if self._episode:
            (seat,) = self._seats.values()
            seat.reset(timeout=None)


def _call(verb: str, argument: object) -> str:
    return f"{verb}({'' if argument is None else str(argument).strip()})"


def _players(seats: int, agent_seat: int, opponents: str | Sequence[str] | None) -> list[str]:
    if opponents is None:
        return ["agent"] * seats
    if not 0 <= agent_seat < seats:
        raise ValueError(f"`agent_seat` must be 0 to {seats - 1}; got {agent_seat}")
    others = [opponents] * (seats - 1) if isinstance(opponents, str) else list(opponents)
    if len(others) != seats - 1:
        raise ValueError(
            f"`opponents` must be one name, or {seats - 1} names at {seats} seats; got {len(others)}"
        )
    return [*others[:agent_seat], "agent", *others[agent_seat:]]
