"""`boardwire arena`: repeatable to the last figure, interrupted and continued, clear in refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import boardwire
from boardwire._process import find_binary


def arena(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs it."""
    command = [str(find_binary()), "arena", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def figures(*arguments: str) -> dict[str, Any]:
    """What it finds, but for how fast it was."""
    ended = arena(*arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    del found["decisions_per_second"]
    return found


def test_deals_are_played_every_way_round_and_repeat() -> None:
    found = figures("faraway", "--seats", "greedy,random,random", "--matches", "40", "--seed", "3")
    assert (found["deals"], found["matches"], found["seats"]) == (14, 42, 3)
    greedy, rest = found["bots"]
    assert (greedy["bot"], greedy["seats"], rest["bot"], rest["seats"]) == ("greedy", 42, "random", 84)
    assert greedy["share"] + 2 * rest["share"] == pytest.approx(1)
    assert greedy["interval"][0] < greedy["share"] < 1
    assert greedy["rating"] > rest["rating"]
    assert figures("faraway", "--seats", "greedy,random,random", "--matches", "40", "--seed", "3") == found


def test_an_arena_continues_and_its_replays_can_be_verified(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "greedy,random", "--seed", "5"]
    kept = ["--replays", str(tmp_path)]
    assert figures(*common, "--matches", "8", *kept) == figures(*common, "--matches", "8")
    # A deal is played again if one of its replays is missing, and the others are left alone.
    missing, old = (tmp_path / f"deal-00000000{deal}-way-1.json" for deal in (2, 1))
    missing.unlink()
    written = old.stat().st_mtime_ns
    assert figures(*common, "--matches", "20", *kept) == figures(*common, "--matches", "20")
    assert old.stat().st_mtime_ns == written
    files = sorted(file.name for file in tmp_path.glob("deal-*"))
    assert files == [f"deal-{deal:09}-way-{way}.json" for deal in range(10) for way in range(2)]
    for name in ("deal-000000002-way-1.json", "deal-000000009-way-0.json"):
        verified = subprocess.run(
            [str(find_binary()), "verify", str(tmp_path / name)], capture_output=True, text=True, timeout=60
        )
        assert verified.returncode == 0, verified.stderr
    missing.write_text("{}")
    torn = arena(*common, "--matches", "20", *kept)
    assert (torn.returncode, torn.stdout) == (1, "")
    assert f"{missing}: delete it, and the deal is played again" in torn.stderr


def test_it_goes_on_until_intervals_are_narrow() -> None:
    found = figures("faraway", "--seats", "random,random", "--until-width", "0.9")
    assert found["deals"] == 30, "it ends with the fewest deals that prove anything"
    narrow = figures("faraway", "--seats", "greedy:1,random", "--until-width", "0.08")
    assert all(high - low <= 0.08 for low, high in (bot["interval"] for bot in narrow["bots"]))
    assert narrow["deals"] > 30
    fewer = figures("faraway", "--seats", "greedy:1,random", "--matches", str(2 * narrow["deals"] - 2))
    assert any(high - low > 0.08 for low, high in (bot["interval"] for bot in fewer["bots"]))


def test_a_field_meets_in_pairs_and_is_rated() -> None:
    found = figures("faraway", "--field", "random,greedy:1,mc:40", "--at", "2", "--matches", "120")
    assert (found["deals"], found["matches"]) == (20, 120)
    ratings = [bot["rating"] for bot in found["bots"]]
    assert sum(ratings) == pytest.approx(0, abs=1e-6)
    assert ratings[0] < ratings[1] < ratings[2]


def test_an_interruption_keeps_what_was_done(tmp_path: Path) -> None:
    command = [str(find_binary()), "arena", "faraway", "--matches", "100000000", "--replays", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        due = time.monotonic() + 60
        while not (tmp_path / "deal-000000012-way-0.json").exists():
            assert time.monotonic() < due
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "interrupted: with --replays the same command continues" in said
    deals = int(said.split(" deals with 2 line-ups each")[0].rsplit(" ", 1)[1])
    found = figures("faraway", "--matches", str(2 * deals), "--replays", str(tmp_path))
    assert found["deals"] == deals


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["chess"], 1, "chess"),
        (["faraway", "--seats", "clever,random"], 2, "mc:PLAYOUTS"),
        (["faraway", "--seats", "greedy"], 1, "2 to 6"),
        (["faraway", "--until-width", "2"], 2, "a width is between 0 and 1"),
        (["faraway", "--field", "greedy,greedy", "--at", "2"], 1, "is in the field twice"),
        (
            ["faraway", "--field", "greedy,random", "--at", "3"],
            1,
            "--at must be 1 to 2 for this field; got 3",
        ),
        (["faraway", "--field", "greedy,random"], 2, "--at"),
        (["faraway", "--matches", "0"], 2, "1.."),
        (["faraway", "--agent", "me=true"], 1, "no seat is `agent:me`"),
        (["faraway", "--seats", "agent:me,greedy", "--agent", "me=false"], 1, "agent:me has ended with"),
        (["faraway", "--seats", "agent:me,greedy", "--listen", "nowhere"], 1, "cannot listen on nowhere"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: int, said: str) -> None:
    ended = arena(*arguments)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert said in ended.stderr


#: What plays the lowest of the legal actions in turn.
AGENT = f"{sys.executable} {Path(__file__).with_name('agent.py')}"


def test_agents_play_the_deals_that_bots_play(tmp_path: Path) -> None:
    bots = figures("faraway", "--field", "greedy,random", "--at", "2", "--matches", "8", "--seed", "5")
    field = ["--field", "greedy,random,agent:me", "--at", "2", "--agent", f"me={AGENT}"]
    figures("faraway", *field, "--matches", "24", "--seed", "5", "--replays", str(tmp_path))
    # The first two ways round are those of greedy and random.
    files = [tmp_path / f"deal-{deal:09}-way-{way}.json" for deal in range(4) for way in range(2)]
    scores = [json.loads(file.read_text())["frames"][-1]["outcome"]["scores"] for file in files]
    greedy = [own[match % 2] for match, own in enumerate(scores)]
    assert sum(greedy) / len(greedy) == bots["bots"][0]["mean_score"]


def test_an_arena_plays_on_another_server(address: str) -> None:
    field = ["rauha", "--field", "greedy,random,agent:me", "--at", "2", "--agent", f"me={AGENT}"]
    common = [*field, "--matches", "12", "--seed", "5"]
    assert figures(*common, "--server", address) == figures(*common)


def test_agents_repeat_and_go_on_after_a_cut(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "agent:me,random,agent:me", "--agent", f"me={AGENT}", "--seed", "2"]
    whole = figures(*common, "--matches", "9")
    assert (whole["deals"], whole["matches"]) == (3, 9)
    assert [bot["bot"] for bot in whole["bots"]] == ["agent:me", "random"]
    figures(*common, "--matches", "3", "--replays", str(tmp_path))
    assert figures(*common, "--matches", "9", "--replays", str(tmp_path)) == whole


def test_agents_do_not_know_the_seed(tmp_path: Path) -> None:
    """An agent that knows the seed can deal the hidden cards."""
    common = ["faraway", "--seats", "agent:me,random", "--agent", f"me={AGENT}"]
    kept = ["--replays", str(tmp_path)]
    seeds = {figures(*common, "--matches", "2")["seed"] for _ in range(2)}
    drawn = figures(*common, "--matches", "2", *kept)["seed"]
    assert len(seeds | {0, drawn}) == 4
    assert figures(*common, "--matches", "4", *kept)["seed"] == drawn


def test_an_invited_agent_may_play() -> None:
    command = [str(find_binary()), "arena", "faraway", "--seats", "agent:me,random", "--matches", "6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        agents: list[subprocess.Popen[bytes]] = []
        while len(agents) < 2:
            line = running.stderr.readline()
            assert line, "it has ended"
            if line.startswith("invitation for agent:me: "):
                agents.append(subprocess.Popen([*AGENT.split(), *line.split(": ")[1].split()]))
        said, _ = running.communicate(timeout=60)
        assert [agent.wait(timeout=60) for agent in agents] == [0, 0]
    assert running.returncode == 0
    assert "6 matches of faraway at 2 seats" in said


def test_another_arenas_folder_is_left_alone(tmp_path: Path) -> None:
    figures("faraway", "--matches", "2", "--replays", str(tmp_path))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for other in (["faraway", "--seed", "1"], ["rauha"], ["faraway", "--seats", "random,greedy"]):
        ended = arena(*other, "--matches", "2", "--replays", str(tmp_path))
        assert ended.returncode == 1
        assert "belongs to another arena" in ended.stderr
        assert "name another folder" in ended.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_search_bots_play_matches_and_batches(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "mc:4"], seed=2) as match:
        seat = match.join(0)
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(seen.mask.argmax())
        assert seen.ranks == (2, 1)
    with client.open_batch("rauha", environments=3, opponents={1: "mc:2"}, seed=2) as batch:
        step = batch.reset()
        for _ in range(4):
            step = batch.step(step.mask.argmax(axis=1))
        assert (step.ply >= 4).all()
