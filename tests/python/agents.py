"""An agent that tests run in other processes."""

from __future__ import annotations

from typing import Any

import numpy as np

import boardwire


def play_seat(address: str, code: str, seed: int) -> dict[str, Any]:
    """Plays one seat with random actions and returns what the seat observed."""
    random = np.random.default_rng(seed)
    views, texts = [], []
    with boardwire.connect(address) as client, client.join(code) as seat:
        obs = seat.observe(text=True)
        while not obs.over:
            views.append(obs.view)
            texts.append(obs.text)
            obs = seat.act(random.choice(obs.mask.nonzero()[0]), text=True)
        return {
            "views": views,
            "texts": texts,
            "scores": obs.scores,
            "reward": obs.reward,
        }
