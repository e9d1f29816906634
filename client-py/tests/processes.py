"""What processes do, in a module that each of them can import."""

from __future__ import annotations

import gymnasium

import boardwire


def play(seat: boardwire.Seat) -> tuple[int, ...]:
    """Plays first legal actions to the end; gives the scores."""
    seen = seat.observe(wait=True)
    while not seen.over:
        seen = seat.act(int(seen.mask.nonzero()[0][0]))
    return seen.scores


def by_address(address: str, seed: int) -> tuple[int, ...]:
    """Plays a match with a client of its own."""
    with boardwire.connect(address) as client:
        match = client.create_match("faraway", seats=["remote", "random"], seed=seed)
        with match, match.join(0).stream() as seat:
            return play(seat)


def by_env(address: str, seed: int) -> float:
    """Plays an episode in an environment of its own."""
    env = gymnasium.make("boardwire/Faraway-v0", opponents="random", address=address)
    _, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(int(info["action_mask"].nonzero()[0][0]))
        total, over = total + float(reward), terminated or truncated
    env.close()
    return total
