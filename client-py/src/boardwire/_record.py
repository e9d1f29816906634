"""Records whole episodes of bots and policies: writes the steps of every seat to Parquet."""

from __future__ import annotations

import json
import operator
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._client import Client
from ._recording import FILES, Recording, RecordingFacts, Steps, write
from ._rollouts import Decisions, Policy, whole_actions
from ._shared import shared_client
from ._spec import GameSpec
from ._types import AGENT, NOBODY, Reward, seats_of

#: The number of arena matches that are replayed at the same time.
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
        environments: The number of episodes that are played at the same time, and of episodes per file.
        progress: Is called with a number of episodes after each file, and once for those already recorded.
        client: A client of a running server; by default of the private server of this process.

    Raises:
        ValueError: `episodes` or `environments` is below 1, or the line-ups are invalid. The folder has
            another recording. A policy has not returned a whole number for each decision.
        NotFound: The server does not offer the game.
        InvalidRequest: The game has no such table, or a bot does not exist.
        IllegalAction: A policy has chosen an illegal action.
    """
    if episodes < 1 or environments < 1:
        raise ValueError(
            f"`episodes` and `environments` must be at least 1; got {episodes} and {environments}"
        )
    policies, seed = policies or {}, operator.index(seed)
    client = client or shared_client(None)
    spec = client.game(game, seats=seats_of(line_ups, None, None), options=options)
    facts = _facts(spec, line_ups, policies, seed, reward, "boardwire.record")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    done = 0
    if any(target.glob(FILES)):
        existing = Recording(target)
        before, now = asdict(existing.facts), asdict(facts)
        if differing := [name for name in now if before[name] != now[name]]:
            raise ValueError(
                f"{target} has a recording with different {', '.join(differing)}: choose another folder"
            )
        done = existing.episodes
        if progress is not None:
            progress(min(done, episodes))
    seeds = np.random.PCG64(seed).random_raw(episodes)
    for first in range(done, episodes, environments):
        part = seeds[first : first + environments]
        _play(target, client, spec, facts, policies, first + np.arange(len(part)), part)
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
        The recording. With n line-ups, episode i is deal i // n in line-up i % n.

    Raises:
        FileNotFoundError: The folder has no replays.
        FileExistsError: `folder` already has a recording.
        ValueError: A file is not a replay, a replay ends early, or the server has other rules.
    """
    arena = json.loads(Path(replays, "arena.json").read_text("utf-8"))
    line_ups = [[arena["bots"][player] for player in players] for players in arena["line_ups"]]
    played = [_ArenaMatch(file, len(line_ups)) for file in Path(replays).glob("deal-*-way-*.json")]
    matches = {match.episode: match for match in played if not match.forfeited}
    order = np.array(sorted(matches))
    if len(matches) < len(played):
        warnings.warn(f"omits {len(played) - len(matches)} forfeited matches", stacklevel=2)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    if any(target.glob(FILES)):
        raise FileExistsError(f"{target} already has a recording: choose another folder")
    client = client or shared_client(None)
    spec = client.game(arena["game"], seats=len(line_ups[0]), options=arena["options"])
    if spec.digest != arena["spec_digest"]:
        raise ValueError(
            f"{replays} was played with other rules or components: digest {arena['spec_digest']}, the "
            f"server has {spec.digest}"
        )
    names = {name for players in line_ups for name in players}
    policies = [name for name in names if name.startswith(("policy:", "search:", "agent:"))]
    facts = _facts(spec, line_ups, policies, arena["seed"], reward, "boardwire arena")

    def replayed(decisions: Decisions) -> list[int]:
        rows = zip(decisions.environment.tolist(), decisions.seat.tolist(), strict=True)
        return [matches[episode].next(seat) for episode, seat in rows]

    try:
        for at in range(0, len(order), _AT_ONCE):
            episodes = order[at : at + _AT_ONCE]
            seeds = np.array([matches[episode].seed for episode in episodes.tolist()], np.uint64)
            _play(target, client, spec, facts, dict.fromkeys(names, replayed), episodes, seeds)
            if progress is not None:
                progress(len(episodes))
    except BaseException:
        # A partial recording looks like a complete one.
        for file in target.glob(FILES):
            file.unlink()
        raise
    return Recording(target)


class _ArenaMatch:
    """A match of an arena, read from a replay file: its seed and the actions of each seat."""

    def __init__(self, file: Path, ways: int) -> None:
        deal, way = re.findall(r"\d+", file.name)
        self.episode = int(deal) * ways + int(way)
        self._file = file
        try:
            replay = _core.from_json("Replay", file.read_text("utf-8"))
        except ValueError as error:
            raise ValueError(f"{file} is not a replay: {error}") from None
        self.seed = replay["seed_opening"]["seed"]
        self._actions = defaultdict[int, deque[int]](deque)
        outcome = None
        for frame in replay["frames"]:
            outcome = frame["outcome"]
            if frame["played"]:
                self._actions[frame["seat"]].append(frame["played"]["action"])
        self.forfeited = outcome is not None and any(outcome["forfeits"])

    def next(self, seat: int) -> int:
        """Returns the next action of the seat."""
        if not self._actions[seat]:
            raise ValueError(f"{self._file} ends before the match is over")
        return self._actions[seat].popleft()


def _facts(
    spec: GameSpec,
    line_ups: Sequence[Sequence[str]],
    policies: Iterable[str],
    seed: int,
    reward: Reward,
    source: str,
) -> RecordingFacts:
    # If pyarrow is missing, this fails before an episode is played.
    import pyarrow.parquet  # noqa: F401

    names = ("name", "offset", "shape", "max", "kind", "table")
    return RecordingFacts(
        game=spec.id,
        seats=spec.seats,
        options=dict(spec.options),
        rules_version=spec.rules_version,
        spec_digest=spec.digest,
        view_bytes=spec.view_bytes,
        fields=[
            {name: getattr(field, name) for name in names} | {"shape": list(field.shape)}
            for field in spec.fields.values()
        ],
        actions=[action.label for action in spec.actions],
        reward=reward,
        line_ups=[list(players) for players in line_ups],
        policies=sorted(policies),
        seed=seed,
        source=source,
    )


def _play(
    folder: Path,
    client: Client,
    spec: GameSpec,
    facts: RecordingFacts,
    policies: Mapping[str, Policy],
    episodes: NDArray[np.int64],
    seeds: NDArray[np.uint64],
) -> None:
    """Plays episodes at the same time, and writes the steps of all seats to a file.

    Each bot is the adviser of a separate batch. All batches have the same deals and play the same actions.
    """
    names = sorted({name for players in facts.line_ups for name in players})
    bots: list[str | None] = [name for name in names if name not in policies]
    numbers = np.array([[names.index(name) for name in players] for players in facts.line_ups])
    players = numbers[episodes % len(numbers)]
    reward, terminated = np.zeros(players.shape, np.float32), np.zeros(len(seeds), np.bool_)
    # The environment, seat, ply, view, mask and action of each step, and whether it is the seat's last.
    parts: list[tuple[NDArray[Any], ...]] = []
    with ExitStack() as stack:
        batches = [
            stack.enter_context(
                client.open_batch(
                    facts.game,
                    environments=len(seeds),
                    line_ups=[[AGENT] * facts.seats],
                    options=facts.options,
                    seed=facts.seed,
                    reward=facts.reward,  # type: ignore[arg-type] # It was given to `record`.
                    autoreset="disabled",
                    columns=["final_views"],
                    advice=bot,
                )
            )
            for bot in bots or [None]
        ]
        steps = [batch.reset(seeds=seeds) for batch in batches]
        step = steps[0]
        while len(at := np.flatnonzero(step.seat != NOBODY)):
            seat, view, mask = step.seat[at], step.view[at], step.mask[at]
            player, action = players[at, seat], np.zeros(len(at), np.int64)
            for number in np.unique(player):
                name, own = names[number], player == number
                if name in policies:
                    decisions = Decisions(view[own], mask[own], seat[own], episodes[at[own]])
                    action[own] = whole_actions(
                        policies[name](decisions), len(decisions.seat), f"policy {name!r}"
                    )
                else:
                    advice = steps[bots.index(name)].advice
                    assert advice is not None, "the batch was opened with this adviser"
                    action[own] = advice[at[own]]
            actions = np.zeros(len(seeds), np.int64)
            actions[at] = action
            parts.append(
                (at, seat, step.ply[at], view, mask, action.astype(np.uint8), np.zeros(len(at), np.bool_))
            )
            steps = [batch.step(actions, where=step.seat != NOBODY) for batch in batches]
            step = steps[0]
            reward += step.reward
            terminated |= step.terminated
            # The last step of every seat in the episodes that ended; their masks are all 0.
            assert step.final_view is not None, "the batch was opened with final views"
            ended, seat = step.ended.repeat(facts.seats), np.arange(facts.seats, dtype=np.uint8)
            seat, view = np.tile(seat, len(step.ended)), step.final_view.reshape(-1, spec.view_bytes)
            no_action, is_last = np.zeros_like(seat), np.ones(len(seat), np.bool_)
            parts.append((ended, seat, step.ply[ended], view, step.mask[ended], no_action, is_last))
    columns: Any = [np.concatenate(each) for each in zip(*parts, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    at, seat, ply, view, mask, action, is_last = (column[order] for column in columns)
    # The last decision of a seat gets the reward of the episode.
    earns = np.append(is_last[1:], False) & ~is_last
    recorded = Steps(
        episode=episodes[at],
        seat=seat,
        player=np.array(names, np.str_)[players[at, seat]],
        ply=ply,
        seed=seeds[at],
        observation=view,
        mask=mask,
        action=action,
        reward=np.where(earns, reward[at, seat], np.float32(0)),
        discount=np.where(earns & terminated[at] | is_last, np.float32(0), np.float32(1)),
        is_first=np.append(True, is_last[:-1]),
        is_last=is_last,
        is_terminal=is_last & terminated[at],
    )
    write(folder / f"episodes-{episodes[0]:09}.parquet", facts, recorded)
