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

from policy import RandomLegal

ROWS = 1024
#: Up to so many rows one choice after the other is faster than all by arrays.
FEW = 24


def packed(masks):
    """Rows of booleans as the policy reads them."""
    return np.packbits(np.asarray(masks, np.bool_), axis=1, bitorder="little")


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

    return {"library": "pettingzoo", "game": name, "rows": 1}, episode


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


def envpool(name, policy):
    """A game of EnvPool: a pool of environments, stepped together on two threads."""
    import envpool as library

    env = library.make_gymnasium(name, num_envs=ROWS, num_threads=2, seed=7)
    shown = [*env.reset()]
    over = np.zeros(ROWS, np.bool_)

    def step():
        nonlocal over
        masks, seats = packed(shown[1]["legal_action_mask"]), shown[1]["current_player"]
        # A row a seat: that of the seat whose choice it is.
        seen = shown[0].reshape(ROWS, -1, int(np.prod(shown[0].shape[1:])))
        seen = seen[np.arange(ROWS), seats % seen.shape[1]]
        # A step after an episode only begins the next.
        decisions = ROWS - int(over.sum())
        shown[0], _, terminated, truncated, shown[1] = env.step(policy.many(seen, masks).astype(np.int32))
        over = terminated | truncated
        return decisions

    return {"library": "envpool", "game": name, "rows": ROWS}, step


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


def boardwire(way, address, rows, game):
    """Boardwire over the wire."""
    from batches import Batch

    batch = Batch(address, rows, way, game)
    return {"library": "boardwire", "game": game, "rows": rows, "way": way}, batch.step


def boardwire_single(address):
    """Boardwire, one decision at a time on a stream, against a random bot."""
    from act import Agent, pb

    agent = Agent(address, stream=True)

    def episode():
        decisions = 0
        while not (agent.seen.terminated or agent.seen.truncated):
            agent.act()
            decisions += 1
        agent.seen = agent.ask("reset", pb.ResetRequest(match_id=agent.match_id, wait=True))
        return decisions

    return {"library": "boardwire", "game": "faraway", "rows": 1, "way": "stream"}, episode


def boardwire_local(rows, policy, game="faraway"):
    """Boardwire's client with the engine in this process: what users call, `Batch.step`."""
    import boardwire

    batch = boardwire.connect("local:").open_batch(game, environments=rows, autoreset="same_step", seed=7)
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
    return {"library": "boardwire", "game": game, "rows": rows, "way": "local"}, step


def boardwire_gymnasium(address, policy):
    """Boardwire's Gymnasium environment against a random bot."""
    import gymnasium

    import boardwire  # noqa: F401

    env = gymnasium.make(
        "boardwire/Faraway-v0",
        opponents="random",
        observation="features",
        address=None if address == "private" else address,
    ).unwrapped

    def episode():
        seen, info = env.reset()
        decisions, over = 0, False
        while not over:
            seen, _, terminated, truncated, info = env.step(policy.one(seen, info["action_mask"]))
            decisions, over = decisions + 1, terminated or truncated
        return decisions

    return {"library": "boardwire", "game": "faraway", "rows": 1, "way": f"gymnasium {address}"}, episode


def boardwire_vector(address, rows, policy):
    """Boardwire's vector environment against random bots."""
    import gymnasium

    import boardwire  # noqa: F401

    envs = gymnasium.make_vec(
        "boardwire/Faraway-v0",
        num_envs=rows,
        opponents="random",
        observation="features",
        autoreset_mode="SameStep",
        address=None if address == "private" else address,
    )
    seen, infos = envs.reset(seed=7)

    def step():
        nonlocal seen, infos
        seen, _, _, _, infos = envs.step(policy.many(seen, packed(infos["action_mask"])))
        return rows

    return {"library": "boardwire", "game": "faraway", "rows": rows, "way": f"make_vec {address}"}, step


def boardwire_aec(address, policy):
    """Boardwire's AEC environment."""
    from boardwire.pettingzoo import aec_env

    env = aec_env("faraway", observation="features", address=None if address == "private" else address)

    def episode():
        env.reset()
        decisions = 0
        while env.agents:
            seen, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            env.step(policy.one(seen["observation"], seen["action_mask"]))
            decisions += 1
        return decisions

    return {"library": "boardwire", "game": "faraway", "rows": 1, "way": f"pettingzoo {address}"}, episode


MAKERS = {
    "open_spiel": open_spiel,
    "pettingzoo": pettingzoo,
    "rlcard": rlcard,
    "envpool": envpool,
    "pgx": pgx,
}
MAKERS |= {
    "open_spiel-rl": open_spiel_rl,
    "open_spiel-tensor": open_spiel_tensor,
    "pgx-compiled": pgx_compiled,
    "dm-env-rpc": dm_env_rpc,
}


def make(words):
    """The contestant that the words name."""
    if words[0] == "boardwire":
        _, way, rows, game, address = words
        return boardwire(way, address, int(rows), game)
    if words[0] == "boardwire-single":
        return boardwire_single(words[1])
    if words[0] == "boardwire-local":
        return boardwire_local(int(words[1]), RandomLegal())
    if words[0] == "boardwire-gymnasium":
        return boardwire_gymnasium(words[1], RandomLegal())
    if words[0] == "boardwire-vector":
        return boardwire_vector(words[1], int(words[2]), RandomLegal())
    if words[0] == "boardwire-pettingzoo":
        return boardwire_aec(words[1], RandomLegal())
    return MAKERS[words[0]](words[1], RandomLegal())


def main(words):
    """Plays when told to."""
    try:
        about, step = make(words)
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
