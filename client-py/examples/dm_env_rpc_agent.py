"""dm_env_rpc: an agent of that protocol plays random legal actions in the loop of dm_env.

Any agent that speaks dm_env_rpc can play these games through our gateway. The gateway creates a world: a
table with bots at the other seats. The package `dm-env-rpc` wraps the world as an environment.

    python dm_env_rpc_agent.py                             # a hundred episodes of Faraway, some seconds
    python dm_env_rpc_agent.py rauha --seats 3 --bots greedy random
    python dm_env_rpc_agent.py --address 127.0.0.1:50051   # a running server: `boardwire serve`

Ctrl-C ends the run early and prints the results so far.

To try: `requested_observations=["action_mask"]` for `create_and_join_world`, so that the server sends no
view; an action that the mask forbids, and `substituted` in the next observation; `"illegal_actions":
"reject"` in the settings; two such processes with one server.
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
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Plays random legal actions over dm_env_rpc.")
    add = parser.add_argument
    add("game", nargs="?", default="faraway")
    add("--episodes", type=int, default=100)
    add("--seats", type=int, default=2)
    add("--bots", nargs="+", default=["random"], help="one bot for all other seats, or one per seat")
    add("--seed", type=int, default=1)
    add("--address", help="address of a server without TLS; default: a private server")
    return parser.parse_args()


def play(env: dm_env_adaptor.DmEnvAdaptor, random: np.random.Generator) -> tuple[float, int]:
    """Plays an episode; returns its final reward and the number of steps."""
    timestep, steps = env.reset(), 0
    while not timestep.last():
        legal = timestep.observation["action_mask"].nonzero()[0]
        timestep = env.step({"action": random.choice(legal)})
        steps += 1
    return float(timestep.reward), steps


def main() -> None:
    """Plays episodes; prints how many were won and the speed."""
    args = arguments()
    settings: dict[str, Any] = {
        "game": args.game,
        "seats": args.seats,
        "bots": args.bots if len(args.bots) > 1 else args.bots[0],
        "seed": args.seed,
        "reward": "win",
    }
    with boardwire.connect(args.address) as client:
        gateway, port = serve(client, "127.0.0.1:0")
        channel = connection.create_secure_channel_and_connect(f"127.0.0.1:{port}")
        env, _ = dm_env_adaptor.create_and_join_world(channel, settings, {})
        random, wins, episodes, steps = np.random.default_rng(args.seed), 0.0, 0, 0
        start = time.perf_counter()
        try:
            for _ in tqdm(range(args.episodes), unit="episode"):
                reward, length = play(env, random)
                wins, episodes, steps = wins + reward, episodes + 1, steps + length
        except KeyboardInterrupt:
            print("ended early")
        rate = steps / (time.perf_counter() - start)
        print(f"{wins:g} of {episodes} episodes won; {rate:,.0f} steps a second")
        channel.close()
        gateway.stop(None).wait()


if __name__ == "__main__":
    main()
