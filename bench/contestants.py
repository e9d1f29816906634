"""The compared libraries; one process runs one of them: `contestants.py NAME ADDRESS`, a server's address.

The process prints its version as JSON when it is ready. Then it reads numbers from stdin. For each, it plays
for so many seconds, and prints the number of decisions and the exact seconds. Each contestant produces the
observation, and the mask or a list of legal actions, in the fastest way of its library that we found.
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
    """OpenSpiel's states with its numpy observer; with `tensors`, as lists, as in OpenSpiel's examples."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game, chance = pyspiel.load_game(name), RandomLegal(seed=8)
    observation = make_observation(game)

    def observe(state):
        if tensors:
            return np.asarray(state.observation_tensor(), np.float32)
        observation.set_from(state, state.current_player())
        return observation.tensor

    def episode():
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                # Chance moves do not count as decisions. This loop is twice as fast as `random.choices`.
                remaining = chance.draw()
                for move in state.chance_outcomes():
                    remaining -= move[1]
                    if remaining < 0:
                        break
                state.apply_action(move[0])
            else:
                state.apply_action(policy.choose_one(observe(state), state.legal_actions()))
                decisions += 1
        return decisions

    return episode


def open_spiel_rl(name, policy):
    """OpenSpiel's interface for learning agents."""
    from open_spiel.python.rl_environment import Environment

    env = Environment(name)

    def episode():
        timestep, decisions = env.reset(), 0
        while not timestep.last():
            seat = timestep.observations["current_player"]
            obs = np.asarray(timestep.observations["info_state"][seat], np.float32)
            timestep = env.step([policy.choose_one(obs, timestep.observations["legal_actions"][seat])])
            decisions += 1
        return decisions

    return episode


def pettingzoo(name, policy):
    """A classic game of PettingZoo with its AEC interface."""
    return users.in_turns(import_module(f"pettingzoo.classic.{name}").raw_env(), policy)


def rlcard(name, policy):
    """A game of RLCard."""
    import rlcard

    env = rlcard.make(name)

    def episode():
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(policy.choose_one(state["obs"].reshape(-1), list(state["legal_actions"])))
            decisions += 1
        return decisions

    return episode


def envpool(name, policy, *, pools=1):
    """A pool of EnvPool on two threads. With two, EnvPool steps one while the policy decides the other."""
    import envpool

    env = envpool.make_gymnasium(name, num_envs=pools * ROWS, batch_size=ROWS, num_threads=2, seed=7)
    env.async_reset()

    def step():
        obs, _, terminated, truncated, info = env.recv()
        # An observation has a row for each seat.
        obs = obs.reshape(ROWS, -1, int(np.prod(obs.shape[1:])))
        obs = obs[np.arange(ROWS), info["current_player"] % obs.shape[1]]
        actions = policy.choose_many(obs, packed(info["legal_action_mask"])).astype(np.int32)
        env.send(actions, info["env_id"])
        # A step after the end of an episode only starts the next one.
        return ROWS - int((terminated | truncated).sum())

    return step


def pgx(name, policy, *, compiled=False):
    """A game of Pgx on the CPU, compiled for a batch.

    With `compiled`, the compiled code includes a random policy, 64 steps per call: the intended use of Pgx.
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
        obs = np.asarray(state.observation).reshape(ROWS, -1)
        actions = policy.choose_many(obs, packed(state.legal_action_mask))
        key, own = split(key)
        state = step_all(state, actions.astype(np.int32), split_rows(own))
        return ROWS

    def one(carry, _):
        state, key, obs = carry
        key, mine, theirs = jax.random.split(key, 3)
        actions = jax.random.categorical(mine, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))
        obs += state.observation.reshape(ROWS, -1).astype(jnp.float32).sum()
        return (step_all(state, actions, jax.random.split(theirs, ROWS)), key, obs), None

    run = jax.jit(lambda *carry: jax.lax.scan(one, (*carry, jnp.float32(0)), None, length=steps)[0])

    def by_compiled_policy():
        nonlocal state, key
        state, key, obs = run(state, key)
        obs.block_until_ready()
        return steps * ROWS

    return by_compiled_policy if compiled else by_policy


def dm_env_rpc(policy):
    """Catch over the connection class of dm_env_rpc."""
    import grpc
    from dm_env_rpc.v1 import connection, dm_env_rpc_pb2, tensor_utils

    command = [sys.executable, Path(__file__).with_name("catch_server.py")]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    channel = connection.Connection(grpc.insecure_channel(server.stdout.readline().strip()))
    specs = channel.send(dm_env_rpc_pb2.JoinWorldRequest()).specs
    action, uids = next(iter(specs.actions)), list(specs.observations)
    chosen, running = 1, False

    def step():
        nonlocal chosen, running
        actions = {action: tensor_utils.pack_tensor(np.int32(chosen))}
        response = channel.send(dm_env_rpc_pb2.StepRequest(requested_observations=uids, actions=actions))
        chosen = policy.choose_one(
            tensor_utils.unpack_tensor(response.observations[uids[0]]).reshape(-1), [0, 1, 2]
        )
        # The first step of an episode only starts it.
        was_running, running = running, response.state == dm_env_rpc_pb2.RUNNING
        return int(was_running)

    step.server = server  # The server ends when its stdin closes.
    return step


def stub(kind, *arguments):
    """Boardwire with plain gRPC stubs."""
    import stubs

    return getattr(stubs, kind)(*arguments).step


def contestants(address=None):
    """Returns by row name the functions that make a step from a policy."""
    makers = {}
    for call_type in ("halves", "stream", "unary"):
        makers[f"boardwire faraway x{ROWS}, {call_type}"] = partial(stub, "Batch", address, call_type, ROWS)
    makers["boardwire faraway x1, stream"] = partial(stub, "Agent", address, "stream")
    for label, env_address in (("local", "local:"), ("private server", None)):
        for rows in (1, 16, 64, ROWS):
            makers[f"boardwire faraway x{rows}, {label}"] = partial(users.batch, env_address, rows)
        for rows in (16, ROWS):
            makers[f"boardwire faraway make_vec x{rows}, {label}"] = partial(users.vector, env_address, rows)
        makers[f"boardwire faraway gymnasium, {label}"] = partial(users.single, env_address)
        makers[f"boardwire faraway pettingzoo aec, {label}"] = partial(users.pettingzoo, env_address)
    singles = {
        open_spiel: ("hanabi", "leduc_poker", "connect_four"),
        pettingzoo: ("leduc_holdem_v4", "connect_four_v3"),
        rlcard: ("leduc-holdem", "uno"),
    }
    for maker, games in singles.items():
        makers |= {f"{maker.__name__} {game}": partial(maker, game) for game in games}
    makers["open_spiel hanabi, state tensors"] = partial(open_spiel, "hanabi", tensors=True)
    makers["open_spiel hanabi, rl_environment"] = partial(open_spiel_rl, "hanabi")
    for game in ("LeducHoldem", "ConnectFour", "SparrowMahjong"):
        makers[f"envpool {game} x{ROWS}"] = partial(envpool, f"{game}-v1")
        makers[f"envpool {game} x{ROWS}, asynchronously"] = partial(envpool, f"{game}-v1", pools=2)
    for game in ("leduc_holdem", "connect_four", "sparrow_mahjong"):
        makers[f"pgx {game} x{ROWS}"] = partial(pgx, game)
    for game in ("leduc_holdem", "sparrow_mahjong"):
        makers[f"pgx {game} x{ROWS}, policy compiled"] = partial(pgx, game, compiled=True)
    makers["dm-env-rpc catch, its own server"] = dm_env_rpc
    return makers


def main(name, address):
    """Plays a turn for each number on stdin."""
    step = contestants(address)[name](RandomLegal())
    # Warm-up: the first steps compile, allocate, and fill caches.
    step()
    step()
    print(json.dumps({"version": version(name.split()[0])}), flush=True)
    for line in sys.stdin:
        duration, decisions, start = float(line), 0, time.perf_counter()
        while (seconds := time.perf_counter() - start) < duration:
            decisions += step()
        print(json.dumps({"decisions": decisions, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
