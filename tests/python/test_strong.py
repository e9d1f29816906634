"""The bot `strong`, the networks that it plays with, and the package of these networks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import boardwire
from boardwire import errors
from boardwire._process import find_binary
from networks import network

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "opponents/src/boardwire_opponents"
#: The name of the bot that `strong` stands for where it has a network.
WITH_NETWORK = "search:opponents"


@pytest.fixture
def folder(client: boardwire.Client, tmp_path: Path) -> Path:
    """A folder with a network for Faraway at two seats."""
    network(tmp_path / "faraway-2.onnx", client.game("faraway", seats=2))
    return tmp_path


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package `boardwire-opponents`, with a network for Faraway at two seats."""
    package = folder / "site/boardwire_opponents"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.onnx", "*.json"))
    (folder / "faraway-2.onnx").rename(package / "faraway-2.onnx")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delitem(sys.modules, "boardwire_opponents", raising=False)
    yield package
    sys.modules.pop("boardwire_opponents", None)


def player(client: boardwire.Client, game: str, seats: int) -> str:
    """Returns the bot that `strong` stands for at a table."""
    with client.create_match(game, players=["agent", *["strong"] * (seats - 1)]) as match:
        return match.info().players[-1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(find_binary()), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_strong_is_the_network_of_its_table_or_a_search(folder: Path) -> None:
    with boardwire.connect(server_args=["--opponents", str(folder)]) as client:
        assert [bot.name for bot in client.server().bots] == ["random", "greedy", "mc", "search", "strong"]
        assert [policy.name for policy in client.server().policies] == ["opponents"]
        assert player(client, "faraway", 2) == WITH_NETWORK
        assert player(client, "faraway", 3) == "mc"
        opponents = {1: "strong"}
        with client.open_batch(
            "faraway", environments=4, opponents=opponents, advice="strong", seed=1
        ) as batch:
            step = batch.step(batch.reset().mask.argmax(axis=1))
        assert (step.ply > 0).all()
        (line_up,) = batch.line_ups
        assert line_up == ("agent", WITH_NETWORK)


def test_without_networks_an_error_says_what_to_install(client: boardwire.Client) -> None:
    assert [bot.name for bot in client.server().bots] == ["random", "greedy", "mc", "search"]
    expected = "pip install boardwire-opponents.*serve --opponents DIR"
    with pytest.raises(errors.InvalidRequest, match=expected):
        client.create_match("faraway", players=["agent", "strong"])
    with pytest.raises(errors.InvalidRequest, match=expected):
        client.open_batch("faraway", environments=2, opponents={1: "strong"})
    with (
        boardwire.connect("local:") as local,
        pytest.raises(errors.InvalidRequest, match=expected),
    ):
        local.open_batch("faraway", environments=2, opponents={1: "strong"})


def test_a_private_server_finds_the_package(installed: Path, tmp_path: Path) -> None:
    with boardwire.connect() as client:
        assert player(client, "faraway", 2) == WITH_NETWORK
    # An argument overrides the package.
    other = tmp_path / "other"
    other.mkdir()
    with boardwire.connect() as client:
        network(other / "rauha-2.onnx", client.game("rauha", seats=2))
    with boardwire.connect(server_args=["--opponents", str(other)]) as client:
        assert (player(client, "faraway", 2), player(client, "rauha", 2)) == ("mc", WITH_NETWORK)


def test_strong_plays_on_the_command_line(folder: Path) -> None:
    line_up = ["faraway", "--seats", "strong,random"]
    networks = ["--opponents", str(folder)]
    played = run("play", *line_up, *networks)
    assert f"seat 0 ({WITH_NETWORK}): place" in played.stdout, played.stderr
    arena = run("arena", *line_up, *networks, "--matches", "4", "--json")
    assert [bot["bot"] for bot in json.loads(arena.stdout)["bots"]] == ["strong", "random"]
    without = run("arena", *line_up)
    assert without.returncode == 1
    assert "pip install boardwire-opponents" in without.stderr


def test_an_invalid_folder_or_name_is_rejected(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for command in (["serve"], ["play", "faraway"], ["arena", "faraway"]):
        for arguments, expected in (
            (["--opponents", str(empty)], f"--opponents {empty}: the folder must have networks"),
            (["--opponents", str(empty / "missing")], "No such file or directory"),
            (["--policy", f"opponents={folder / 'faraway-2.onnx'}"], "the name is reserved"),
        ):
            process = run(*command, *arguments)
            assert (process.returncode, process.stdout) == (1, "")
            assert expected in process.stderr
    (folder / "rauha-2.onnx").write_bytes(b"no network")
    assert f"policy opponents: {folder / 'rauha-2.onnx'}: " in run("serve", "--opponents", str(folder)).stderr


def test_the_ladder_compares_bots_with_the_same_opponents(folder: Path) -> None:
    out = folder / "ladder.json"
    command = [sys.executable, str(ROOT / "tools/ladder.py"), str(find_binary()), "faraway", "2"]
    options = ["--matches", "8", "--against", "greedy", "random", "--out", str(out)]
    bots = ["--bots", "random", "strong", "--opponents", str(folder)]
    printed = subprocess.run([*command, *options, *bots], capture_output=True, text=True, check=True).stdout
    heading, _, random, strong = printed.splitlines()
    assert heading == "| bot | against `greedy`, % | against `random`, % | mean score | ms/decision |"
    assert random.startswith("| `random` | ")
    assert random.split(" | ")[2] == "-"
    assert strong.startswith("| `strong` | ")
    shares = json.loads(out.read_text())
    assert [(share["bot"], share["against"]) for share in shares] == [
        ("random", "greedy"),
        ("strong", "greedy"),
        ("strong", "random"),
    ]
    assert all(share["matches"] == 8 for share in shares)


def test_the_package_has_small_networks_of_tables_with_their_logs(client: boardwire.Client) -> None:
    networks = sorted(PACKAGE.glob("*.onnx"))
    assert {path.stem for path in networks} == {path.stem for path in PACKAGE.glob("*.json")}
    for path in networks:
        game, seats = path.stem.rsplit("-", 1)
        assert path.stat().st_size < 1_000_000
        assert client.game(game, seats=int(seats)).digest.encode() in path.read_bytes()
        log = json.loads(path.with_suffix(".json").read_text())
        assert (log["game"], log["seats"]) == (game, int(seats))
        assert {"command", "seed", "decisions", "strength"} <= log.keys()
