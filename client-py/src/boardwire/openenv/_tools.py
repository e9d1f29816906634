"""A game as a class whose methods are tools, for trainers such as TRL's `GRPOTrainer`."""

from __future__ import annotations

import types
import weakref
from typing import Any

from ._session import GameSession
from ._verbs import Verb


def tools(game: str, **settings: Any) -> type[Any]:
    """Returns a class of environments for TRL's `GRPOTrainer(environment_factory=...)`.

    Each verb of the game is a method, such as `place(sanctuary)`, typed and with a docstring. The methods
    return the next prompt. There are two others: `reset(seed=None, **row)` begins an episode and returns
    its first prompt, and `get_reward()` returns the reward of the episode. The attribute `session` is the
    `GameSession`; `session.prompt.result` tells losing from illegal replies and truncation.

    Args:
        game: The game's id.
        **settings: The arguments of `GameSession`. `opponents` must not be None.

    Raises:
        ValueError: A setting is not allowed.
    """
    if settings.get("opponents", "greedy") is None:
        raise ValueError("`opponents` must not be None: an environment of tools has the reward of one seat")
    with GameSession(game, **settings) as session:
        verbs = session.verbs

    def __init__(self: Any) -> None:
        """Creates the session; the first reset creates its match."""
        self.session = GameSession(game, **settings)
        weakref.finalize(self, self.session.close)

    def reset(self: Any, seed: int | None = None, **_: Any) -> str:
        """Begins an episode, with a seed if one is given; returns how to play and the first prompt."""
        prompt = self.session.reset(seed)
        return f"{self.session.how_to_play}\n\n{prompt.for_tools()}"

    def get_reward(self: Any) -> float:
        """Returns the reward of the episode. Resigns it first if the model has left it."""
        (reward,) = self.session.resign().result.rewards.values()
        return float(reward)

    def play(self: Any, verb: Verb, argument: object) -> str:
        prompt: str = self.session.call(verb.name, argument).for_tools()
        return prompt

    methods = {verb.name: verb.method(play) for verb in verbs.values()}
    members: dict[str, Any] = {"__init__": __init__, "reset": reset, "get_reward": get_reward, **methods}
    members |= {"__doc__": f"{session.spec.name}: each method is a tool.", "__module__": __name__}
    name = f"{session.spec.name.title().replace(' ', '')}Tools"
    return types.new_class(name, exec_body=lambda body: body.update(members))
