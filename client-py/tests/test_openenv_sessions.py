"""Sessions, tools and the tool loop of `boardwire.openenv`, without the package `openenv`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chat_endpoint import endpoint, first_call

import boardwire
from boardwire._process import find_binary
from boardwire.openenv import Chat, GameSession, Prompt, Session, play_episode, tools

pytestmark = pytest.mark.slow

GAMES = ["faraway", "rauha", "golden_compass"]
RESERVED = {"reset", "step", "state", "close", "get_reward"}


def first_phrase(prompt: Prompt) -> str:
    """Returns the first legal action."""
    return prompt.legal[0]


def play_on(
    session: Session, prompt: Prompt, choose: Callable[[Prompt], str | int] = first_phrase
) -> list[Prompt]:
    """Plays an episode to its end, and returns its prompts."""
    prompts = [prompt]
    while prompts[-1].result is None:
        prompts.append(session.play(choose(prompts[-1])))
    return prompts


@pytest.mark.parametrize("game", GAMES)
def test_an_episode_has_a_result(game: str) -> None:
    with GameSession(game) as session:
        *before, last = play_on(session, session.reset(5))
        assert all(prompt.seat == 0 and prompt.result is None for prompt in before)
        assert last.result is not None
        assert (last.result.ended, last.result.seed, last.legal) == ("finished", 5, [])
        assert len(last.result.scores) == len(last.result.places) == session.spec.seats
        assert last.result.rewards == {0: 1.0 if last.result.places[0] == 1 else -1.0}
        assert str(last) == last.text == last.for_tools()
        assert session.play("anything") == last


def test_replies_are_phrases_labels_or_indices() -> None:
    prompts = []
    names: list[Callable[[Prompt], str | int]] = [
        lambda prompt: f"  {prompt.legal[-1].upper()}\n",
        lambda prompt: prompt.actions[-1].label,
        lambda prompt: prompt.actions[-1].index,
        lambda prompt: str(prompt.actions[-1].index),
    ]
    for name in names:
        with GameSession("faraway") as session:
            prompts.append(play_on(session, session.reset(3), name))
    assert all(one == other for one, other in pairwise(prompts))


def test_calls_of_tools_choose_the_same_actions() -> None:
    with GameSession("rauha") as by_phrase, GameSession("rauha") as by_tool:
        prompt, called = by_phrase.reset(1), by_tool.reset(1)
        while prompt.result is None:
            verb, argument = called.calls[-1].removesuffix(")").split("(")
            prompt, called = by_phrase.play(prompt.legal[-1]), by_tool.call(verb, argument or None)
            assert prompt == called


def test_an_illegal_reply_changes_nothing() -> None:
    replies: list[str | int] = ["", "fly", 9999, "region 0"]
    with GameSession("faraway", illegal_limit=None) as session:
        first = session.reset(2)
        for count, reply in enumerate(replies, start=1):
            refused = session.play(reply)
            assert (refused.actions, refused.calls) == (first.actions, first.calls)
            assert refused.illegal_replies == count
            assert refused.error == refused.text
            assert repr(str(reply)) in refused.error
            assert all(f"- {phrase}" in str(refused) for phrase in first.legal)
        assert session.call("place", 99).illegal_replies == 5
        *_, last = play_on(session, session.play(first.legal[0]))
        assert last.result is not None
        assert (last.result.ended, last.result.illegal_replies) == ("finished", {0: 5})
        with GameSession("faraway") as legal:
            *_, expected = play_on(legal, legal.reset(2))
        assert expected.result is not None
        assert last.result.scores == expected.result.scores


def test_too_many_illegal_replies_are_not_a_loss_by_play() -> None:
    with GameSession("faraway", illegal_limit=2) as session:
        session.reset(2)
        assert session.play("fly").result is None
        result = session.play("fly").result
        assert result is not None
        assert (result.ended, result.scores, result.rewards) == ("illegal", (), {0: -1.0})
        assert session.reset(2).illegal_replies == 0


def test_truncation_is_not_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    with GameSession("faraway") as session:
        prompt = session.reset(2)
        act = boardwire.Seat.act
        nothing = boardwire.Outcome((), (), (), ())

        def cut_off(*args: Any, **extras: Any) -> boardwire.Observation:
            return dataclasses.replace(act(*args, **extras), truncated=True, outcome=nothing)

        monkeypatch.setattr(boardwire.Seat, "act", cut_off)
        result = session.play(prompt.legal[0]).result
        assert result is not None
        assert (result.ended, result.places) == ("truncated", ())


def test_seeds_repeat_episodes() -> None:
    with GameSession("rauha", seed=4) as one, GameSession("rauha", seed=4) as other:
        both = [[play_on(session, session.reset()) for _ in range(2)] for session in (one, other)]
        assert both[0] == both[1]
        assert both[0][0] != both[0][1]
        seed = both[0][1][-1].result.seed  # type: ignore[union-attr] # The episode is over.
        assert play_on(one, one.reset(seed)) == both[0][1]
        # A reset leaves an episode that is not over.
        one.reset(1)
        assert play_on(one, one.reset(seed)) == both[0][1]
    with GameSession("rauha") as drawn, GameSession("rauha") as another:
        assert drawn.reset().text != another.reset().text


def test_self_play_asks_one_seat_at_a_time_and_hides_what_others_chose() -> None:
    sessions = [GameSession("faraway", opponents=None, seats=3) for _ in range(2)]
    with sessions[0] as one, sessions[1] as other:
        first = one.reset(6)
        assert first == other.reset(6)
        assert first.seat == 0
        # All seats choose simultaneously, so the second seat must not see the first choice.
        assert one.play(first.legal[0]) == other.play(first.legal[1])
        prompts = play_on(one, one.prompt)  # type: ignore[arg-type] # There is a prompt.
        assert {prompt.seat for prompt in prompts} == {0, 1, 2}
        result = prompts[-1].result
        assert result is not None
        assert (sum(result.rewards.values()), len(result.rewards)) == (0.0, 3)


def test_prompts_do_not_show_the_hands_of_others() -> None:
    with GameSession("faraway", opponents=None) as session:
        own, others = session.reset(8), session.play(session.prompt.legal[0])  # type: ignore[union-attr]
        hands = [{action.label for action in prompt.actions} for prompt in (own, others)]
        assert not hands[0] & hands[1]
        for label in hands[0]:
            assert not re.search(rf"\b{label}\b", others.text)


@pytest.mark.parametrize("game", GAMES)
def test_permuted_names_depend_on_the_seed(game: str) -> None:
    with GameSession(game, labels="permuted") as session, GameSession(game) as plain:
        first, named = session.reset(3), plain.reset(3)
        assert session.reset(3) == first
        assert [action.index for action in first.actions] == [action.index for action in named.actions]
        assert session.play(first.actions[0].index).error
        prompts, expected = play_on(session, session.reset(3)), play_on(plain, named)
        assert prompts[-1].result == expected[-1].result
        # Typed tools accept the neutral names too.
        for prompt in prompts[:-1]:
            for call in prompt.calls:
                verb, argument = call.removesuffix(")").split("(")
                assert session.verbs[verb].kind is str or argument.isdecimal()


@pytest.mark.parametrize("game", GAMES)
def test_every_action_has_one_call_of_a_tool(game: str) -> None:
    with GameSession(game) as session:
        assert not RESERVED & set(session.verbs)
        assert all(name.isidentifier() for name in session.verbs)
        verbs = session.verbs
        calls = [(action.verb, verbs[action.verb].value(action.label)) for action in session.spec.actions]
        assert len(set(calls)) == len(calls)
        for verb, value in calls:
            if session.verbs[verb].kind is int:
                assert value.isdecimal()


def test_tools_are_typed_documented_methods() -> None:
    environment = tools("faraway", seed=1)()
    methods = inspect.getmembers(type(environment), inspect.isfunction)
    public = {name for name, _ in methods if not name.startswith("_")}
    assert public == {"reset", "get_reward", "choose", "place"}
    assert inspect.get_annotations(type(environment).place) == {"sanctuary": str, "return": str}
    assert list(inspect.signature(environment.place).parameters) == ["sanctuary"]
    assert (
        "Args:\n    sanctuary: The SANCTUARY, as the legal actions name it."
        in type(environment).place.__doc__
    )
    text = environment.reset(seed=3, prompt=[], other="of the row")
    assert text.startswith(environment.session.how_to_play)
    region = re.findall(r"^- choose\((R\d+)\)", text, re.MULTILINE)[0]
    assert environment.choose(region=region).startswith("You play seat 0.")
    assert "illegal reply 1 of 3" in environment.place(sanctuary="S99")
    assert "illegal reply 2 of 3" in environment.place()
    assert environment.get_reward() == -1.0
    assert environment.session.prompt.result.ended == "abandoned"
    assert "The episode is over (abandoned)" in environment.choose("R1")


def test_a_session_survives_the_end_of_its_match() -> None:
    with GameSession("faraway") as session:
        first = session.reset(1)
        assert session._match is not None
        session._match.close()
        with pytest.raises(boardwire.errors.Gone):
            session.play(first.legal[0])
        assert session.reset(1) == first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": "secret"}, "`labels` must be 'names' or 'permuted'; got 'secret'"),
        ({"illegal_limit": 0}, "`illegal_limit` must be at least 1"),
        ({"agent_seat": 2}, "`agent_seat` must be 0 to 1; got 2"),
        ({"opponents": ["greedy"] * 2}, "`opponents` must be one name, or 1 names at 2 seats; got 2"),
    ],
)
def test_invalid_settings_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        GameSession("faraway", **settings)
    if "opponents" in settings:
        with pytest.raises(ValueError, match="must not be None"):
            tools("faraway", opponents=None)


def test_invalid_calls_are_errors() -> None:
    with GameSession("faraway") as session:
        with pytest.raises(RuntimeError, match="call `reset` first"):
            session.play("region 1")
        for seed in (-1, 2**64):
            with pytest.raises(ValueError, match=f"got {seed}"):
                session.reset(seed)


def test_a_model_plays_an_episode() -> None:
    requests: list[dict[str, Any]] = []

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        # Each decision begins with a reply that is not legal, and continues the conversation.
        if len(messages) > 2:
            return first_call(messages)
        if len(requests) % 3:
            return {"role": "assistant", "content": "I explore."}
        unknown = {"id": "9", "function": {"name": "fly", "arguments": "?"}}
        return {"role": "assistant", "content": None, "tool_calls": [unknown]}

    with endpoint(model, requests) as url, GameSession("faraway", seed=2, illegal_limit=None) as session:
        report = play_episode(session, Chat(url, "scripted", "secret"))
        assert session.prompt is not None
        decisions = len(requests) // 2
        assert (report.ended, report.illegal_replies, report.tokens) == (
            "finished",
            decisions,
            20 * decisions,
        )
    assert {request["path"] for request in requests} == {"/v1/chat/completions"}
    assert {request["key"] for request in requests} == {"Bearer secret"}
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} == {"choose", "place"}
    assert requests[0]["messages"][0] == {"role": "system", "content": session.how_to_play}
    roles = {tuple(message["role"] for message in request["messages"]) for request in requests}
    first, corrected = ("system", "user"), ("system", "user", "assistant")
    assert roles == {first, (*corrected, "user"), (*corrected, "tool")}


def test_the_example_plays_with_an_endpoint() -> None:
    example = Path(__file__).parents[1] / "examples/tool_loop.py"
    with endpoint(first_call, []) as url:
        command = [sys.executable, str(example), url, "scripted", "--game", "rauha", "--opponent", "random"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    result, report = process.stdout.splitlines()[-2:]
    assert result.startswith("The episode is over (finished).")
    assert json.loads(report)["illegal_replies"] == 0


def test_the_arena_seats_a_model_and_adds_up_its_reports() -> None:
    requests: list[dict[str, Any]] = []
    with endpoint(first_call, requests) as url:
        agent = f"model={sys.executable} -m boardwire.openenv agent --endpoint {url} --model scripted"
        seats = ["--seats", "agent:model,random", "--agent", agent]
        command = [str(find_binary()), "arena", "faraway", *seats, "--matches", "4", "--json"]
        process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    model_row, random = json.loads(process.stdout)["bots"]
    assert random["reported"] is None
    seconds = model_row["reported"].pop("seconds")
    assert seconds > 0
    assert model_row["reported"] == {"illegal_replies": 0, "tokens": 10 * len(requests)}
    assert model_row["seats"] == 4
