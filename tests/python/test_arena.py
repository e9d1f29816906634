"""`boardwire arena`: repeatable to the last figure, cut off and gone on with, plain about what it refuses."""

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
from boardwire._server import find_binary


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


def test_what_was_cut_off_goes_on_to_the_same_end(tmp_path: Path) -> None:
    common = ["rauha", "--seats", "greedy,random", "--matches", "24"]
    whole = figures(*common)
    ledger = tmp_path / "deals.jsonl"
    assert figures(*common, "--out", str(ledger)) == whole
    lines = ledger.read_text().splitlines(keepends=True)
    assert len(lines) == 13
    ledger.write_text("".join(lines[:5]) + lines[5][:40])
    assert figures(*common, "--out", str(ledger)) == whole
    assert sorted(ledger.read_text().splitlines()[1:]) == sorted(line.strip() for line in lines[1:])
    more = figures(*common[:3], "--matches", "30", "--out", str(ledger))
    assert more == figures(*common[:3], "--matches", "30")


def test_replays_are_kept_of_every_match_and_can_be_verified(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "greedy,random", "--seed", "5"]
    whole = figures(*common, "--matches", "20")
    replays, out = tmp_path / "replays", ["--out", str(tmp_path / "deals")]
    kept = ["--replays", str(replays), *out]
    assert figures(*common, "--matches", "8", *kept) == figures(*common, "--matches", "8")
    # A deal of which there is no replay is played again.
    figures(*common, "--matches", "12", *out)
    (replays / "deal-000000002-way-1.json").unlink()
    assert figures(*common, "--matches", "20", *kept) == whole
    files = sorted(file.name for file in replays.glob("deal-*"))
    assert files == [f"deal-{deal:09}-way-{way}.json" for deal in range(10) for way in range(2)]
    for name in ("deal-000000002-way-1.json", "deal-000000009-way-0.json"):
        verified = subprocess.run(
            [str(find_binary()), "verify", str(replays / name)], capture_output=True, text=True, timeout=60
        )
        assert verified.returncode == 0, verified.stderr
    refused = arena(*common[:-1], "6", "--replays", str(replays))
    assert refused.returncode == 1
    assert "is of another arena" in refused.stderr
    assert "name another folder" in refused.stderr


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


def finished(ledger: Path) -> set[int]:
    """The numbers of the deals in a file of an arena."""
    lines = ledger.read_text().splitlines(keepends=True)[1:] if ledger.exists() else []
    return {json.loads(line)["number"] for line in lines if line.endswith("\n")}


def test_an_interruption_keeps_what_was_done(tmp_path: Path) -> None:
    ledger = tmp_path / "deals.jsonl"
    command = [str(find_binary()), "arena", "faraway", "--matches", "100000000", "--out", str(ledger)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        due = time.monotonic() + 60
        # Deals end in any order, and those count that follow one another from the first on.
        while not set(range(10)) <= finished(ledger):
            assert time.monotonic() < due
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "interrupted: with --out the same command goes on" in said
    deals = int(said.split(" deals, each 2 ways round")[0].rsplit(" ", 1)[1])
    assert deals >= 10
    found = figures("faraway", "--matches", str(2 * deals), "--out", str(ledger))
    assert found["deals"] == deals


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["chess"], 1, "chess"),
        (["faraway", "--seats", "clever,random"], 2, "mc:PLAYOUTS"),
        (["faraway", "--seats", "greedy"], 1, "2 to 6"),
        (["faraway", "--until-width", "2"], 2, "a width is between 0 and 1"),
        (["faraway", "--field", "greedy,greedy", "--at", "2"], 1, "is in the field twice"),
        (["faraway", "--field", "greedy,random", "--at", "3"], 1, "makes no table of 3 seats"),
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
    def deals(*arguments: str) -> list[dict[str, Any]]:
        ledger = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        figures("faraway", "--field", *arguments, "--at", "2", "--out", str(ledger), "--seed", "5")
        lines = [json.loads(line) for line in ledger.read_text().splitlines()[1:]]
        return sorted(lines, key=lambda deal: deal["number"])[:4]

    bots = deals("greedy,random", "--matches", "8")
    agents = deals("greedy,random,agent:me", "--agent", f"me={AGENT}", "--matches", "24")
    assert [deal["number"] for deal in agents] == [0, 1, 2, 3]
    # How often greedy was before random: these matches are the same.
    assert [deal["ahead"][0][1] for deal in agents] == [deal["ahead"][0][1] for deal in bots]
    assert all(sum(deal["ahead"][2]) + deal["ahead"][0][2] + deal["ahead"][1][2] == 8 for deal in agents)


def test_agents_repeat_and_go_on_after_a_cut(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "agent:me,random,agent:me", "--agent", f"me={AGENT}", "--seed", "2"]
    whole = figures(*common, "--matches", "9")
    assert (whole["deals"], whole["matches"]) == (3, 9)
    assert [bot["bot"] for bot in whole["bots"]] == ["agent:me", "random"]
    ledger = tmp_path / "deals.jsonl"
    figures(*common, "--matches", "3", "--out", str(ledger))
    assert figures(*common, "--matches", "9", "--out", str(ledger)) == whole


def test_agents_do_not_know_the_seed(tmp_path: Path) -> None:
    """Who knows the seed can deal the hidden cards."""
    common = ["faraway", "--seats", "agent:me,random", "--agent", f"me={AGENT}"]
    ledger = str(tmp_path / "deals.jsonl")
    seeds = {figures(*common, "--matches", "2")["seed"] for _ in range(2)}
    drawn = figures(*common, "--matches", "2", "--out", ledger)["seed"]
    assert len(seeds | {0, drawn}) == 4
    assert figures(*common, "--matches", "4", "--out", ledger)["seed"] == drawn


def test_whoever_is_invited_may_play() -> None:
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


def test_another_arenas_file_is_left_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "deals.jsonl"
    figures("faraway", "--matches", "2", "--out", str(ledger))
    before = ledger.read_bytes()
    for other in (["faraway", "--seed", "1"], ["rauha"], ["faraway", "--seats", "random,greedy"]):
        ended = arena(*other, "--matches", "2", "--out", str(ledger))
        assert ended.returncode == 1
        assert "holds another arena" in ended.stderr
    assert ledger.read_bytes() == before


def test_search_bots_play_matches_and_batches(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "mc:4"], seed=2) as match:
        seat = match.join(0)
        seen = seat.observe(wait=True)
        while not seen.over:
            seen = seat.act(seen.mask.argmax())
        assert seen.ranks == (2, 1)
    with client.open_batch("rauha", environments=3, opponents={1: "mc:2"}, seed=2) as batch:
        step = batch.reset()
        for _ in range(4):
            step = batch.step(step.mask.argmax(axis=1))
        assert (step.ply >= 4).all()
