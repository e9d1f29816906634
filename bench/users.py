"""Boardwire as its users call it: our contestants, each a function that gives `about` and a step."""

import numpy as np

import boardwire
from policy import packed

#: Up to so many rows one choice after the other is faster than all by arrays.
FEW = 24


def target(address):
    """An address as environments take it: none for a private server."""
    return None if address == "private" else address


def in_turns(env, policy):
    """An episode of an AEC environment, of PettingZoo's own ones as well."""

    def episode():
        env.reset()
        decisions = 0
        while env.agents:
            seen, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = seen["action_mask"] if "action_mask" in seen else info["action_mask"]
            env.step(int(policy.one(seen["observation"].reshape(-1), mask)))
            decisions += 1
        return decisions

    return episode


def by_messages(way, rows, game, address, _):
    """Boardwire over the wire."""
    from batches import Batch

    batch = Batch(address, int(rows), way, game)
    return {"library": "boardwire", "game": game, "rows": int(rows), "way": way}, batch.step


def by_match(address, _):
    """Boardwire, one decision at a time on a stream, against a random bot."""
    from act import Agent

    agent = Agent(address, stream=True)
    return {"library": "boardwire", "game": "faraway", "rows": 1, "way": "stream"}, agent.step


def by_batch(address, rows, policy):
    """What users call, `Batch.step`: with the engine in this process, or a private server."""
    rows = int(rows)
    client = boardwire.connect("local:" if address == "local:" else None)
    batch = client.open_batch("faraway", environments=rows, autoreset="same_step", seed=7)
    shown = batch.reset()
    # An array of one action takes longer to make than to play.
    single = np.arange(256, dtype=np.uint8)[:, None]

    def one():
        nonlocal shown
        for _ in range(16):
            shown = batch.step(single[policy.one(shown.view[0], shown.legal(0))])
        return 16

    def few():
        nonlocal shown
        actions = [policy.one(view, shown.legal(row)) for row, view in enumerate(shown.view)]
        shown = batch.step(np.array(actions, np.uint8))
        return rows

    def many():
        nonlocal shown
        shown = batch.step(policy.many(shown.view, shown.packed_mask))
        return rows

    step = one if rows == 1 else few if rows <= FEW else many
    return {"library": "boardwire", "game": "faraway", "rows": rows, "way": f"Batch.step {address}"}, step


def by_gymnasium(address, policy):
    """Boardwire's Gymnasium environment against a random bot."""
    import gymnasium

    env = gymnasium.make(
        "boardwire/Faraway-v0",
        opponents="random",
        observation="features",
        address=target(address),
    ).unwrapped

    def episode():
        seen, info = env.reset()
        decisions, over = 0, False
        while not over:
            seen, _, terminated, truncated, info = env.step(policy.one(seen, info["action_mask"]))
            decisions, over = decisions + 1, terminated or truncated
        return decisions

    return {"library": "boardwire", "game": "faraway", "rows": 1, "way": f"gymnasium {address}"}, episode


def by_vector(address, rows, policy):
    """Boardwire's vector environment against random bots."""
    import gymnasium

    envs = gymnasium.make_vec(
        "boardwire/Faraway-v0",
        num_envs=int(rows),
        opponents="random",
        observation="features",
        autoreset_mode="SameStep",
        address=target(address),
    )
    seen, infos = envs.reset(seed=7)

    def step():
        nonlocal seen, infos
        seen, _, _, _, infos = envs.step(policy.many(seen, packed(infos["action_mask"])))
        return int(rows)

    return {"library": "boardwire", "game": "faraway", "rows": int(rows), "way": f"make_vec {address}"}, step


def by_pettingzoo(address, policy):
    """Boardwire's AEC environment."""
    from boardwire.pettingzoo import aec_env

    env = aec_env("faraway", observation="features", address=target(address))
    about = {"library": "boardwire", "game": "faraway", "rows": 1, "way": f"pettingzoo {address}"}
    return about, in_turns(env, policy)
