"""Agents for processes of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import boardwire


def play_seat(address: str, code: str, seed: int) -> dict[str, Any]:
    """Plays one seat at random in a process of its own; gives all that the seat was answered."""
    random = np.random.default_rng(seed)
    views, texts = [], []
    with boardwire.connect(address) as client, client.join(code) as seat:
        seen = seat.observe(text=True)
        while not seen.over:
            views.append(seen.view)
            texts.append(seen.text)
            seen = seat.act(random.choice(seen.mask.nonzero()[0]), text=True)
        return {
            "views": views,
            "texts": texts,
            "scores": seen.scores,
            "reward": seen.reward,
        }
