"""dm_env_rpc: an agent of that protocol plays by the loop of dm_env, choosing legal actions at random.

An agent that speaks dm_env_rpc can play these games: a gateway makes a world, a table with bots at the other
seats, and the package `dm-env-rpc` makes an environment of it. Ours are the server and the gateway alone.

    python dm_env_rpc_agent.py                             # a hundred episodes of Faraway, some seconds
    python dm_env_rpc_agent.py rauha --seats 3 --bots greedy random
    python dm_env_rpc_agent.py --address 127.0.0.1:50051   # a server that runs: `boardwire serve`

Ctrl-C ends it early and tells what was played.

To try: `requested_observations=["action_mask"]` for `create_and_join_world`, so that no view is sent; an
action that the mask forbids, and `substituted` in the next observation; `"illegal_actions": "reject"` among
the settings; two of these processes at one server.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from dm_env_rpc.v1 import connection, dm_env_adaptor
from tqdm import tqdm

import boardwire
from boardwire.dm_env_rpc import serve


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Plays random legal actions over dm_env_rpc.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--episodes", type=int, default=100)
    add("--seats", type=int, default=2)
    add("--bots", nargs="+", default=["random"], help="one for all other seats, or one for each of them")
    add("--seed", type=int, default=1)
    add("--address", help="a server without TLS; a private one unless it is given")
    return parser.parse_args()


def play(env: dm_env_adaptor.DmEnvAdaptor, random: np.random.Generator) -> tuple[float, int]:
    """Plays an episode; gives the reward at its end and the number of steps."""
    shown, steps = env.reset(), 0
    while not shown.last():
        legal = shown.observation["action_mask"].nonzero()[0]
        shown = env.step({"action": random.choice(legal)})
        steps += 1
    return float(shown.reward), steps


def main() -> None:
    """Plays episodes, and tells how many were won and how fast that went."""
    given = arguments()
    settings: dict[str, Any] = {
        "game": given.game,
        "seats": given.seats,
        "bots": given.bots if len(given.bots) > 1 else given.bots[0],
        "seed": given.seed,
        "reward": "win",
    }
    with boardwire.connect(given.address) as client:
        gateway, port = serve(client, "127.0.0.1:0")
        link = connection.create_secure_channel_and_connect(f"127.0.0.1:{port}")
        env, _ = dm_env_adaptor.create_and_join_world(link, settings, {})
        random, wins, episodes, steps = np.random.default_rng(given.seed), 0.0, 0, 0
        began = time.perf_counter()
        try:
            for _ in tqdm(range(given.episodes), unit="episode"):
                reward, length = play(env, random)
                wins, episodes, steps = wins + reward, episodes + 1, steps + length
        except KeyboardInterrupt:
            print("ended early")
        rate = steps / (time.perf_counter() - began)
        print(f"{wins:g} of {episodes} episodes won; {rate:,.0f} steps a second")
        link.close()
        gateway.stop(None).wait()


if __name__ == "__main__":
    main()
