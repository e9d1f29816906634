"""The OpenEnv server: each session of a client is a game. Needs `boardwire[openenv]`."""

from __future__ import annotations

import functools
import threading
import types
from typing import Any

from fastmcp import FastMCP
from openenv.core.env_server import Action, MCPEnvironment, Observation, State, create_app
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import Field

from .. import __version__
from ._session import Ended, GameSession, Prompt
from ._verbs import Verb


class GameAction(Action):
    """A reply to the last observation."""

    action: str | int = Field(description="The phrase, label or index of a legal action")


class GameObservation(Observation):
    """What the deciding seat may know."""

    text: str = Field(description="How to play, what happened, and the position; after an error, the error")
    legal: list[str] = Field(description="The phrases of the legal actions")
    seat: int = Field(description="The seat that decides; at the end, the seat that decided last")
    error: str = Field(default="", description="Why the last reply changed nothing; empty if it was legal")
    illegal_replies: int = Field(default=0, description="The illegal replies of the seat in this episode")
    ended: Ended | None = Field(default=None, description="Why the episode ended")
    truncated: bool = Field(
        default=False, description="Whether the episode was cut off at its maximum length"
    )
    scores: list[int] = Field(default_factory=list, description="The final score of each seat")
    places: list[int] = Field(default_factory=list, description="The final place of each seat, 1 is first")
    rewards: dict[int, float] = Field(
        default_factory=dict, description="The reward of each seat of the session"
    )
    seed: int | None = Field(default=None, description="The seed of the episode, at its end")


class GameState(State):
    """How far the episode is; it has nothing that the deciding seat may not know."""

    game: str = Field(description="The id of the game")
    done: bool = Field(default=False, description="Whether the episode is over")
    last: GameObservation | None = Field(default=None, description="The last observation")


class GameEnvironment(MCPEnvironment):
    """One game session with the tools of its verbs. Sessions share a client and are otherwise separate."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, settings: dict[str, Any]) -> None:
        """Creates the session and its tools; the first reset creates the match.

        Args:
            settings: The arguments of `GameSession`.
        """
        self._session = GameSession(**settings)
        # Steps and tools run in different threads.
        self._lock = threading.Lock()
        self._episode_id: str | None = None
        self._steps = 0
        mcp = FastMCP(self._session.spec.id)
        for verb in self._session.verbs.values():
            mcp.tool(types.MethodType(verb.method(_call), self))
        super().__init__(mcp)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> GameObservation:
        """Begins an episode, and returns its first observation."""
        with self._lock:
            self._episode_id, self._steps = episode_id, 0
            first = _observation(self._session.reset(seed))
            first.text = f"{self._session.how_to_play}\n\n{first.text}"
            return first

    @property
    def state(self) -> GameState:
        """The state; it waits for nothing."""
        prompt = self._session.prompt
        last = None if prompt is None else _observation(prompt)
        done = last is not None and last.done
        return GameState(
            episode_id=self._episode_id,
            step_count=self._steps,
            game=self._session.spec.id,
            done=done,
            last=last,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Returns the name of the game and the version of the package."""
        spec = self._session.spec
        description = (
            f"{spec.name} with {spec.seats} seats, played by text or by tools, on a Boardwire server"
        )
        return EnvironmentMetadata(name=spec.id, description=description, version=__version__)

    def close(self) -> None:
        """Closes the match."""
        with self._lock:
            self._session.close()
        super().close()

    def _step_impl(self, action: GameAction, timeout_s: float | None = None, **_: Any) -> GameObservation:
        with self._lock:
            self._steps += 1
            return _observation(self._session.play(action.action))


def _call(environment: GameEnvironment, verb: Verb, argument: object) -> str:
    with environment._lock:
        environment._steps += 1
        return environment._session.call(verb.name, argument).for_tools()


def _observation(prompt: Prompt) -> GameObservation:
    result = prompt.result
    ended: dict[str, Any] = {}
    if result is not None:
        ended = {
            "done": True,
            "reward": result.rewards[prompt.seat],
            "ended": result.ended,
            "truncated": result.ended == "truncated",
            "scores": list(result.scores),
            "places": list(result.places),
            "rewards": dict(result.rewards),
            "seed": result.seed,
        }
    return GameObservation(
        text=prompt.text,
        legal=prompt.legal,
        seat=prompt.seat,
        error=prompt.error,
        illegal_replies=prompt.illegal_replies,
        **{"reward": 0.0, **ended},
    )


def app(sessions: int = 1, **settings: Any) -> Any:
    """Returns the application of an OpenEnv server, a `FastAPI`.

    Args:
        sessions: The maximum number of sessions at a time.
        **settings: The arguments of `GameSession`.
    """
    factory = functools.partial(GameEnvironment, settings)
    return create_app(
        factory,
        GameAction,
        GameObservation,
        env_name=settings["game"],
        max_concurrent_envs=sessions,
        state_cls=GameState,
    )
