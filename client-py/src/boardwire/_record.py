"""Records whole episodes of bots and policies: writes the steps of every seat to Parquet."""

from __future__ import annotations

import json
import operator
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._batch import Batch
from ._client import Client
from ._line_ups import AGENT, seats_of
from ._recording import Recording, RecordingFacts, Steps
from ._rollouts import Decisions, Policy, whole_actions
from ._shared import shared_client
from ._spec import GameSpec
from ._types import NOBODY, BatchStep, Reward

#: The number of arena matches that are replayed at once.
_AT_ONCE = 256


def record(
    folder: str | Path,
    game: str,
    line_ups: Sequence[Sequence[str]],
    *,
    episodes: int = 1024,
    policies: Mapping[str, Policy] | None = None,
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    reward: Reward = "rank",
    environments: int = 256,
    progress: Callable[[int], object] | None = None,
    client: Client | None = None,
) -> Recording:
    """Plays episodes and writes the observations, actions and rewards of every seat. Needs `boardwire[data]`.

    Each group of `environments` episodes becomes one file when the group has ended. If the call is
    interrupted, the files stay, and the same call resumes after them, also with a larger `episodes`.

    Bots choose from what their seat knows, as the adviser of a batch does. A batch has one adviser, so with n
    bots the server computes n actions for every decision.

    ```python
    recording = boardwire.record("data/greedy", "faraway", [["greedy", "greedy"]], episodes=4096)
    steps = recording.read().decisions
    ```

    Args:
        folder: The folder of the files; created if it does not exist.
        game: The game's id.
        line_ups: The bots and policies by seat, by name, such as `[["greedy", "mine"], ["mine", "greedy"]]`.
            Episode i has line-up i modulo the number of line-ups.
        episodes: The number of episodes in the folder when the call returns.
        policies: The policies by name. The `environment` of the `Decisions` that a policy gets is the number
            of the episode.
        options: The game's options; missing ones have their defaults.
        seed: The seed that determines the seeds of all episodes.
        reward: The kind of reward that seats get.
        environments: The number of episodes that are played at once, and of episodes per file.
        progress: Is called with a number of episodes after each file, and once for those already recorded.
        client: A client of a running server; by default of the private server of this process.

    Returns:
        The recording, ready to be read.

    Raises:
        ValueError: `episodes` or `environments` is below 1, or the line-ups are invalid. The folder has
            another recording. A policy has not returned a whole number for each decision.
        NotFound: The server does not offer the game.
        InvalidRequest: The game has no such table, or a bot does not exist.
        IllegalAction: A policy has chosen an illegal action.
    """
    from . import _parquet

    if episodes < 1 or environments < 1:
        raise ValueError(f"{episodes} episodes, {environments} at once: both are at least 1")
    given, seed = dict(policies or {}), operator.index(seed)
    served = shared_client(None) if client is None else client
    spec = served.game(game, seats=seats_of(line_ups, None, None), options=options)
    facts = _facts(spec, line_ups, given, seed, reward)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    done = _done(target, facts)
    if progress is not None and done:
        progress(min(done, episodes))
    seeds = np.random.PCG64(seed).random_raw(episodes)
    for first in range(done, episodes, environments):
        part = seeds[first : first + environments]
        steps = _Play(served, spec, facts, given, first + np.arange(len(part)), part).steps()
        _parquet.write(target / f"episodes-{first:09}.parquet", facts, steps)
        if progress is not None:
            progress(len(part))
    return Recording(target)


def record_arena(
    folder: str | Path,
    replays: str | Path,
    *,
    reward: Reward = "rank",
    progress: Callable[[int], object] | None = None,
    client: Client | None = None,
) -> Recording:
    """Replays the matches of an arena and writes the observations, actions and rewards of every seat.

    Needs `boardwire[data]`. Omits matches that an agent has forfeited, with a warning, because the reward of
    a forfeit is not part of the game.

    Args:
        folder: The folder of the files; created if it does not exist.
        replays: The folder that `boardwire arena --replays FOLDER` has written.
        reward: The kind of reward that seats get.
        progress: Is called with a number of episodes after each file.
        client: A client of a running server; by default of the private server of this process.

    Returns:
        The recording, ready to be read. With n line-ups, episode i is deal i // n in line-up i % n.

    Raises:
        FileNotFoundError: The folder has no replays.
        FileExistsError: `folder` already has a recording.
        ValueError: A file is not a replay, a replay ends early, or the server has other rules.
    """
    from . import _parquet

    told = json.loads(Path(replays, "arena.json").read_text("utf-8"))
    line_ups = [[told["bots"][player] for player in players] for players in told["line_ups"]]
    played = [_Played(file, len(line_ups)) for file in Path(replays).glob("deal-*-way-*.json")]
    whole = sorted((match for match in played if not match.given_up), key=lambda match: match.episode)
    if len(whole) < len(played):
        warnings.warn(f"{len(played) - len(whole)} matches were given up: they are left out", stacklevel=2)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    if any(target.glob("episodes-*.parquet")):
        raise FileExistsError(f"{target} has a recording already: name another folder")
    # On an error or interrupt, remove the written files: a partial recording looks like a complete one.
    served = shared_client(None) if client is None else client
    with ExitStack() as undo:
        spec = served.game(told["game"], seats=len(line_ups[0]), options=told["options"])
        if spec.digest != told["spec_digest"]:
            raise ValueError(f"{replays} was played by other rules: {told['spec_digest']}, not {spec.digest}")
        names = {name for players in line_ups for name in players}
        guests = [name for name in names if name.startswith(("policy:", "agent:"))]
        facts = replace(_facts(spec, line_ups, guests, told["seed"], reward), source="boardwire arena")
        for at in range(0, len(whole), _AT_ONCE):
            part = {match.episode: match for match in whole[at : at + _AT_ONCE]}

            def again(asked: Decisions, part: Mapping[int, _Played] = part) -> list[int]:
                asking = zip(asked.environment.tolist(), asked.seat.tolist(), strict=True)
                return [part[episode].next(seat) for episode, seat in asking]

            episodes = np.array(list(part), np.int64)
            seeds = np.array([match.seed for match in part.values()], np.uint64)
            steps = _Play(served, spec, facts, dict.fromkeys(names, again), episodes, seeds).steps()
            file = target / f"episodes-{episodes[0]:09}.parquet"
            undo.callback(file.unlink, missing_ok=True)
            _parquet.write(file, facts, steps)
            if progress is not None:
                progress(len(part))
        undo.pop_all()
    return Recording(target)


class _Played:
    """A match of an arena, read from a replay file: its seed and the actions of each seat."""

    def __init__(self, file: Path, ways: int) -> None:
        deal, way = re.findall(r"\d+", file.name)
        self.episode = int(deal) * ways + int(way)
        self._file = file
        try:
            replay = _core.from_json("Replay", file.read_text("utf-8"))
        except ValueError as error:
            raise ValueError(f"{file} is no replay: {error}") from None
        self.seed = replay["seed_opening"]["seed"]
        self._actions: dict[int, list[int]] = {}
        for frame in replay["frames"]:
            if frame["played"]:
                self._actions.setdefault(frame["seat"], []).append(frame["played"]["action"])
        ends = [frame["outcome"] for frame in replay["frames"][-1:]]
        self.given_up = any(any(outcome["forfeits"]) for outcome in ends if outcome)
        for actions in self._actions.values():
            actions.reverse()

    def next(self, seat: int) -> int:
        """Returns the next action of the seat."""
        actions = self._actions.get(seat)
        if not actions:
            raise ValueError(f"{self._file} ends before the match is over")
        return actions.pop()


def _facts(
    spec: GameSpec,
    line_ups: Sequence[Sequence[str]],
    policies: Collection[str],
    seed: int,
    reward: Reward,
) -> RecordingFacts:
    fields = [
        {
            "name": field.name,
            "offset": field.offset,
            "shape": list(field.shape),
            "max": field.max,
            "kind": field.kind,
            "table": field.table,
        }
        for field in spec.fields.values()
    ]
    return RecordingFacts(
        game=spec.game.id,
        seats=spec.seats,
        options=dict(spec.options),
        rules_version=spec.game.rules_version,
        spec_digest=spec.digest,
        view_bytes=spec.view_bytes,
        fields=fields,
        actions=[action.label for action in spec.actions],
        reward=reward,
        line_ups=[list(players) for players in line_ups],
        policies=sorted(policies),
        seed=seed,
    )


def _done(folder: Path, facts: RecordingFacts) -> int:
    """Returns the number of episodes that the folder already has.

    Raises:
        ValueError: The folder has another recording.
    """
    if not any(folder.glob("episodes-*.parquet")):
        return 0
    there = Recording(folder)
    names = RecordingFacts.__slots__
    differing = [name for name in names if getattr(there.facts, name) != getattr(facts, name)]
    if differing:
        raise ValueError(f"{folder} has another recording: {', '.join(differing)} differ")
    return there.episodes


class _Play:
    """A group of episodes that are played at once, from beginning to end.

    Each bot is the adviser of a separate batch. All batches have the same deals and play the same actions.
    """

    def __init__(
        self,
        client: Client,
        spec: GameSpec,
        facts: RecordingFacts,
        policies: Mapping[str, Policy],
        episodes: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> None:
        self._client = client
        self._spec = spec
        self._facts = facts
        self._episodes = episodes
        self._seeds = seeds
        self._names = sorted({name for players in facts.line_ups for name in players})
        self._policies = policies
        self._bots = [name for name in self._names if name not in policies]
        numbers = np.array([[self._names.index(name) for name in players] for players in facts.line_ups])
        self._players = numbers[episodes % len(numbers)]

    def steps(self) -> Steps:
        """Plays the episodes and returns the steps of all seats."""
        n, rows, ends = len(self._seeds), list[_Rows](), list[_Rows]()
        reward, terminated = np.zeros((n, self._spec.seats), np.float32), np.zeros(n, np.bool_)
        with ExitStack() as stack:
            batches = [stack.enter_context(self._open(bot)) for bot in self._bots or ("",)]
            shown = [batch.reset(seeds=self._seeds) for batch in batches]
            while (live := shown[0].seat != NOBODY).any():
                at = np.flatnonzero(live)
                actions = self._choose(shown, at)
                rows.append(_rows(shown[0], at, actions[at].astype(np.uint8)))
                shown = [batch.step(actions, where=live) for batch in batches]
                reward += shown[0].reward
                terminated |= shown[0].terminated
                ends.append(_ends(shown[0], self._spec))
        return self._together(rows, ends, reward, terminated)

    def _open(self, bot: str) -> Batch:
        facts = self._facts
        return self._client.open_batch(
            facts.game,
            environments=len(self._seeds),
            line_ups=[[AGENT] * facts.seats],
            options=facts.options,
            seed=facts.seed,
            reward=facts.reward,  # type: ignore[arg-type] # It was given to `record`.
            autoreset="disabled",
            columns=["final_views"],
            advice=bot or None,
        )

    def _choose(self, shown: Sequence[BatchStep], at: NDArray[np.intp]) -> NDArray[np.int64]:
        """Returns an action for every environment; those outside `at` get 0."""
        actions = np.zeros(len(self._seeds), np.int64)
        who = self._players[at, shown[0].seat[at]]
        for number, name in enumerate(self._names):
            own = at[who == number]
            if not len(own):
                continue
            if name in self._policies:
                lead = shown[0]
                asked = Decisions(lead.view[own], lead.mask[own], lead.seat[own], self._episodes[own])
                actions[own] = whole_actions(self._policies[name](asked), len(own), f"policy {name!r}")
            else:
                advice = shown[self._bots.index(name)].advice
                assert advice is not None, "the batch was opened with this adviser"
                actions[own] = advice[own]
        return actions

    def _together(
        self,
        rows: Sequence[_Rows],
        ends: Sequence[_Rows],
        reward: NDArray[np.float32],
        terminated: NDArray[np.bool_],
    ) -> Steps:
        columns: Any = [np.concatenate(each) for each in zip(*rows, *ends, strict=True)]
        is_last = np.concatenate(
            [np.full(len(each[0]), parts is ends) for parts in (rows, ends) for each in parts]
        )
        order = np.lexsort((columns[2], columns[1], columns[0]))
        at, seat, ply, view, mask, action = (column[order] for column in columns)
        is_last = is_last[order]
        # The last decision of a seat gets the reward of the episode.
        earns = np.append(is_last[1:], False) & ~is_last
        return Steps(
            episode=self._episodes[at],
            seat=seat,
            player=np.array(self._names, np.str_)[self._players[at, seat]],
            ply=ply,
            seed=self._seeds[at],
            observation=view,
            mask=mask,
            action=action,
            reward=np.where(earns, reward[at, seat], np.float32(0)),
            discount=np.where(earns & terminated[at] | is_last, np.float32(0), np.float32(1)),
            is_first=np.append(True, is_last[:-1]),
            is_last=is_last,
            is_terminal=is_last & terminated[at],
        )


#: The environment, seat, ply, view, mask and action of each row.
_Rows = tuple[NDArray[Any], ...]


def _rows(shown: BatchStep, at: NDArray[np.intp], action: NDArray[np.uint8]) -> _Rows:
    return at, shown.seat[at], shown.ply[at], shown.view[at], shown.mask[at], action


def _ends(shown: BatchStep, spec: GameSpec) -> _Rows:
    """Returns the last row of every seat in the episodes that ended."""
    assert shown.final_view is not None, "the batch was opened with final views"
    count, seats = len(shown.ended), spec.seats
    at = shown.ended.astype(np.intp).repeat(seats)
    seat = np.tile(np.arange(seats, dtype=np.uint8), count)
    view = shown.final_view.reshape(-1, spec.view_bytes)
    mask = np.zeros((len(at), len(spec.actions)), np.int8)
    return at, seat, shown.ply[at], view, mask, np.zeros(len(at), np.uint8)
