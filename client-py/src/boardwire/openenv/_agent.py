"""The tool loop: a model behind an OpenAI-compatible chat endpoint plays the decisions of a session."""

from __future__ import annotations

import json
import time
import urllib.request
from dataclasses import asdict, dataclass, field
from typing import Any

from ._session import Ended, Prompt, Session

#: The longest time that the endpoint may take for one reply, in seconds.
REPLY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class EpisodeReport:
    """What an episode took.

    Attributes:
        ended: Why it ended.
        illegal_replies: The number of illegal or unreadable replies.
        tokens: The number of tokens of all requests and replies, as the endpoint counts them.
        seconds: The time spent waiting for the endpoint.
    """

    ended: Ended
    illegal_replies: int
    tokens: int
    seconds: float

    def __str__(self) -> str:
        """Returns the report as one line of JSON."""
        return json.dumps(asdict(self))


@dataclass(slots=True)
class Chat:
    """A model behind an endpoint.

    Attributes:
        endpoint: The URL to which `/chat/completions` is added.
        model: The name of the model.
        key: The key of the endpoint; empty for none.
        tokens: The number of tokens so far.
        seconds: The time spent waiting so far.
    """

    endpoint: str
    model: str
    key: str = field(default="", repr=False)
    tokens: int = 0
    seconds: float = 0.0

    def reply(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the model's next message.

        Raises:
            OSError: The endpoint does not answer, or answers with an error.
            ValueError: The answer is not a chat completion.
        """
        body = json.dumps({"model": self.model, "messages": messages, "tools": tools}).encode()
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        url = f"{self.endpoint.rstrip('/')}/chat/completions"
        begun = time.monotonic()
        with urllib.request.urlopen(
            urllib.request.Request(url, body, headers), timeout=REPLY_SECONDS
        ) as answer:
            completion = json.load(answer)
        self.seconds += time.monotonic() - begun
        try:
            self.tokens += (completion.get("usage") or {}).get("total_tokens", 0)
            message: dict[str, Any] = completion["choices"][0]["message"]
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(
                f"{url} must answer with a chat completion; got {str(completion)[:200]}"
            ) from error
        return message


def play_episode(session: Session, chat: Chat) -> EpisodeReport:
    """Begins an episode and plays it to its end.

    The text has all that the seat may know, so each decision is a conversation of its own, with how to play
    at its head. A model may call a tool, or reply with the phrase of an action.
    """
    tools = [verb.schema() for verb in session.verbs.values()]
    tokens, seconds = chat.tokens, chat.seconds
    prompt = session.reset()
    messages: list[dict[str, Any]] = []
    while prompt.result is None:
        if prompt.error:
            messages += _answers(messages[-1], prompt.for_tools())
        else:
            messages = [
                {"role": "system", "content": session.how_to_play},
                {"role": "user", "content": prompt.for_tools()},
            ]
        messages.append(chat.reply(messages, tools))
        prompt = _decide(session, messages[-1])
    illegal = sum(prompt.result.illegal_replies.values())
    return EpisodeReport(prompt.result.ended, illegal, chat.tokens - tokens, round(chat.seconds - seconds, 3))


def _decide(session: Session, message: dict[str, Any]) -> Prompt:
    """Makes the decision of a model's message: its first tool call, or else its text."""
    for call in message.get("tool_calls") or ():
        function = call["function"]
        try:
            arguments = list(json.loads(function["arguments"] or "{}").values())
        except (AttributeError, ValueError):
            arguments = [function["arguments"]]
        return session.call(function["name"], *arguments[:1])
    return session.play(message.get("content") or "")


def _answers(message: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """Returns the messages that answer a model's message: one for each tool call, or else a user's."""
    calls = message.get("tool_calls") or ()
    answers = [{"role": "tool", "tool_call_id": call.get("id", ""), "content": text} for call in calls]
    return answers or [{"role": "user", "content": text}]
