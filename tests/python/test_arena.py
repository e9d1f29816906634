"""`boardwire arena`: results repeat exactly, an interrupted arena continues, and errors are clear."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trustme

import boardwire
from accounts import account
from boardwire._process import find_binary
from servers import tcp_server


def arena(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `boardwire arena`."""
    command = [str(find_binary()), "arena", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def results_of(*arguments: str) -> dict[str, Any]:
    """Runs an arena and returns its results without times."""
    process = arena(*arguments, "--json")
    assert process.returncode == 0, process.stderr
    results: dict[str, Any] = json.loads(process.stdout)
    del results["decisions_per_second"]
    for bot in results["bots"]:
        del bot["milliseconds_per_decision"]
    return results


def test_each_deal_is_played_at_all_seats_and_repeats() -> None:
    results = results_of("faraway", "--seats", "greedy,random,random", "--matches", "40", "--seed", "3")
    assert (results["deals"], results["matches"], results["seats"]) == (14, 42, 3)
    greedy, rest = results["bots"]
    assert (greedy["bot"], greedy["seats"], rest["bot"], rest["seats"]) == ("greedy", 42, "random", 84)
    assert greedy["share"] + 2 * rest["share"] == pytest.approx(1)
    assert greedy["interval"][0] < greedy["share"] < 1
    assert greedy["rating"] > rest["rating"]
    assert (
        results_of("faraway", "--seats", "greedy,random,random", "--matches", "40", "--seed", "3") == results
    )


def test_an_arena_continues_and_its_replays_can_be_verified(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "greedy,random", "--seed", "5"]
    replays = ["--replays", str(tmp_path)]
    assert results_of(*common, "--matches", "8", *replays) == results_of(*common, "--matches", "8")
    # The arena repeats a deal if one of its replays is missing, and does not write the other files.
    missing, old = (tmp_path / f"deal-00000000{deal}-way-1.json" for deal in (2, 1))
    missing.unlink()
    written = old.stat().st_mtime_ns
    assert results_of(*common, "--matches", "20", *replays) == results_of(*common, "--matches", "20")
    assert old.stat().st_mtime_ns == written
    files = sorted(file.name for file in tmp_path.glob("deal-*"))
    assert files == [f"deal-{deal:09}-way-{way}.json" for deal in range(10) for way in range(2)]
    for name in ("deal-000000002-way-1.json", "deal-000000009-way-0.json"):
        verified = subprocess.run(
            [str(find_binary()), "verify", str(tmp_path / name)], capture_output=True, text=True, timeout=60
        )
        assert verified.returncode == 0, verified.stderr
    missing.write_text("{}")
    damaged = arena(*common, "--matches", "20", *replays)
    assert (damaged.returncode, damaged.stdout) == (1, "")
    assert f"{missing}: delete it, and the deal is played again" in damaged.stderr


def test_an_arena_runs_until_intervals_are_narrow() -> None:
    results = results_of("faraway", "--seats", "random,random", "--until-width", "0.9")
    assert results["deals"] == 30, "30 deals are the minimum"
    narrow = results_of("faraway", "--seats", "greedy:1,random", "--until-width", "0.08")
    assert all(high - low <= 0.08 for low, high in (bot["interval"] for bot in narrow["bots"]))
    assert narrow["deals"] > 30
    fewer = results_of("faraway", "--seats", "greedy:1,random", "--matches", str(2 * narrow["deals"] - 2))
    assert any(high - low > 0.08 for low, high in (bot["interval"] for bot in fewer["bots"]))


def test_the_time_of_decisions_is_that_of_each_bot() -> None:
    common = ["faraway", "--seats", "mc:160,random", "--matches", "4"]
    process = arena(*common, "--json")
    search, random = (bot["milliseconds_per_decision"] for bot in json.loads(process.stdout)["bots"])
    assert search > random > 0
    header = arena(*common).stdout.splitlines()[1]
    assert header.endswith("rating  ms/decision")


def test_a_sequential_test_stops_when_it_is_decided() -> None:
    common = ["faraway", "--seats", "greedy:1,random", "--seed", "2"]
    results = results_of(*common, "--sprt", "0,100")
    test, deals = results["sprt"], results["deals"]
    assert test["verdict"] == "accepted"
    assert (test["elo"], test["error_rate"]) == ([0, 100], 0.05)
    assert test["bounds"] == pytest.approx([-2.944439, 2.944439])
    assert test["llr"] >= test["bounds"][1]
    assert sum(test["deals_by_points"]) == deals
    points = sum(count * points / 2 for points, count in enumerate(test["deals_by_points"]))
    assert points / 2 / deals == pytest.approx(results["bots"][0]["share"])
    # One deal fewer decides nothing.
    undecided = results_of(*common, "--sprt", "0,100", "--matches", str(2 * deals - 2))["sprt"]
    assert undecided["verdict"] == "undecided"
    assert abs(undecided["llr"]) < test["bounds"][1]
    assert results_of(*common, "--matches", "2")["sprt"] is None


def test_a_sequential_test_rejects_and_says_so() -> None:
    process = arena("faraway", "--seats", "random,greedy", "--sprt", "-20,0")
    assert process.returncode == 0, process.stderr
    assert "SPRT, random is 0 rather than -20 Elo stronger than greedy: rejected; LLR -" in process.stdout
    assert ", bounds -2.94 and 2.94" in process.stdout


def test_players_of_a_field_meet_in_pairs_and_get_ratings() -> None:
    results = results_of("faraway", "--field", "random,greedy:1,mc:40", "--at", "2", "--matches", "120")
    assert (results["deals"], results["matches"]) == (20, 120)
    ratings = [bot["rating"] for bot in results["bots"]]
    assert sum(ratings) == pytest.approx(0, abs=1e-6)
    assert ratings[0] < ratings[1] < ratings[2]


def test_an_interrupted_arena_keeps_its_finished_deals(tmp_path: Path) -> None:
    command = [str(find_binary()), "arena", "faraway", "--matches", "100000000", "--replays", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        while not (tmp_path / "deal-000000012-way-0.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "interrupted: with --replays the same command continues" in output
    deals = int(output.split(" deals with 2 line-ups each")[0].rsplit(" ", 1)[1])
    results = results_of("faraway", "--matches", str(2 * deals), "--replays", str(tmp_path))
    assert results["deals"] == deals


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
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
        (["faraway", "--sprt", "5,0"], 2, "-1000 <= ELO0 < ELO1 <= 1000"),
        (["faraway", "--sprt", "0,5", "--until-width", "0.1"], 2, "cannot be used with"),
        (
            ["faraway", "--seats", "greedy,greedy", "--sprt", "0,5"],
            1,
            "--sprt needs two different players at two seats, such as `--seats mc:160,greedy`; got greedy at",
        ),
        (["faraway", "--seats", "greedy,random,mc", "--sprt", "0,5"], 1, "got greedy,random,mc at 3 seats"),
        (["faraway", "--clock", "limit=soon"], 2, "`limit` must be a number of seconds; got `soon`"),
        (["faraway", "--agent", "me=true"], 1, "no seat is `agent:me`"),
        (["faraway", "--seats", "agent:me,greedy", "--agent", "me=false"], 1, "agent:me has ended with"),
        (["faraway", "--seats", "agent:me,greedy", "--listen", "nowhere"], 1, "cannot listen on nowhere"),
    ],
)
def test_invalid_arguments_are_errors(arguments: list[str], code: int, expected: str) -> None:
    process = arena(*arguments)
    assert (process.returncode, process.stdout) == (code, "")
    assert expected in process.stderr


#: The command of an agent that chooses legal actions in turn.
AGENT = f"{sys.executable} {Path(__file__).with_name('agent.py')}"


def test_agents_and_bots_play_the_same_deals(tmp_path: Path) -> None:
    bots = results_of("faraway", "--field", "greedy,random", "--at", "2", "--matches", "8", "--seed", "5")
    field = ["--field", "greedy,random,agent:me", "--at", "2", "--agent", f"me={AGENT}"]
    results_of("faraway", *field, "--matches", "24", "--seed", "5", "--replays", str(tmp_path))
    # The first two line-ups are greedy and random at both seats.
    files = [tmp_path / f"deal-{deal:09}-way-{way}.json" for deal in range(4) for way in range(2)]
    scores = [json.loads(file.read_text())["frames"][-1]["outcome"]["scores"] for file in files]
    greedy = [scores_of_match[match % 2] for match, scores_of_match in enumerate(scores)]
    assert sum(greedy) / len(greedy) == bots["bots"][0]["mean_score"]


def test_an_arena_on_another_server_gives_the_same_results(address: str) -> None:
    field = ["rauha", "--field", "greedy,random,agent:me", "--at", "2", "--agent", f"me={AGENT}"]
    common = [*field, "--matches", "12", "--seed", "5"]
    assert results_of(*common, "--server", address) == results_of(*common)


def test_an_arena_and_its_agents_use_tls_and_an_account(tmp_path: Path) -> None:
    ca, [accounts, root, cert, key] = (
        trustme.CA(),
        [tmp_path / name for name in ("accounts", "ca", "cert", "key")],
    )
    ca.cert_pem.write_to_path(str(root))
    issued = ca.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(cert))
    issued.private_key_pem.write_to_path(str(key))
    token = account(accounts, "ada")
    common = [
        "faraway",
        "--seats",
        "agent:me,random",
        "--agent",
        f"me={AGENT}",
        "--matches",
        "4",
        "--seed",
        "5",
    ]
    files = ["--tls-cert", str(cert), "--tls-key", str(key), "--auth-token-file", str(accounts)]
    with tcp_server(*files) as address:
        secured = ["--server", address, "--ca", str(root)]
        assert results_of(*common, *secured, "--account-token", token) == results_of(*common)
        refused = arena(*common, *secured)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "boardwire-token" in refused.stderr


def test_an_arena_with_agents_repeats_and_continues(tmp_path: Path) -> None:
    common = ["faraway", "--seats", "agent:me,random,agent:me", "--agent", f"me={AGENT}", "--seed", "2"]
    uninterrupted = results_of(*common, "--matches", "9")
    assert (uninterrupted["deals"], uninterrupted["matches"]) == (3, 9)
    assert [bot["bot"] for bot in uninterrupted["bots"]] == ["agent:me", "random"]
    results_of(*common, "--matches", "3", "--replays", str(tmp_path))
    assert results_of(*common, "--matches", "9", "--replays", str(tmp_path)) == uninterrupted


def test_agents_do_not_know_the_seed(tmp_path: Path) -> None:
    """An agent that knows the seed can compute the hidden cards."""
    common = ["faraway", "--seats", "agent:me,random", "--agent", f"me={AGENT}"]
    replays = ["--replays", str(tmp_path)]
    seeds = {results_of(*common, "--matches", "2")["seed"] for _ in range(2)}
    stored_seed = results_of(*common, "--matches", "2", *replays)["seed"]
    assert len(seeds | {0, stored_seed}) == 4
    assert results_of(*common, "--matches", "4", *replays)["seed"] == stored_seed


def test_agents_lose_on_time() -> None:
    """No process decides within a nanosecond, so the agent forfeits every match."""
    arguments = ["faraway", "--seats", "agent:me,random", "--agent", f"me={AGENT}", "--matches", "4"]
    late, other = results_of(*arguments, "--clock", "limit=0.000000001")["bots"]
    assert (late["timeouts"], late["share"], late["mean_score"]) == (4, 0, None)
    assert (other["timeouts"], other["share"]) == (0, 1)
    in_time = arena(*arguments, "--clock", "limit=60,bank=60")
    assert in_time.returncode == 0, in_time.stderr
    header, agent, bot = in_time.stdout.splitlines()[1:4]
    assert header.endswith(" timeouts")
    assert agent.endswith(" 0")
    assert bot.endswith(" 0")


def test_an_agent_can_join_by_an_invitation() -> None:
    command = [str(find_binary()), "arena", "faraway", "--seats", "agent:me,random", "--matches", "6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        agents: list[subprocess.Popen[bytes]] = []
        while len(agents) < 2:
            line = running.stderr.readline()
            assert line, "the arena ended early"
            if line.startswith("invitation for agent:me: "):
                agents.append(subprocess.Popen([*AGENT.split(), *line.split(": ")[1].split()]))
        output, _ = running.communicate(timeout=60)
        assert [agent.wait(timeout=60) for agent in agents] == [0, 0]
    assert running.returncode == 0
    assert "6 matches of faraway at 2 seats" in output


def test_an_arena_rejects_the_folder_of_another_arena(tmp_path: Path) -> None:
    results_of("faraway", "--matches", "2", "--replays", str(tmp_path))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for other in (["faraway", "--seed", "1"], ["rauha"], ["faraway", "--seats", "random,greedy"]):
        process = arena(*other, "--matches", "2", "--replays", str(tmp_path))
        assert process.returncode == 1
        assert "belongs to another arena" in process.stderr
        assert "name another folder" in process.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_search_bots_play_matches_and_batches(client: boardwire.Client) -> None:
    with client.create_match("faraway", players=["agent", "mc:4"], seed=2) as match:
        seat = match.join(0)
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(obs.mask.argmax())
        assert obs.ranks == (2, 1)
    with client.open_batch("rauha", environments=3, opponents={1: "mc:2"}, seed=2) as batch:
        step = batch.reset()
        for _ in range(4):
            step = batch.step(step.mask.argmax(axis=1))
        assert (step.ply >= 4).all()
