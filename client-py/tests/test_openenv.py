"""The OpenEnv server: its own conformance checks, sessions, tools, seeds, determinism and secrecy."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import boardwire
from boardwire.openenv import GameSession

pytest.importorskip("openenv")

from openenv import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

pytestmark = [
    pytest.mark.slow,
    # OpenEnv and its dependencies.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Starts a server, and yields its URL."""
    command = [sys.executable, "-m", "boardwire.openenv", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().removeprefix("listening on ").strip()
        finally:
            server.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a server that the tests share."""
    with served("faraway", "--sessions", "4", "--seed", "5") as url:
        yield url


def validate(*arguments: str) -> dict[str, Any]:
    """Runs `openenv validate` and returns its report."""
    command = [sys.executable, "-m", "openenv.cli", "validate", *arguments, "--json"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report: dict[str, Any] = json.loads(process.stdout)
    assert process.returncode == 0, report
    return report


def test_a_server_meets_the_criteria_of_openenv(url: str) -> None:
    report = validate("--url", url, "--timeout", "30")
    failed = [criterion["id"] for criterion in report["criteria"] if not criterion["passed"]]
    assert (failed, len(report["criteria"]), report["mode"]) == ([], 6, "simulation")
    with urllib.request.urlopen(f"{url}/schema") as answer:
        # With one required field, verifiers sends a plain reply of a model as this field.
        assert json.load(answer)["action"]["required"] == ["action"]


def test_the_manifest_is_valid() -> None:
    package = Path(boardwire.__file__).parent / "openenv"
    report = validate(str(package), "--level", "static", "--skip-build")
    assert report["verdict"] in ("pass", "warn"), report
    assert [result["check_id"] for result in report["results"] if result["status"] in ("fail", "error")] == []


def episode(url: str, **reset: Any) -> list[dict[str, Any]]:
    """Plays the first legal actions of an episode, and returns its observations."""
    with GenericEnvClient(base_url=url).sync() as client:
        results = [client.reset(**reset)]
        while not results[-1].done:
            results.append(client.step({"action": results[-1].observation["legal"][0]}))
    return [{**result.observation, "reward": result.reward} for result in results]


def test_seeds_determine_episodes_in_every_server(url: str) -> None:
    first = episode(url, seed=3)
    assert (first[-1]["seed"], first[-1]["ended"], first[-1]["truncated"]) == (3, "finished", False)
    assert all(observation["seed"] is None and observation["reward"] == 0 for observation in first[:-1])
    assert episode(url, seed=3) == first
    assert episode(url, seed=4)[0] != first[0]
    with served("faraway", "--seed", "5") as other:
        assert episode(other, seed=3) == first
        # Without a seed, each session has the episodes of the server's seed.
        assert episode(other) == episode(url)
        # It has one session, by default.
        with GenericEnvClient(base_url=other).sync() as only:
            assert only.reset().observation["legal"]
            with (
                pytest.raises(Exception, match=r"(?i)capacity"),
                GenericEnvClient(base_url=other).sync() as more,
            ):
                more.reset()


def test_an_episode_equals_that_of_a_session(url: str) -> None:
    with GameSession("faraway") as session:
        prompt = session.reset(3)
        observations = episode(url, seed=3)
        assert observations[0]["text"] == f"{session.how_to_play}\n\n{prompt.text}"
        for observation in observations[1:]:
            prompt = session.play(prompt.legal[0])
            assert (observation["text"], observation["legal"]) == (prompt.text, prompt.legal)
        assert prompt.result is not None
        assert tuple(observations[-1]["places"]) == prompt.result.places


def test_concurrent_episodes_are_isolated(url: str) -> None:
    alone = [episode(url, seed=seed) for seed in range(4)]

    async def play(seed: int) -> list[dict[str, Any]]:
        async with GenericEnvClient(base_url=url) as client:
            results = [await client.reset(seed=seed)]
            while not results[-1].done:
                results.append(await client.step({"action": results[-1].observation["legal"][0]}))
        return [{**result.observation, "reward": result.reward} for result in results]

    async def together() -> list[list[dict[str, Any]]]:
        return await asyncio.gather(*map(play, range(4)))

    assert asyncio.run(together()) == alone


def test_tools_of_a_session_have_types(url: str) -> None:
    async def play() -> None:
        async with MCPToolClient(base_url=url) as client:
            schemas = {tool.name: tool.input_schema for tool in await client.list_tools()}
            assert set(schemas) == {"choose", "place"}
            assert schemas["place"]["properties"]["sanctuary"]["type"] == "string"
            observation = (await client.reset(seed=3)).observation
            with GameSession("faraway") as session:
                prompt = session.reset(3)
                assert prompt.text in observation.text
                region = prompt.calls[0].removeprefix("choose(").removesuffix(")")
                chosen, refused = session.call("choose", region), session.call("place", "S99")
                assert await client.call_tool("choose", region=region) == chosen.for_tools()
                assert await client.call_tool("place", sanctuary="S99") == refused.for_tools()
            # A reply that is not legal is a step too.
            assert (await client.state()).step_count == 2

    asyncio.run(play())


def test_nothing_shows_what_the_seat_may_not_know() -> None:
    """Two episodes differ only in what another seat has chosen. All that a client can read is equal."""
    seen = []
    with served("faraway", "--self-play", "--labels", "permuted") as url:
        for choice in (0, 1):
            with GenericEnvClient(base_url=url).sync() as client:
                first = client.reset(seed=3).observation
                second = client.step({"action": first["legal"][choice]})
                assert second.observation["seat"] == 1
                seen.append((second.observation, second.reward, client.state()))
    assert seen[0] == seen[1]


def test_options_of_the_command() -> None:
    table = ["--seats", "3", "--opponent", "random", "--opponent", "greedy", "--option", "variant=advanced"]
    seat = ["--agent-seat", "1", "--reward", "score", "--illegal-limit", "1"]
    with served("faraway", *table, *seat) as url, GenericEnvClient(base_url=url).sync() as client:
        first = client.reset(seed=1).observation
        assert (first["seat"], len(first["legal"])) == (1, 5)
        last = client.step({"action": "fly"})
        assert (last.done, last.observation["ended"]) == (True, "illegal")
    command = [sys.executable, "-m", "boardwire.openenv", "serve", "chess"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode == 1
    assert "chess" in process.stderr
