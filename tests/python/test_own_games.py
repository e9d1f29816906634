"""The games of `examples/` on servers, in the process, in arenas and in training, without a line for them.

`make test-own-games` builds them: the programs in BOARDWIRE_OWN_GAMES, the extensions on the search path.
"""

from __future__ import annotations

import filecmp
import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import boardwire
from boardwire import Address, errors

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(os.environ.get("BOARDWIRE_OWN_GAMES", ""))
GAMES = ["kuhn", "liars_dice"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BINARIES / "kuhn").is_file(), reason="make test-own-games builds the games"),
]


@pytest.fixture(scope="module", params=GAMES)
def game(request: pytest.FixtureRequest) -> str:
    """The id of a game, and the name of its program and crate."""
    return str(request.param)


@pytest.fixture(params=["server", "process"])
def own(request: pytest.FixtureRequest, game: str) -> Iterator[boardwire.Client]:
    """A client of a private server with the game, and of an engine in this process."""
    place = (
        Address(binary=BINARIES / game)
        if request.param == "server"
        else Address("local:", module=f"{game}_core")
    )
    with boardwire.connect(**vars(place)) as client:
        yield client


def run(binary: str, *arguments: str) -> str:
    """Runs a program with its game and returns its output."""
    command = [str(BINARIES / binary), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=300).stdout


def test_a_program_has_its_game_beside_the_others(own: boardwire.Client, game: str) -> None:
    ids = [spec.id for spec in own.games()]
    assert ids[0] == "faraway"
    assert ids[-1] == game
    assert own.rules(game).how_to_play
    with boardwire.connect() as standard, pytest.raises(errors.NotFound):
        standard.game(game)


def test_batches_are_equal_on_a_server_and_in_the_process(game: str) -> None:
    places = [Address(binary=BINARIES / game), Address("local:", module=f"{game}_core")]
    played: list[list[bytes]] = []
    for place in places:
        with (
            boardwire.connect(**vars(place)) as client,
            client.open_batch(game, environments=16, seed=5, columns=["scores"]) as batch,
        ):
            step, rows = batch.reset(), []
            for number in range(60):
                assert step.scores is not None
                rows.append(step.view.tobytes() + step.reward.tobytes() + step.scores.tobytes())
                lowest = step.mask.argmax(1)
                highest = step.mask.shape[1] - 1 - step.mask[:, ::-1].argmax(1)
                step = batch.step(np.where(number % 3, lowest, highest).astype(np.uint8))
            played.append(rows)
    assert played[0] == played[1]


def test_a_match_is_played_drawn_and_verified(game: str, tmp_path: Path) -> None:
    with boardwire.connect(binary=BINARIES / game) as client:
        spec = client.game(game)
        match = client.create_match(game, players=["agent", "mc:16"])
        seat = match.join(0)
        observation = seat.observe(text=True)
        while not observation.over:
            assert observation.text
            xml.etree.ElementTree.fromstring(spec.picture(observation.view, seat=0))
            observation = seat.act(int(observation.mask.argmax()), text=True)
        assert spec.pixels(observation.view).shape[1:] == (960, 3)
        replay = tmp_path / "replay.json"
        replay.write_text(match.replay().to_json())
    assert "verified" in run(game, "verify", str(replay))
    with pytest.raises(subprocess.CalledProcessError):
        run("kuhn" if game != "kuhn" else "liars_dice", "verify", str(replay))


@pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")
def test_gymnasium_finds_the_games_of_a_server(own: boardwire.Client, game: str) -> None:
    name = {"kuhn": "boardwire/Kuhn-v0", "liars_dice": "boardwire/LiarsDice-v0"}[game]
    assert boardwire.register(own)[-1] == name
    for env in (
        gymnasium.make(name, opponents="random"),
        gymnasium.make("boardwire/Game-v0", game=game, address=Address(binary=BINARIES / game)),
        gymnasium.make("boardwire/Game-v0", game=game, address=Address("local:", module=f"{game}_core")),
    ):
        check_env(env.unwrapped, skip_render_check=True)
        env.close()
    assert gymnasium.make("boardwire/Game-v0", game="faraway").get_wrapper_attr("game_spec").id == "faraway"


def test_an_arena_has_an_agent_in_node(game: str, tmp_path: Path) -> None:
    agent = f"node {ROOT / 'tests/node/dist/agent.js'}"
    arguments = ["arena", game, "--seats", "agent:node,mc:16", "--agent", f"node={agent}", "--matches", "20"]
    results = json.loads(run(game, *arguments, "--replays", str(tmp_path), "--json"))
    assert results["matches"] == 20
    assert sum(row["share"] for row in results["bots"]) == pytest.approx(1)
    assert len(list(tmp_path.glob("deal-*"))) == 20


def test_episodes_are_recorded_and_a_policy_is_evaluated(
    own: boardwire.Client, game: str, tmp_path: Path
) -> None:
    recording = boardwire.record(tmp_path / "r", game, [["random", "mc:8"]], episodes=32, client=own)
    steps = recording.read().decisions
    assert own.game(game).features(steps.observation).shape[0] == len(steps.action)

    def first(decisions: boardwire.Decisions) -> NDArray[np.uint8]:
        action: NDArray[np.uint8] = decisions.mask.argmax(1).astype(np.uint8)
        return action

    result = boardwire.evaluate(first, game, opponents="random", deals=32, client=own)
    assert result.rewards.shape == (32, 2)


def test_the_training_program_trains_a_network_for_bots(game: str, tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "client-py/examples/train_ppo.py"), game, "--out", str(tmp_path)]
    sizes = ["--decisions=6000", "--warm-up=2000", "--environments=32", "--steps=16", "--deals=4"]
    environment = os.environ | {"BOARDWIRE_BINARY": str(BINARIES / game)}
    subprocess.run([*program, *sizes], check=True, env=environment, timeout=300)
    policy = f"own={tmp_path / 'policy.onnx'}"
    seats = ["--seats", "search:own:16,policy:own:argmax"]
    assert run(game, "arena", game, *seats, "--policy", policy, "--matches", "8", "--json")


def test_an_extension_must_be_one() -> None:
    with pytest.raises(ValueError, match="'json' has no engine"):
        boardwire.connect("local:", module="json")
    with pytest.raises(ImportError):
        boardwire.connect("local:", module="no_such_module")
    with pytest.raises(ValueError, match="`module` is for 'local:'"):
        boardwire.connect(module="kuhn_core")
    with pytest.raises(ValueError, match="omit the address"):
        boardwire.connect("local:", binary=BINARIES / "kuhn")
    with pytest.raises(errors.StartError, match="`binary` must name a file; got '/no/file'"):
        boardwire.connect(binary="/no/file")


def test_a_learned_strategy_of_kuhn_is_close_to_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOARDWIRE_BINARY", str(BINARIES / "kuhn"))
    path = ROOT / "client-py/examples/solve_game.py"
    module = importlib.util.spec_from_file_location("solve_game", path)
    assert module is not None
    assert module.loader is not None
    solve = importlib.util.module_from_spec(module)
    module.loader.exec_module(solve)
    with boardwire.connect() as client:
        spec = client.game("kuhn")
        for seed in (1, 2, 3):
            learned = solve.learn(client, spec, updates=600, episodes=2048, seed=seed)
            assert len(learned) == 12, "three cards in four positions"
            loss, value = solve.exploitability(learned, spec)
            assert value == pytest.approx(-1 / 18, abs=1e-6)
            assert 0 <= loss < 0.02


def test_a_new_game_is_the_example_under_another_name(tmp_path: Path) -> None:
    copy = tmp_path / "kuhn"
    run("kuhn", "new-game", "kuhn", "--out", str(copy))
    for path in (path for path in copy.rglob("*") if path.is_file()):
        assert filecmp.cmp(path, ROOT / "examples/kuhn" / path.relative_to(copy), shallow=False), path
    with pytest.raises(subprocess.CalledProcessError):
        run("kuhn", "new-game", "kuhn", "--out", str(copy))
    own = tmp_path / "my_game9"
    run("kuhn", "new-game", "my_game9", "--out", str(own))
    # Until the crates are published, a build needs the paths of the examples.
    workspace = (ROOT / "examples/Cargo.toml").read_text().replace('"../', f'"{ROOT}/')
    workspace = workspace.replace('members = ["kuhn", "liars_dice"]', 'members = ["my_game9"]')
    (tmp_path / "Cargo.toml").write_text(workspace)
    (tmp_path / "lib.rs").touch()
    (tmp_path / "Cargo.lock").write_bytes((ROOT / "examples/Cargo.lock").read_bytes())
    cargo = ["cargo", "--quiet", "--offline", "--config", f'build.target-dir="{ROOT}/target"']
    for command in (["test"], ["build", "--bins"]):
        subprocess.run([*cargo, *command, "--release", "--workspace"], cwd=tmp_path, check=True, timeout=600)
    play = [str(ROOT / "target/release/my_game9"), "play", "my_game9", "--seats", "mc:8,random"]
    played = subprocess.run(play, check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    assert "place 1" in played.stdout
