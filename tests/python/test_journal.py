"""Matches that outlive their server: killed at any moment, it goes on where it was when started again."""

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

#: How often the server is killed, and how many seeds of every game are played at once; `make kills` for more.
KILLS, SEEDS = (
    int(os.environ.get(name, few)) for name, few in (("BOARDWIRE_KILLS", "3"), ("BOARDWIRE_KILL_SEEDS", "4"))
)

#: An episode by ply: what the seat saw that decided, what it chose, and how it ended.
Story = dict[int, tuple[bytes, int]]


def choice(seen: boardwire.Observation) -> int:
    """An action that follows from all that the seat sees, so that a difference soon shows."""
    legal = np.flatnonzero(seen.mask)
    return int(legal[zlib.crc32(seen.view.tobytes()) % len(legal)])


def next_decision(seats: list[boardwire.Seat]) -> tuple[boardwire.Seat, boardwire.Observation]:
    """The lowest seat that owes a decision, once bots have made theirs, with what it sees; any at the end."""
    while True:
        seen = seats[0].observe(wait=False)
        if seen.over:
            return seats[0], seen
        for seat in seats:
            if seat.index in seen.pending:
                return seat, seat.observe(timeout=60)


def play(seats: list[boardwire.Seat], story: Story, patience: float = 600) -> None:
    """Plays an episode to its end, however often the server goes away."""
    due = time.monotonic() + patience
    while time.monotonic() < due:
        try:
            seat, seen = next_decision(seats)
            action = -1 if seen.over else choice(seen)
            shown = seen.view.tobytes(), action
            # What is shown twice is shown alike.
            assert story.setdefault(seen.ply, shown) == shown
            if seen.over:
                story[-1] = (repr((seen.scores, seen.ranks, seen.reward)).encode(), -1)
                return
            seat.act(action, wait=False, timeout=60)
        except (errors.ConnectionLost, errors.CallTimeout):
            for seat in seats:
                seat.last = None
            time.sleep(0.02)
    raise AssertionError("the match did not end")


def play_all(client: boardwire.Client, seeds: range, stories: dict[tuple[str, int], Story]) -> None:
    """Plays a match of every game for each seed, all at once, each by a thread."""
    threads = []
    for seed in seeds:
        for game in client.games():
            players = ["agent", "greedy:2", "agent"]
            match = client.create_match(game.id, players=players, seed=seed)
            story = stories[game.id, seed] = {}
            seats = [match.join(0), match.join(2)]
            threads.append(threading.Thread(target=play, args=(seats, story)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("sync", ["always", "interval"])
def test_a_server_that_is_killed_goes_on_where_it_was(
    client: boardwire.Client, tmp_path: Path, sync: str
) -> None:
    args, chance, kills = ("--journal-sync", sync), random.Random(1), 0
    server = start(tmp_path, *args)
    with boardwire.connect(f"unix:{tmp_path / 'socket'}") as journaled:
        for first in count(0, SEEDS):
            undisturbed: dict[tuple[str, int], Story] = {}
            play_all(client, range(first, first + SEEDS), undisturbed)
            found: dict[tuple[str, int], Story] = {}
            playing = threading.Thread(target=play_all, args=(journaled, range(first, first + SEEDS), found))
            playing.start()
            while len(found) < len(undisturbed):
                time.sleep(0.01)
            while playing.is_alive() and kills < KILLS:
                playing.join(chance.uniform(0.05, 0.5))
                kill(server)
                server = start(tmp_path, *args)
                kills += 1
            playing.join()
            assert found == undisturbed
            if kills >= KILLS:
                break
    kill(server)
    # All that anybody was told of is in the file.
    with sqlite3.connect(tmp_path / "journal") as journal:
        states = [state for (state,) in journal.execute("SELECT state FROM matches")]
        assert states == ["open"] * 3 * (first + SEEDS)
        (joined,) = journal.execute("SELECT count(*) FROM events WHERE line LIKE '%joined%'").fetchone()
        assert joined == 2 * len(states)


def test_an_interrupted_server_keeps_its_matches_too(tmp_path: Path) -> None:
    server = start(tmp_path)
    with boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        match = client.create_match("rauha", players=["agent", "mc:40"], seed=3, labels={"run": "one"})
        seat = match.join(0)
        seen = seat.observe()
        for _ in range(5):
            seen = seat.act(choice(seen))
        server.terminate()
        server.communicate()
        server = start(tmp_path)
        again = seat.observe()
        assert (again.ply, again.view.tobytes()) == (seen.ply, seen.view.tobytes())
        assert match.info().labels == {"run": "one"}
        with pytest.raises(errors.NotPossibleNow) as told:
            match.join(0)
        assert told.value.reason == "INVITATION_USED"
        match.close()
        kill(server)
        server = start(tmp_path)
        with pytest.raises(errors.Gone) as gone:
            match.info()
        assert gone.value.reason == "MATCH_UNKNOWN"
    kill(server)


def test_who_joined_without_an_answer_is_given_another_token(tmp_path: Path) -> None:
    """The answer was lost with the server: the same request is answered again, with a token that is known."""
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
        with pytest.raises(errors.AccessDenied) as told:
            client.seat(match_id, first)
        assert told.value.reason == "TOKEN_WRONG"
    kill(server)


def go_on(seat: boardwire.Seat) -> boardwire.Observation:
    """One decision, or the next episode."""
    seen = seat.observe()
    return seat.reset() if seen.over else seat.act(choice(seen))


def until_full(seat: boardwire.Seat) -> None:
    """Plays episode after episode."""
    while True:
        go_on(seat)


def test_a_disk_that_is_full_is_said_to_be_and_loses_nothing(tmp_path: Path) -> None:
    with (
        boardwire.connect(f"unix:{tmp_path / 'socket'}") as client,
        served(tmp_path, file_bytes=200_000) as server,
    ):
        seat = client.create_match("faraway", players=["agent", "random"], seed=1).join(0)
        with pytest.raises(errors.ConnectionLost, match="no acknowledged request is lost") as told:
            until_full(seat)
        assert told.value.reason == "JOURNAL_FAILED"
        with pytest.raises(errors.ConnectionLost) as told:
            client.create_match("faraway", players=["agent", "random"])
        assert told.value.reason == "JOURNAL_FAILED"
        make_room(server)
        due, seen = time.monotonic() + 60, None
        while seen is None:
            assert time.monotonic() < due
            with contextlib.suppress(errors.ConnectionLost):
                seen = go_on(seat)
        kill(server)
        with served(tmp_path):
            again = seat.observe()
            assert (again.episode, again.ply) == (seen.episode, seen.ply)
            np.testing.assert_array_equal(again.view, seen.view)


def test_what_was_altered_is_refused_until_it_is_given_up(tmp_path: Path) -> None:
    with served(tmp_path), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        seats = [client.create_match("faraway", players=["agent", "random"]).join(0) for _ in range(2)]
        plies = [seat.act(choice(seat.observe())).ply for seat in seats]
    lost, kept = seats[0].match_id, seats[1].match_id
    with sqlite3.connect(tmp_path / "journal") as journal:
        own = "match = (SELECT key FROM matches WHERE id = ?)"
        journal.execute(f"UPDATE events SET line = replace(line, 'agent', 'forced') WHERE {own}", [lost])
    journal.close()
    refused = start(tmp_path)
    _, said = refused.communicate(timeout=60)
    assert refused.returncode == 1
    assert f"match {lost}: a line was changed" in said
    assert "--journal-give-up; 1 others can continue" in said
    assert kept not in said
    with served(tmp_path, "--journal-give-up"), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        assert client.seat(kept, seats[1].token).observe().ply == plies[1]
        with pytest.raises(errors.Gone) as told:
            client.seat(lost, seats[0].token)
        assert told.value.reason == "MATCH_UNKNOWN"
    with served(tmp_path):
        pass


@pytest.mark.parametrize("damage", ["a bit", "the end", "all"])
def test_a_damaged_log_of_a_killed_server_is_refused(tmp_path: Path, damage: str) -> None:
    """SQLite would go on with what stands before the damage, and say nothing."""
    with served(tmp_path), boardwire.connect(f"unix:{tmp_path / 'socket'}") as client:
        seats = [client.create_match("faraway", players=["agent", "random"]).join(0) for _ in range(4)]
        for seat in seats:
            seat.act(choice(seat.observe()))
    log = tmp_path / "journal-wal"
    whole = log.read_bytes()
    middle = len(whole) // 2
    if damage == "a bit":
        log.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    elif damage == "the end":
        log.write_bytes(whole[:middle])
    else:
        log.unlink()
    refused = start(tmp_path)
    _, said = refused.communicate(timeout=60)
    assert refused.returncode == 1
    lost = [seat for seat in seats if re.search(rf"match {seat.match_id}: \d of \d lines found", said)]
    assert lost
    assert f"--journal-give-up; {len(seats) - len(lost)} others can continue" in said
    # To refuse changes nothing: where the log is put right, all go on.
    log.write_bytes(whole)
    with served(tmp_path):
        assert all(seat.observe().ply > 1 for seat in seats)


def test_a_journal_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for journal, problem in (("fifo", "it is not a regular file"), ("", "directory")):
        refused = start(tmp_path, journal=tmp_path / journal)
        _, said = refused.communicate(timeout=60)
        assert (refused.returncode, problem in said) == (1, True), said


def test_two_servers_cannot_share_a_journal(tmp_path: Path) -> None:
    with served(tmp_path):
        (tmp_path / "other").mkdir()
        other = start(tmp_path / "other", journal=tmp_path / "journal")
        _, said = other.communicate(timeout=60)
        assert (other.returncode, "database is locked" in said) == (1, True)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    refused = start(tmp_path, journal=Path("/proc/journal"))
    _, said = refused.communicate(timeout=60)
    assert refused.returncode == 1
    assert "journal /proc/journal: " in said


def test_a_match_moves_to_another_server(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "scaling.md"
    moving = page.read_text().split("```sql\n")[1].split("```")[0]
    here, there = tmp_path / "from", tmp_path / "to"
    here.mkdir()
    there.mkdir()
    with boardwire.connect(f"unix:{here / 'socket'}") as client:
        with served(here) as first, served(there) as second:
            matches = [
                client.create_match("rauha", players=["agent", "greedy"], seed=seed) for seed in (1, 2)
            ]
            seats = [match.join(0) for match in matches]
            for seat in seats:
                go_on(seat)
            stays, moves = (seat.observe() for seat in seats)
            moved = matches[1].id
            for server in (first, second):
                server.terminate()
                assert server.wait(60) == 0
        with contextlib.closing(sqlite3.connect(here / "journal", isolation_level=None)) as journal:
            journal.executescript(
                moving.replace("to/journal", str(there / "journal")).replace("'ID'", f"'{moved}'")
            )
        with served(here), served(there), boardwire.connect(f"unix:{there / 'socket'}") as other:
            assert seats[0].observe().view.tobytes() == stays.view.tobytes()
            with pytest.raises(errors.Gone) as told:
                seats[1].observe()
            assert told.value.reason == "MATCH_UNKNOWN"
            seat = other.seat(moved, seats[1].token)
            seen = seat.observe()
            assert (seen.view.tobytes(), seen.ply) == (moves.view.tobytes(), moves.ply)
            while not go_on(seat).over:
                pass
