"""Everything that is compared, a process each: `contestants.py NAME ADDRESS`, the address of a server.

Prints its version as JSON once it is ready. Then, for every number of seconds read from stdin, it plays that
long and prints how many decisions it made in how many seconds. Each makes observation and mask, or a list of
legal actions, the way that is the fastest of its library as far as we found.
"""

import json
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

import users
from policy import RandomLegal, packed

ROWS = 1024


def open_spiel(name, policy, *, tensors=False):
    """OpenSpiel's states by its numpy observer; with `tensors`, by lists, as OpenSpiel's examples do it."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game, nature = pyspiel.load_game(name), RandomLegal(seed=8)
    observation = make_observation(game)

    def look(state):
        if tensors:
            return np.asarray(state.observation_tensor(), np.float32)
        observation.set_from(state, state.current_player())
        return observation.tensor

    def episode():
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                # Nature's moves are no decisions. Its weights by hand: `random.choices` takes twice as long.
                left = nature.draw()
                for move in state.chance_outcomes():
                    left -= move[1]
                    if left < 0:
                        break
                state.apply_action(move[0])
            else:
                state.apply_action(policy.one(look(state), state.legal_actions()))
                decisions += 1
        return decisions

    return episode


def open_spiel_rl(name, policy):
    """OpenSpiel's interface for learning agents."""
    from open_spiel.python.rl_environment import Environment

    env = Environment(name)

    def episode():
        shown, decisions = env.reset(), 0
        while not shown.last():
            seat = shown.observations["current_player"]
            seen = np.asarray(shown.observations["info_state"][seat], np.float32)
            shown = env.step([policy.one(seen, shown.observations["legal_actions"][seat])])
            decisions += 1
        return decisions

    return episode


def pettingzoo(name, policy):
    """A classic game of PettingZoo, by its AEC interface."""
    return users.in_turns(import_module(f"pettingzoo.classic.{name}").raw_env(), policy)


def rlcard(name, policy):
    """A game of RLCard."""
    import rlcard

    env = rlcard.make(name)

    def episode():
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(policy.one(state["obs"].reshape(-1), list(state["legal_actions"])))
            decisions += 1
        return decisions

    return episode


def envpool(name, policy, *, pools=1):
    """A pool of EnvPool on two threads; of two pools one is stepped while the other is decided."""
    import envpool

    env = envpool.make_gymnasium(name, num_envs=pools * ROWS, batch_size=ROWS, num_threads=2, seed=7)
    env.async_reset()

    def step():
        seen, _, terminated, truncated, info = env.recv()
        # An observation has a row for each seat.
        seen = seen.reshape(ROWS, -1, int(np.prod(seen.shape[1:])))
        seen = seen[np.arange(ROWS), info["current_player"] % seen.shape[1]]
        actions = policy.many(seen, packed(info["legal_action_mask"])).astype(np.int32)
        env.send(actions, info["env_id"])
        # After an end a step only starts the next episode.
        return ROWS - int((terminated | truncated).sum())

    return step


def pgx(name, policy, *, compiled=False):
    """A game of Pgx on the processor, compiled for a batch.

    With `compiled` a random policy is compiled with it, 64 steps a call: what Pgx is made for.
    """
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env, steps = pgx.make(name), 64
    step_all = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(7), ROWS))
    split = jax.jit(lambda key: tuple(jax.random.split(key)))
    split_rows = jax.jit(lambda key: jax.random.split(key, ROWS))
    key = jax.random.PRNGKey(8)

    def by_policy():
        nonlocal state, key
        seen = np.asarray(state.observation).reshape(ROWS, -1)
        actions = policy.many(seen, packed(state.legal_action_mask))
        key, own = split(key)
        state = step_all(state, actions.astype(np.int32), split_rows(own))
        return ROWS

    def one(carry, _):
        state, key, seen = carry
        key, mine, theirs = jax.random.split(key, 3)
        actions = jax.random.categorical(mine, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
        seen += state.observation.reshape(ROWS, -1).astype(jnp.float32).sum()
        return (step_all(state, actions, jax.random.split(theirs, ROWS)), key, seen), None

    run = jax.jit(lambda *carry: jax.lax.scan(one, (*carry, jnp.float32(0)), None, length=steps)[0])

    def by_itself():
        nonlocal state, key
        state, key, seen = run(state, key)
        seen.block_until_ready()
        return steps * ROWS

    return by_itself if compiled else by_policy


def dm_env_rpc(policy):
    """Catch over dm_env_rpc's own connection class."""
    import grpc
    from dm_env_rpc.v1 import connection, dm_env_rpc_pb2, tensor_utils

    command = [sys.executable, Path(__file__).with_name("catch_server.py")]
    served = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    link = connection.Connection(grpc.insecure_channel(served.stdout.readline().strip()))
    specs = link.send(dm_env_rpc_pb2.JoinWorldRequest()).specs
    action, wanted = next(iter(specs.actions)), list(specs.observations)
    moved, running = 1, False

    def step():
        nonlocal moved, running
        actions = {action: tensor_utils.pack_tensor(np.int32(moved))}
        answer = link.send(dm_env_rpc_pb2.StepRequest(requested_observations=wanted, actions=actions))
        moved = policy.one(tensor_utils.unpack_tensor(answer.observations[wanted[0]]).reshape(-1), [0, 1, 2])
        # The first step of a sequence only starts it.
        decided, running = running, answer.state == dm_env_rpc_pb2.RUNNING
        return int(decided)

    step.server = served  # It ends when its stdin closes.
    return step


def stub(kind, *arguments):
    """Boardwire by plain stubs."""
    import stubs

    return getattr(stubs, kind)(*arguments).step


def contestants(address=None):
    """By the names of their rows, what makes the step of each from a policy."""
    made = {}
    for way in ("halves", "stream", "unary"):
        made[f"boardwire faraway x{ROWS}, {way}"] = partial(stub, "Batch", address, way, ROWS)
    made["boardwire faraway x1, stream"] = partial(stub, "Agent", address, "stream")
    for place, where in (("local", "local:"), ("private server", None)):
        for rows in (1, 16, 64, ROWS):
            made[f"boardwire faraway x{rows}, {place}"] = partial(users.batch, where, rows)
        for rows in (16, ROWS):
            made[f"boardwire faraway make_vec x{rows}, {place}"] = partial(users.vector, where, rows)
        made[f"boardwire faraway gymnasium, {place}"] = partial(users.single, where)
        made[f"boardwire faraway pettingzoo aec, {place}"] = partial(users.pettingzoo, where)
    singles = {
        open_spiel: ("hanabi", "leduc_poker", "connect_four"),
        pettingzoo: ("leduc_holdem_v4", "connect_four_v3"),
        rlcard: ("leduc-holdem", "uno"),
    }
    for maker, games in singles.items():
        made |= {f"{maker.__name__} {game}": partial(maker, game) for game in games}
    made["open_spiel hanabi, state tensors"] = partial(open_spiel, "hanabi", tensors=True)
    made["open_spiel hanabi, rl_environment"] = partial(open_spiel_rl, "hanabi")
    for game in ("LeducHoldem", "ConnectFour", "SparrowMahjong"):
        made[f"envpool {game} x{ROWS}"] = partial(envpool, f"{game}-v1")
        made[f"envpool {game} x{ROWS}, asynchronously"] = partial(envpool, f"{game}-v1", pools=2)
    for game in ("leduc_holdem", "connect_four", "sparrow_mahjong"):
        made[f"pgx {game} x{ROWS}"] = partial(pgx, game)
    for game in ("leduc_holdem", "sparrow_mahjong"):
        made[f"pgx {game} x{ROWS}, policy compiled"] = partial(pgx, game, compiled=True)
    made["dm-env-rpc catch, its own server"] = dm_env_rpc
    return made


def main(name, address):
    """Plays when told to."""
    step = contestants(address)[name](RandomLegal())
    # The first steps compile, allocate, and fill caches.
    step()
    step()
    print(json.dumps({"version": version(name.split()[0])}), flush=True)
    for line in sys.stdin:
        wanted, decisions, start = float(line), 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < wanted:
            decisions += step()
        print(json.dumps({"decisions": decisions, "seconds": passed}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
