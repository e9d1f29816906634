"""Games for language models: text sessions, an OpenEnv server, tools for trainers, and an agent.

`GameSession` and `tools` need no other package. `python -m boardwire.openenv serve GAME` serves the game by
OpenEnv and needs `boardwire[openenv]`. `python -m boardwire.openenv agent` plays a seat of a match with a
model behind a chat endpoint.
"""

from ._agent import Chat, EpisodeReport, play_episode
from ._session import Ended, GameSession, InvitedSession, Labels, Prompt, Result, Session
from ._tools import tools

__all__ = [
    "Chat",
    "Ended",
    "EpisodeReport",
    "GameSession",
    "InvitedSession",
    "Labels",
    "Prompt",
    "Result",
    "Session",
    "play_episode",
    "tools",
]
