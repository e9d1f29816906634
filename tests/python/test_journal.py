"""Journals: matches continue after their server is killed at any moment and restarted."""

from __future__ import annotations

import contextlib
import os
import random
import re
import sqlite3
import threading
import time
import uuid
import zlib
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import boardwire
from boardwire import errors
from journals import kill, make_room, served, start

#: The number of kills, and the number of concurrent seeds per game. `make kills` uses more.
KILLS, SEEDS = (
    int(os.environ.get(name, default))
    for name, default in (("BOARDWIRE_KILLS", "3"), ("BOARDWIRE_KILL_SEEDS", "4"))
)

#: An episode: for each ply the view and the action of the acting seat, and for -1 its result.
Record = dict[int, tuple[bytes, int]]


def action_for(obs: boardwire.Observation) -> int:
    """Returns an action that depends on each byte of the view, so that any difference changes the episode."""
    legal = np.flatnonzero(obs.mask)
    return int(legal[zlib.crc32(obs.view.tobytes()) % len(legal)])


def next_decision(seats: list[boardwire.Seat]) -> tuple[boardwire.Seat, boardwire.Observation]:
    """Returns the lowest pending seat and its observation, or any seat after the end."""
    while True:
        obs = seats[0].observe(wait=False)
        if obs.over:
            return seats[0], obs
        for seat in seats:
            if seat.index in obs.pending:
                return seat, seat.observe(timeout=60)


def play(seats: list[boardwire.Seat], record: Record, timeout: float = 600) -> None:
    """Plays an episode to its end across restarts of the server."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            seat, obs = next_decision(seats)
            action = -1 if obs.over else action_for(obs)
            entry = obs.view.tobytes(), action
            # A repeated observation must be equal to the first.
            assert record.setdefault(obs.ply, entry) == entry
            if obs.over:
                record[-1] = (repr((obs.scores, obs.ranks, obs.reward)).encode(), -1)
                return
            seat.act(action, wait=False, timeout=60)
        except (errors.ConnectionLost, errors.CallTimeout):
            for seat in seats:
                seat.last = None
            time.sleep(0.02)
    raise AssertionError("the match did not end")


def play_all(client: boardwire.Client, seeds: range, records: dict[tuple[str, int], Record]) -> None:
    """Plays a match of each game for each seed, concurrently in threads."""
    threads = []
    for seed in seeds:
        for game in client.games():
            players = ["agent", "greedy:2", "agent"]
            match = client.create_match(game.id, players=players, seed=seed)
            record = records[game.id, seed] = {}
            seats = [match.join(0), match.join(2)]
            threads.append(threading.Thread(target=play, args=(seats, record)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("sync", ["always", "interval"])
def test_matches_of_a_killed_server_continue(client: boardwire.Client, tmp_path: Path, sync: str) -> None:
    args, random_delay, kills = ("--journal-sync", sync), random.Random(1), 0
    server = start(tmp_path, *args)
    with boardwire.connect(f"unix:{tmp_path / 'socket'}") as journaled:
        for first in count(0, SEEDS):
            expected: dict[tuple[str, int], Record] = {}
            play_all(client, range(first, first + SEEDS), expected)
            found: dict[tuple[str, int], Record] = {}
            playing = threading.Thread(target=play_all, args=(journaled, range(first, first + SEEDS), found))
            playing.start()
            while len(found) < len(expected):
                time.sleep(0.01)
            while playing.is_alive() and kills < KILLS:
                playing.join(random_delay.uniform(0.05, 0.5))
                kill(server)
                server = start(tmp_path, *args)
                kills += 1
            playing.join()
            assert found == expected
            if kills >= KILLS:
                break
    kill(server)
    # The file contains each acknowledged request.
    with sqlite3.connect(tmp_path / "journal") as journal:
        states = [state for (state,) in journal.execute("SELECT state FROM matches")]
        assert states == ["open"] * 3 * (first + SEEDS)
        (joined,) = journal.execute("SELECT count(*) FROM events WHERE line LIKE '%joined%'").fetchone()
        assert joined == 2 * len(states)


def test_matches_of_an_interrupted_server_continue(tmp_path: Path) -> None:
    server = start(tmp_path)
    with boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        match = client.create_match("rauha", players=["agent", "mc:40"], seed=3, labels={"run": "one"})
        seat = match.join(0)
        obs = seat.observe()
        for _ in range(5):
            obs = seat.act(action_for(obs))
        server.terminate()
        server.communicate()
        server = start(tmp_path)
        again = seat.observe()
        assert (again.ply, again.view.tobytes()) == (obs.ply, obs.view.tobytes())
        assert match.info().labels == {"run": "one"}
        with pytest.raises(errors.NotPossibleNow) as caught:
            match.join(0)
        assert caught.value.reason == "INVITATION_USED"
        match.close()
        kill(server)
        server = start(tmp_path)
        with pytest.raises(errors.Gone) as gone:
            match.info()
        assert gone.value.reason == "MATCH_UNKNOWN"
    kill(server)


def test_a_repeated_join_after_a_restart_gets_another_token(tmp_path: Path) -> None:
    """The first response was lost with the server. The token of the second response is valid."""
    server = start(tmp_path)
    with boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        created = client._connection.call(
            "MatchService/CreateMatch",
            {"config": {"game": "faraway", "players": ["agent", "random"]}},
            timeout=60,
        )
        request = {"code": created["invitations"][0]["code"], "request_id": str(uuid.uuid4())}

        def join() -> str:
            token: str = client._connection.call("MatchService/JoinMatch", request, timeout=60)["token"]
            return token

        first = join()
        assert join() == first
        kill(server)
        server = start(tmp_path)
        second = join()
        assert second != first
        assert join() == second
        match_id = created["match"]["id"]
        assert client.seat(match_id, second).observe().ply == 1
        with pytest.raises(errors.AccessDenied) as caught:
            client.seat(match_id, first)
        assert caught.value.reason == "TOKEN_WRONG"
    kill(server)


def advance(seat: boardwire.Seat) -> boardwire.Observation:
    """Makes a decision or starts the next episode."""
    obs = seat.observe()
    return seat.reset() if obs.over else seat.act(action_for(obs))


def play_until_error(seat: boardwire.Seat) -> None:
    """Plays episodes until an error."""
    while True:
        advance(seat)


def test_a_full_disk_is_an_error_and_loses_no_acknowledged_request(tmp_path: Path) -> None:
    with (
        boardwire.connect(f"unix:{tmp_path / 'socket'}") as client,
        served(tmp_path, file_bytes=200_000) as server,
    ):
        seat = client.create_match("faraway", players=["agent", "random"], seed=1).join(0)
        with pytest.raises(errors.ConnectionLost, match="no acknowledged request is lost") as caught:
            play_until_error(seat)
        assert caught.value.reason == "JOURNAL_FAILED"
        with pytest.raises(errors.ConnectionLost) as caught:
            client.create_match("faraway", players=["agent", "random"])
        assert caught.value.reason == "JOURNAL_FAILED"
        make_room(server)
        deadline, obs = time.monotonic() + 60, None
        while obs is None:
            assert time.monotonic() < deadline
            with contextlib.suppress(errors.ConnectionLost):
                obs = advance(seat)
        kill(server)
        with served(tmp_path):
            again = seat.observe()
            assert (again.episode, again.ply) == (obs.episode, obs.ply)
            np.testing.assert_array_equal(again.view, obs.view)


def test_an_altered_match_stops_the_server_unless_it_is_given_up(tmp_path: Path) -> None:
    with served(tmp_path), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        seats = [client.create_match("faraway", players=["agent", "random"]).join(0) for _ in range(2)]
        plies = [seat.act(action_for(seat.observe())).ply for seat in seats]
    altered, intact = seats[0].match_id, seats[1].match_id
    with sqlite3.connect(tmp_path / "journal") as journal:
        of_match = "match = (SELECT key FROM matches WHERE id = ?)"
        journal.execute(
            f"UPDATE events SET line = replace(line, 'agent', 'forced') WHERE {of_match}", [altered]
        )
    journal.close()
    server = start(tmp_path)
    _, output = server.communicate(timeout=60)
    assert server.returncode == 1
    assert f"match {altered}: a line was changed" in output
    assert "--journal-give-up; 1 others can continue" in output
    assert intact not in output
    with served(tmp_path, "--journal-give-up"), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        assert client.seat(intact, seats[1].token).observe().ply == plies[1]
        with pytest.raises(errors.Gone) as caught:
            client.seat(altered, seats[0].token)
        assert caught.value.reason == "MATCH_UNKNOWN"
    with served(tmp_path):
        pass


@pytest.mark.parametrize("damage", ["a bit", "the end", "all"])
def test_a_damaged_log_of_a_killed_server_stops_the_next(tmp_path: Path, damage: str) -> None:
    """SQLite alone would silently use the part of the log before the damage."""
    with served(tmp_path), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        seats = [client.create_match("faraway", players=["agent", "random"]).join(0) for _ in range(4)]
        for seat in seats:
            seat.act(action_for(seat.observe()))
    log = tmp_path / "journal-wal"
    content = log.read_bytes()
    middle = len(content) // 2
    if damage == "a bit":
        log.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif damage == "the end":
        log.write_bytes(content[:middle])
    else:
        log.unlink()
    server = start(tmp_path)
    _, output = server.communicate(timeout=60)
    assert server.returncode == 1
    lost = [seat for seat in seats if re.search(rf"match {seat.match_id}: \d of \d lines found", output)]
    assert lost
    assert f"--journal-give-up; {len(seats) - len(lost)} others can continue" in output
    # The rejected start changed nothing, so all matches continue with the repaired log.
    log.write_bytes(content)
    with served(tmp_path):
        assert all(seat.observe().ply > 1 for seat in seats)


def test_a_journal_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for journal, problem in (("fifo", "it is not a regular file"), ("", "directory")):
        server = start(tmp_path, journal=tmp_path / journal)
        _, output = server.communicate(timeout=60)
        assert (server.returncode, problem in output) == (1, True), output


def test_two_servers_cannot_share_a_journal(tmp_path: Path) -> None:
    with served(tmp_path):
        (tmp_path / "other").mkdir()
        other = start(tmp_path / "other", journal=tmp_path / "journal")
        _, output = other.communicate(timeout=60)
        assert (other.returncode, "database is locked" in output) == (1, True)


def test_an_error_names_the_journal_that_cannot_be_written(tmp_path: Path) -> None:
    server = start(tmp_path, journal=Path("/proc/journal"))
    _, output = server.communicate(timeout=60)
    assert server.returncode == 1
    assert "journal /proc/journal: " in output


def test_a_match_moves_to_another_server(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "scaling.md"
    moving = page.read_text().split("```sql\n")[1].split("```")[0]
    source, target = tmp_path / "from", tmp_path / "to"
    source.mkdir()
    target.mkdir()
    with boardwire.connect(f"unix:{source / 'socket'}") as client:
        with served(source) as first, served(target) as second:
            matches = [
                client.create_match("rauha", players=["agent", "greedy"], seed=seed) for seed in (1, 2)
            ]
            seats = [match.join(0) for match in matches]
            for seat in seats:
                advance(seat)
            kept, moved = (seat.observe() for seat in seats)
            moved_id = matches[1].id
            for server in (first, second):
                server.terminate()
                assert server.wait(60) == 0
        with contextlib.closing(sqlite3.connect(source / "journal", isolation_level=None)) as journal:
            journal.executescript(
                moving.replace("to/journal", str(target / "journal")).replace("'ID'", f"'{moved_id}'")
            )
        with served(source), served(target), boardwire.connect(f"unix:{target / 'socket'}") as other:
            assert seats[0].observe().view.tobytes() == kept.view.tobytes()
            with pytest.raises(errors.Gone) as caught:
                seats[1].observe()
            assert caught.value.reason == "MATCH_UNKNOWN"
            seat = other.seat(moved_id, seats[1].token)
            obs = seat.observe()
            assert (obs.view.tobytes(), obs.ply) == (moved.view.tobytes(), moved.ply)
            while not advance(seat).over:
                pass
