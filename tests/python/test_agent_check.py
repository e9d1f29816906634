"""`boardwire agent-check` passes an agent that follows the protocol, and finds each flaw of others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from boardwire._process import find_binary

FLAWED = Path(__file__).with_name("flawed_agent.py")
#: A flawed agent that gets stuck costs this many seconds. The others fail before.
STUCK = ("--limit", "8")
#: The agent's pings find a silent connection in half a minute.
SILENT = ("--limit", "8", "--keepalive", "40")
RESPONSES = "responses and connections"

#: Each row has a flaw, a scenario that finds it, what the scenario reports, and more arguments.
FOUND: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("plays the lowest action", "rauha, 2 seats: an episode", "the policy ends it after", ()),
    ("plays one episode", "rauha, 2 seats: three episodes", "exit status: 0 when 1 of 3 episodes", ()),
    ("plays one episode", "rauha, 2 seats: an episode", "exit status: 0 when 1 of 1 episodes", ()),
    ("asks for no other episode", "rauha, 2 seats: an episode", "did not ask for the next episode", STUCK),
    ("joins twice", "rauha, 2 seats: the response to the join is lost", "has been joined already", ()),
    ("gives up after a lost connection", f"rauha, 2 seats: {RESPONSES}", "ended with exit status: 1", ()),
    ("gives up after a lost connection", "refused with UNAVAILABLE without", "ended with exit status: 1", ()),
    ("gives up after JOURNAL_FAILED", "requests are refused with JOURNAL", "JOURNAL_FAILED", ()),
    ("gives up after SHUTTING_DOWN", "requests are refused with SHUTTING", "SHUTTING_DOWN", ()),
    ("gives up after SHUTTING_DOWN", "the stream ends with SHUTTING_DOWN", "SHUTTING_DOWN", ()),
    ("gives up after RATE_EXCEEDED", "requests are refused with RATE", "RATE_EXCEEDED", ()),
    ("gives up after RATE_EXCEEDED", "join and game are refused with RATE", "RATE_EXCEEDED", ()),
    ("gives up after TIMED_OUT", "requests are refused with TIMED_OUT", "TIMED_OUT", ()),
    ("repeats no join", "join and game are refused with JOURNAL", "ended with exit status: 1", ()),
    ("gives up after DECISION_STALE", "rauha, 2 seats: the host resets", "is not due", ()),
    ("gives up after DECISION_STALE", "refused with DECISION_STALE", "DECISION_STALE", ()),
    ("gives up after DECISION_LATE", "refused with DECISION_LATE", "DECISION_LATE", ()),
    ("gives up after EPISODE_OVER", "refused with EPISODE_OVER", "EPISODE_OVER", ()),
    ("gives up after NOT_YOUR_TURN", "refused with NOT_YOUR_TURN", "NOT_YOUR_TURN", ()),
    ("resets without an episode", "rauha, 2 seats: an episode", "Reset has no `episode`", ()),
    (
        "gives up when a reset has no response",
        "rauha, 2 seats: the response to a reset",
        "exit status: 1",
        (),
    ),
    ("has a deadline of 3 s", "slower than a hasty deadline", "opened a second stream", ()),
    ("ends after 3 s", "slower than a hasty deadline", "when 0 of 1 episodes were over", ()),
    ("polls", "rauha, 2 seats: another seat is slow", "the agent polls", ()),
    ("opens a stream per request", "rauha, 2 seats: an episode", "opened a second stream", ()),
    ("has no keepalive", "the connection is silent", "the connection is silent from then on", SILENT),
    ("ignores truncation", "an episode is truncated", "when 1 of 2 episodes were over", ()),
    ("ignores fair deals", "fair deals", "0 of 1 episodes were over after", STUCK),
    ("reveals at once", "fair deals", "called OpenDeal before it saw the commitments", ()),
    ("has a constant secret", "fair deals", "two agents have the same commitment", ()),
    ("thinks a minute", "clocks", "`thought` is 60s", ()),
    ("thinks no time", "clocks", "`thought` is 0ns", ()),
    ("reports no thought", "clocks", "its Act has no `thought`", ()),
    ("ignores BOARDWIRE_CHECK_THINK", "clocks", "BOARDWIRE_CHECK_THINK asks for", ()),
    (
        "exits silently when its stream breaks while it thinks",
        "breaks while the agent thinks",
        "exit status: 0 when 0 of 1 episodes",
        (),
    ),
    (
        "hangs when its stream breaks while it thinks",
        "breaks while the agent thinks",
        "0 of 1 episodes",
        STUCK,
    ),
    ("stays after the match", "rauha, 2 seats: an episode", "the agent did not end", STUCK),
    ("fails after the match", "rauha, 2 seats: an episode", "ended with exit status: 3, not with 0", ()),
    ("says nothing", "the invitation is invalid", "the agent's stderr is empty", ()),
    ("succeeds without a seat", "the invitation is invalid", "and the agent ended with 0", ()),
    ("prints a stack trace", "the invitation is invalid", "without a stack trace", ()),
]
#: Each row has an agent without a flaw, the scenarios, the result, and more arguments.
PASSED: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("none", "", "61 of 61 passed", ()),
    ("talkative", "rauha, 2 seats: an episode", "1 of 1 passed", ()),
]

Outcome = subprocess.CompletedProcess[str]


def examine(flaw: str, only: str, *arguments: str) -> Outcome:
    command = [str(find_binary()), "agent-check", "--only", only, *arguments]
    agent = [sys.executable, str(FLAWED), flaw]
    return subprocess.run([*command, "--", *agent], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[tuple[str, str], Future[Outcome]]]:
    """The results of all checks, which run at the same time: most of them wait."""
    with ThreadPoolExecutor(6) as pool:
        rows = sorted(PASSED + FOUND, key=lambda row: row[3] != SILENT)
        yield {(flaw, only): pool.submit(examine, flaw, only, *more) for flaw, only, _, more in rows}


@pytest.mark.parametrize(("flaw", "only", "expected", "arguments"), FOUND)
def test_each_flaw_is_found(
    outcomes: dict[tuple[str, str], Future[Outcome]],
    flaw: str,
    only: str,
    expected: str,
    arguments: tuple[str, ...],
) -> None:
    result = outcomes[flaw, only].result()
    assert "FAIL" in result.stdout, result.stdout + result.stderr
    assert expected in result.stdout
    assert result.returncode == 1


@pytest.mark.parametrize(("flaw", "only", "expected", "arguments"), PASSED)
def test_a_good_agent_passes(
    outcomes: dict[tuple[str, str], Future[Outcome]],
    flaw: str,
    only: str,
    expected: str,
    arguments: tuple[str, ...],
) -> None:
    result = outcomes[flaw, only].result()
    assert expected in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0


def test_every_flaw_has_a_scenario() -> None:
    listed = {flaw for flaw, *_ in FOUND + PASSED}
    script = f"import flawed_agent; assert set(flawed_agent.FLAWS) == {listed!r}, flawed_agent.FLAWS.keys()"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=FLAWED.parent)


def test_the_check_says_what_it_leaves_out() -> None:
    result = examine("none", "the invitation is invalid", "--without", "fair-deals,clocks")
    assert "not covered: clocks (left out by --without)\nnot covered: fair-deals (left out" in result.stdout
    result = examine("none", "the invitation is invalid")
    assert "left out" not in result.stdout
    assert "not covered: TLS" in result.stdout


def test_a_selection_without_checks_is_an_error() -> None:
    for only, arguments in (("chess", ()), ("fair deals", ("--without", "fair-deals"))):
        result = examine("none", only, *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert f"has `{only}` in its name" in result.stderr
