"""Everything that is compared, a process each: `contestants.py NAME [ADDRESS]`.

Prints `about` as a JSON line once it is ready; then, for every number of seconds read from standard
input, plays that long and prints how many decisions it made in how many seconds. Each makes observation
and mask (or the list of legal actions, where that is what the library offers) the way its library does it
fastest, as far as we found.
"""

import json
import sys
import time
from importlib.metadata import version

import numpy as np

import users
from policy import RandomLegal, packed

ROWS = 1024


def drawn(state, nature):
    """What nature plays in a state of OpenSpiel."""
    outcomes = state.chance_outcomes()
    # Cards of one kind make some outcomes likelier.
    left = nature.draw()
    for action, probability in outcomes:
        left -= probability
        if left < 0:
            return action
    return outcomes[-1][0]


def states(game, policy, look):
    """An episode of OpenSpiel's C++ states, driven from Python; `look` gives what the seat to decide sees.

    Nature is played here as well, and not counted.
    """
    nature = RandomLegal(seed=8)

    def episode():
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(drawn(state, nature))
                continue
            state.apply_action(policy.one(look(state), state.legal_actions()))
            decisions += 1
        return decisions

    return episode


def open_spiel(name, policy):
    """A game of OpenSpiel by its numpy observer, the fastest way there is."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game(name)
    try:
        observation = make_observation(game)
    except (RuntimeError, ValueError):
        observation = None

    def look(state):
        seat = state.current_player()
        if observation is None:
            return np.asarray(state.information_state_tensor(seat), np.float32)
        observation.set_from(state, seat)
        return observation.tensor

    return {"library": "open_spiel", "game": name, "rows": 1}, states(game, policy, look)


def open_spiel_tensor(name, policy):
    """The same as OpenSpiel's examples do it: the tensor of a state as a list."""
    import pyspiel

    def look(state):
        return np.asarray(state.observation_tensor(), np.float32)

    about = {"library": "open_spiel", "game": name, "rows": 1, "way": "state.observation_tensor()"}
    return about, states(pyspiel.load_game(name), policy, look)


def open_spiel_rl(name, policy):
    """The same by OpenSpiel's interface for learning agents: time steps."""
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

    return {"library": "open_spiel", "game": name, "rows": 1, "way": "rl_environment"}, episode


def pettingzoo(name, policy):
    """A classic game of PettingZoo, by its AEC interface."""
    from importlib import import_module

    env = import_module(f"pettingzoo.classic.{name}").raw_env()
    return {"library": "pettingzoo", "game": name, "rows": 1}, users.in_turns(env, policy)


def rlcard(name, policy):
    """A game of RLCard."""
    import rlcard as library

    env = library.make(name)

    def episode():
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            legal = list(state["legal_actions"])
            state, _ = env.step(policy.one(state["obs"].reshape(-1), legal))
            decisions += 1
        return decisions

    return {"library": "rlcard", "game": name, "rows": 1}, episode


def chosen(seen, info, policy):
    """An action for each row of EnvPool's, whose observations have a row a seat."""
    masks, seats = packed(info["legal_action_mask"]), info["current_player"]
    seen = seen.reshape(ROWS, -1, int(np.prod(seen.shape[1:])))
    seen = seen[np.arange(ROWS), seats % seen.shape[1]]
    return policy.many(seen, masks).astype(np.int32)


def envpool(name, policy):
    """A game of EnvPool: a pool of environments, stepped together on two threads."""
    import envpool as library

    env = library.make_gymnasium(name, num_envs=ROWS, num_threads=2, seed=7)
    shown = [*env.reset()]
    over = np.zeros(ROWS, np.bool_)

    def step():
        nonlocal over
        # A step after an episode only begins the next.
        decisions = ROWS - int(over.sum())
        shown[0], _, terminated, truncated, shown[1] = env.step(chosen(*shown, policy))
        over = terminated | truncated
        return decisions

    return {"library": "envpool", "game": name, "rows": ROWS}, step


def envpool_async(name, policy):
    """The same asynchronously, with twice as many: one half is stepped while the other is decided."""
    import envpool as library

    env = library.make_gymnasium(name, num_envs=2 * ROWS, batch_size=ROWS, num_threads=2, seed=7)
    env.async_reset()

    def step():
        seen, _, terminated, truncated, info = env.recv()
        env.send(chosen(seen, info, policy), info["env_id"])
        # What follows an end is the step that only begins the next episode.
        return ROWS - int((terminated | truncated).sum())

    return {"library": "envpool", "game": name, "rows": ROWS, "way": "asynchronously"}, step


def pgx(name, policy):
    """A game of Pgx on the processor: compiled for a batch, the policy outside as for everybody."""
    import jax
    import pgx as library
    from pgx.experimental import auto_reset

    env = library.make(name)
    step_all = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    keys = jax.random.split(jax.random.PRNGKey(7), ROWS)
    state = jax.jit(jax.vmap(env.init))(keys)
    split = jax.jit(lambda key: tuple(jax.random.split(key)))
    key = jax.random.PRNGKey(8)
    split_rows = jax.jit(lambda key: jax.random.split(key, ROWS))

    def step():
        nonlocal state, key
        seen = np.asarray(state.observation).reshape(ROWS, -1)
        actions = policy.many(seen, packed(state.legal_action_mask))
        key, own = split(key)
        state = step_all(state, actions.astype(np.int32), split_rows(own))
        return ROWS

    return {"library": "pgx", "game": name, "rows": ROWS}, step


def pgx_compiled(name, _):
    """The same with a random policy compiled along with the game, 64 steps a call: what Pgx is made for."""
    import jax
    import jax.numpy as jnp
    import pgx as library
    from pgx.experimental import auto_reset

    steps = 64
    env = library.make(name)
    step_all = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def run(state, key):
        def one(carry, _):
            state, key, seen = carry
            key, mine, theirs = jax.random.split(key, 3)
            logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
            actions = jax.random.categorical(mine, logits)
            seen += state.observation.reshape(ROWS, -1).astype(jnp.float32).sum()
            state = step_all(state, actions, jax.random.split(theirs, ROWS))
            return (state, key, seen), None

        return jax.lax.scan(one, (state, key, jnp.float32(0)), None, length=steps)[0]

    carry = [
        jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(7), ROWS)),
        jax.random.PRNGKey(8),
    ]

    def step():
        *carry[:], seen = run(*carry)
        seen.block_until_ready()
        return steps * ROWS

    return {"library": "pgx", "game": name, "rows": ROWS, "policy": "its own, compiled with the game"}, step


def dm_env_rpc(address, policy):
    """Catch over dm_env_rpc's own connection class; the server is `catch_server.py`."""
    import grpc
    from dm_env_rpc.v1 import connection, dm_env_rpc_pb2, tensor_utils

    link = connection.Connection(grpc.insecure_channel(address))
    world = link.send(dm_env_rpc_pb2.CreateWorldRequest()).world_name
    specs = link.send(dm_env_rpc_pb2.JoinWorldRequest(world_name=world)).specs
    action, wanted, legal, moved = next(iter(specs.actions)), list(specs.observations), [0, 1, 2], 1

    def step():
        nonlocal moved
        actions = {action: tensor_utils.pack_tensor(np.int32(moved))}
        answer = link.send(dm_env_rpc_pb2.StepRequest(requested_observations=wanted, actions=actions))
        moved = policy.one(tensor_utils.unpack_tensor(answer.observations[wanted[0]]).reshape(-1), legal)
        # The first step of a sequence only begins it.
        over, running = answer.state != dm_env_rpc_pb2.RUNNING, step.running
        step.running = not over
        return int(running)

    step.running = False
    return {"library": "dm-env-rpc", "game": "catch", "rows": 1}, step


MAKERS = {
    "open_spiel": open_spiel,
    "pettingzoo": pettingzoo,
    "rlcard": rlcard,
    "envpool": envpool,
    "pgx": pgx,
}
MAKERS |= {
    "envpool-async": envpool_async,
    "open_spiel-rl": open_spiel_rl,
    "open_spiel-tensor": open_spiel_tensor,
    "pgx-compiled": pgx_compiled,
    "dm-env-rpc": dm_env_rpc,
    "boardwire": users.by_messages,
    "boardwire-single": users.by_match,
    "boardwire-batch": users.by_batch,
    "boardwire-gymnasium": users.by_gymnasium,
    "boardwire-vector": users.by_vector,
    "boardwire-pettingzoo": users.by_pettingzoo,
}


def main(words):
    """Plays when told to."""
    try:
        about, step = MAKERS[words[0]](*words[1:], RandomLegal())
        about["version"] = version(about["library"])
        # The first steps compile, allocate, and fill caches.
        step()
        step()
    except ModuleNotFoundError:
        print(json.dumps({"failed": "not installed"}), flush=True)
        return
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        wanted, decisions, start = float(line), 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < wanted:
            decisions += step()
        print(json.dumps({"decisions": decisions, "seconds": passed}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
