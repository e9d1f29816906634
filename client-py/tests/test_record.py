"""Recordings: observations, actions and rewards of seats, as Parquet files and as Minari datasets."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import IDS, TABLES, first_legal, last_legal

import boardwire
from boardwire._process import find_binary

pq = pytest.importorskip("pyarrow.parquet")

#: Games and seats of some tables: the smallest and the largest of each game.
SOME = [table for at, table in enumerate(TABLES) if table[0] != TABLES[at - 1][0]] + [
    table for at, table in enumerate(TABLES) if at + 1 == len(TABLES) or table[0] != TABLES[at + 1][0]
]


def recorded(client: boardwire.Client, folder: Path, **settings: Any) -> boardwire.Recording:
    """Records five episodes of Faraway, three at the same time, with a policy and bots."""
    defaults: dict[str, Any] = {
        "game": "faraway",
        "line_ups": [["greedy", "first"], ["first", "random"]],
        "policies": {"first": first_legal},
        "episodes": 5,
        "environments": 3,
        "seed": 4,
    }
    return boardwire.record(folder, client=client, **defaults | settings)


def equal(some: boardwire.Steps, others: boardwire.Steps) -> None:
    for each in fields(boardwire.Steps):
        np.testing.assert_array_equal(getattr(some, each.name), getattr(others, each.name), each.name)


def assert_same_match(client: boardwire.Client, recording: boardwire.Recording) -> None:
    """Plays every episode as a match of its seed, and compares the observations of all seats."""
    steps, facts = recording.read(), recording.facts
    for episode in range(recording.episodes):
        rows = steps.rows(steps.episode == episode)
        (seed,) = set(rows.seed.tolist())
        players = ["agent"] * facts.seats
        with client.create_match(facts.game, players=players, seed=seed, reward=facts.reward) as match:  # type: ignore[arg-type] # It is one.
            seats = [match.join(seat) for seat in range(facts.seats)]
            order = rows.decisions.rows(np.argsort(rows.decisions.ply))
            np.testing.assert_array_equal(order.ply, np.arange(len(order)))
            for seat, view, mask, action in zip(
                order.seat, order.observation, order.mask, order.action, strict=True
            ):
                obs = seats[seat].observe(wait=False)
                np.testing.assert_array_equal(obs.view, view)
                np.testing.assert_array_equal(obs.mask, mask)
                seats[seat].act(action, wait=False)
            for seat, run in enumerate(rows.runs()):
                end = seats[seat].observe(wait=False)
                assert end.terminated
                np.testing.assert_array_equal(end.view, run.observation[-1])
                assert run.reward.sum() == run.reward[-2] == np.float32(end.reward)
                assert (run.seat == seat).all()
                line_up = facts.line_ups[episode % len(facts.line_ups)]
                assert run.player.tolist() == [line_up[seat]] * len(run)
                assert run.is_first.tolist() == [True] + [False] * (len(run) - 1)
                assert run.is_last.tolist() == run.is_terminal.tolist() == [False] * (len(run) - 1) + [True]
                assert run.discount.tolist() == [1] * (len(run) - 2) + [0, 0]
                assert not run.mask[-1].any()


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_recorded_steps_equal_the_observations_of_the_same_match(
    client: boardwire.Client, tmp_path: Path, game: str, seats: int
) -> None:
    settings: dict[str, Any] = {"policies": {"last": last_legal}, "reward": "margin", "client": client}
    line_up = ["greedy", "last", *["random"] * (seats - 2)]
    assert_same_match(client, boardwire.record(tmp_path, game, [line_up], episodes=2, **settings))


@pytest.mark.parametrize(("game", "seats"), SOME)
def test_an_arena_is_recorded_from_its_replays(
    client: boardwire.Client, tmp_path: Path, game: str, seats: int
) -> None:
    seated = ["greedy", *["random"] * (seats - 1)]
    replays = tmp_path / "replays"
    arena(game, "--seats", ",".join(seated), "--matches", str(seats), "--replays", str(replays))
    recording = boardwire.record_arena(tmp_path / "steps", replays, client=client)
    assert recording.episodes == seats
    assert recording.spec(client).digest == recording.facts.spec_digest
    assert recording.facts.line_ups == [seated[-turn:] + seated[:-turn] for turn in range(seats)]
    assert_same_match(client, recording)
    with pytest.raises(FileExistsError, match="choose another folder"):
        boardwire.record_arena(tmp_path / "steps", replays, client=client)
    with pytest.raises(ValueError, match="source"):
        boardwire.record(tmp_path / "steps", game, recording.facts.line_ups, client=client)


def test_forfeited_matches_are_omitted_and_invalid_replays_refused(
    client: boardwire.Client, tmp_path: Path
) -> None:
    replays = tmp_path / "replays"
    arena("faraway", "--seats", "greedy,random", "--matches", "4", "--replays", str(replays))
    forfeited, other = (replays / f"deal-00000000{deal}-way-0.json" for deal in (0, 1))
    with client.create_match("faraway", players=["agent", "random"]) as match:
        match.join(0).resign()
        match.replay().save(forfeited)
    with pytest.warns(UserWarning, match="omits 1 forfeited matches"):
        recording = boardwire.record_arena(tmp_path / "steps", replays, client=client)
    assert sorted(set(recording.read().episode.tolist())) == [1, 2, 3]
    forfeited.unlink()
    played = json.loads(other.read_text())
    del played["frames"][-1]
    for text, message in (("{", "is not a replay"), (json.dumps(played), "ends before the match is over")):
        other.write_text(text)
        with pytest.raises(ValueError, match=message):
            boardwire.record_arena(tmp_path / "more", replays, client=client)


def arena(*arguments: str) -> None:
    """Runs the arena."""
    command = [str(find_binary()), "arena", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_bots_choose_as_a_batch_advises(client: boardwire.Client, tmp_path: Path) -> None:
    recording = recorded(client, tmp_path, line_ups=[["greedy", "random"]], episodes=3)
    order = recording.read().decisions
    order = order.rows(np.lexsort((order.episode, order.ply)))
    seeds = [int(order.seed[order.episode == episode][0]) for episode in range(3)]
    with client.open_batch(
        "faraway", environments=3, seats=2, advice="random", autoreset="disabled"
    ) as batch:
        step, compared = batch.reset(seeds=seeds), 0
        for ply in range(int(order.ply.max()) + 1):
            now = order.rows(order.ply == ply)
            assert step.advice is not None
            own = now.seat == 1
            np.testing.assert_array_equal(step.advice[now.episode[own]], now.action[own])
            compared += int(own.sum())
            actions = np.zeros(3, np.uint8)
            actions[now.episode] = now.action
            step = batch.step(actions, where=step.seat != boardwire.NOBODY)
    assert compared


def test_an_interrupted_recording_resumes_after_its_files(client: boardwire.Client, tmp_path: Path) -> None:
    whole = recorded(client, tmp_path / "whole")
    progress: list[int] = []

    def interrupted(decisions: boardwire.Decisions) -> Any:
        if decisions.environment.max() > 2:
            raise KeyboardInterrupt
        return first_legal(decisions)

    with pytest.raises(KeyboardInterrupt):
        recorded(client, tmp_path / "part", policies={"first": interrupted}, progress=progress.append)
    assert progress == [3]
    assert boardwire.Recording(tmp_path / "part").episodes == 3
    again = recorded(client, tmp_path / "part", progress=progress.append)
    assert progress == [3, 3, 2]
    assert again.episodes == whole.episodes == 5
    equal(again.read(), whole.read())
    more = recorded(client, tmp_path / "part", episodes=7)
    assert more.episodes == 7
    equal(more.read().rows(more.read().episode < 5), whole.read())


def test_a_recording_is_read_by_seat_and_player(client: boardwire.Client, tmp_path: Path) -> None:
    recording = recorded(client, tmp_path)
    steps = recording.read()
    equal(recording.read(seat=1), steps.rows(steps.seat == 1))
    equal(recording.read(player="first"), steps.rows(steps.player == "first"))
    chosen = recording.read(seat=0, player="greedy")
    assert set(chosen.episode.tolist()) == {0, 2, 4}
    assert (chosen.decisions.mask[np.arange(len(chosen.decisions)), chosen.decisions.action] == 1).all()
    assert len(recording.read(player="nobody")) == 0
    assert sum(map(len, recording.parts())) == len(steps)
    lengths = np.diff([*np.flatnonzero(steps.is_first), len(steps)])
    assert [len(run) for run in steps.runs()] == lengths.tolist()
    assert [len(run) for run in steps.decisions.runs()] == (lengths - 1).tolist()
    assert list(recording.read(player="nobody").runs()) == []


def test_files_describe_their_contents(client: boardwire.Client, tmp_path: Path) -> None:
    recording = recorded(client, tmp_path)
    assert [file.name for file in recording.files] == [
        "episodes-000000000.parquet",
        "episodes-000000003.parquet",
    ]
    table = pq.read_table(recording.files[0])
    facts = json.loads(table.schema.metadata[b"boardwire"])
    spec = recording.spec(client)
    assert (facts["game"], facts["rules_version"], facts["spec_digest"]) == (
        "faraway",
        spec.rules_version,
        spec.digest,
    )
    assert facts["actions"][7] == spec.actions[7].label
    assert [field["name"] for field in facts["fields"]] == list(spec.fields)
    assert table.column_names == [each.name for each in fields(boardwire.Steps)]
    last = table.filter(table["is_last"])
    for name in ("action", "reward", "discount"):
        assert last[name].null_count == len(last) > 0
        assert table[name].null_count == len(last)
    row = table.slice(0, 1).to_pylist()[0]
    assert spec.decode(np.frombuffer(row["observation"], np.uint8)).keys() == spec.fields.keys()
    mask = np.unpackbits(np.frombuffer(row["mask"], np.uint8), bitorder="little")
    assert mask[row["action"]] == 1


def test_inconsistent_recordings_are_refused(client: boardwire.Client, tmp_path: Path) -> None:
    recording = recorded(client, tmp_path / "one")
    for other, message in (({"seed": 5}, "different seed:"), ({"line_ups": [["random"] * 3]}, "seats")):
        with pytest.raises(ValueError, match=message):
            recorded(client, tmp_path / "one", **other)
    with pytest.raises(ValueError, match="at least 1"):
        recorded(client, tmp_path / "one", episodes=0)
    illegal = boardwire.errors.IllegalAction
    for wrong, kind in ((256, illegal), (-256, illegal), (0.9, ValueError)):
        policies = {"first": lambda decisions, wrong=wrong: decisions.mask.argmax(axis=1) + wrong}
        with pytest.raises(kind):
            recorded(client, tmp_path / "wrong", policies=policies)
    assert not list((tmp_path / "wrong").iterdir())
    equal(recorded(client, tmp_path / "numpy", seed=np.int64(4)).read(), recording.read())
    with pytest.raises(FileNotFoundError, match=r"has no episodes-\*.parquet"):
        boardwire.Recording(tmp_path)
    other_file = recorded(client, tmp_path / "other", seed=5).files[0]
    other_file.rename(tmp_path / "one" / "episodes-1.parquet")
    with pytest.raises(ValueError, match="are parts of different recordings"):
        boardwire.Recording(tmp_path / "one")
    pq.write_table(
        pq.read_table(recording.files[0]).replace_schema_metadata({}), tmp_path / "episodes-0.parquet"
    )
    with pytest.raises(ValueError, match="is not part of a recording"):
        boardwire.Recording(tmp_path)
    table = pq.read_table(recording.files[0])
    action = table["action"].cast("int64")
    for changed, message in (
        (table.select([]), "episode must be int64; got none, seat must be uint8; got none"),
        (table.select(table.column_names[1:]), "recording: episode must be int64; got none$"),
        (table.append_column("more", action), "recording: more must be absent; got int64$"),
        (table.set_column(7, "action", action), "recording: action must be uint8; got int64$"),
        (table.set_column(5, "observation", table["mask"]), r"observation must be fixed_size_binary\["),
    ):
        pq.write_table(changed, tmp_path / "episodes-0.parquet")
        with pytest.raises(ValueError, match=message):
            boardwire.Recording(tmp_path)


def test_a_player_has_datasets_of_its_seats(
    client: boardwire.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    recording = recorded(client, tmp_path / "recording", line_ups=[["first", "greedy"]])
    (dataset,) = recording.to_minari("faraway/only", player="greedy", client=client, author="me")
    assert dataset.total_steps == len(recording.read(seat=1).decisions)
    assert set(minari.list_local_datasets()) == {"faraway/only-seat1-v0"}
    assert not list(recording.read(seat=0, player="greedy").runs())


def test_an_interrupted_conversion_can_be_repeated(
    client: boardwire.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    recording = recorded(client, tmp_path / "recording", line_ups=[["first", "greedy"]])
    progress: list[int] = []

    def interrupts(episodes: int) -> None:
        progress.append(episodes)
        if len(progress) > recording.episodes + 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recording.to_minari("faraway/again", progress=interrupts, client=client, author="me")
    assert not minari.list_local_datasets()
    assert len(recording.to_minari("faraway/again", client=client, author="me")) == 2
    with pytest.raises(ValueError, match="already exists"):
        recording.to_minari("faraway/again", client=client, author="me")
    assert len(minari.list_local_datasets()) == 2, "the existing datasets stay"


@pytest.mark.parametrize("observation", ["ids", "features"])
def test_every_seat_has_a_minari_dataset(
    client: boardwire.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, observation: Any
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    recording = recorded(client, tmp_path / "recording", line_ups=[["first", "greedy"]])
    progress: list[int] = []
    recording.to_minari(
        "faraway/first", observation=observation, progress=progress.append, client=client, author="me"
    )
    assert sum(progress) == 2 * recording.episodes
    spec = recording.spec(client)
    for seat in (0, 1):
        dataset = minari.load_dataset(f"faraway/first-seat{seat}-v0")
        assert dataset.storage.metadata["author"] == {"me"}
        runs = list(recording.read(seat=seat).runs())
        assert dataset.total_episodes == len(runs) == 5
        assert dataset.total_steps == len(recording.read(seat=seat).decisions)
        for episode, run in zip(dataset, runs, strict=True):
            decisions = run.decisions
            np.testing.assert_array_equal(episode.actions, decisions.action)
            np.testing.assert_array_equal(episode.rewards, decisions.reward)
            np.testing.assert_array_equal(episode.terminations, decisions.discount == 0)
            assert not episode.truncations.any()
            np.testing.assert_array_equal(episode.observations["action_mask"], run.mask)
            obs = episode.observations["observation"]
            if observation == "features":
                np.testing.assert_array_equal(obs, spec.features(run.observation))
            else:
                for name, values in spec.decode(run.observation).items():
                    np.testing.assert_array_equal(obs[name].reshape(values.shape), values)
        if seat == 0:
            seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(5))]
            with client.open_batch("faraway", environments=5, seats=2) as batch:
                first = batch.reset(seeds=seeds)
            np.testing.assert_array_equal(first.view, [run.observation[0] for run in runs])
            env = dataset.recover_environment(eval_env=True)
            assert env.spec.id == IDS["faraway"]
            assert env.observation_space == dataset.observation_space
            assert env.unwrapped.game_spec.digest == spec.digest
            env.close()
    with pytest.raises(ValueError, match="already exists"):
        recording.to_minari("faraway/first", client=client)
