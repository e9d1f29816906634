"""Serves a game by OpenEnv (`serve`), or plays a seat of a match with a model (`agent`)."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, get_args

from .. import TLS, Address, Reward
from .._shared import add_connection_options, connect_with_options
from ..errors import BoardwireError, Gone
from ._agent import Chat, play_episode
from ._session import GameSession, InvitedSession, Labels


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m boardwire.openenv", description=__doc__)
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="serves a game by OpenEnv")
    serve.set_defaults(run=_serve)
    add = serve.add_argument
    add("game", help="the game's id")
    add("--sessions", type=int, default=1, help="maximum number of sessions at a time [default: %(default)s]")
    add("--host", default="127.0.0.1", help="where to listen, without encryption [default: %(default)s]")
    add("--port", type=int, default=8000, help="0 selects a free port [default: %(default)s]")
    add("--server", help="address of a running Boardwire server [default: starts a private server]")
    add("--seats", type=int, help="number of seats [default: the fewest]")
    add("--agent-seat", type=int, default=0, help="the seat of a session [default: %(default)s]")
    add("--opponent", action="append", help="bot or policy; repeat it for each other seat [default: greedy]")
    add("--self-play", action="store_true", help="a session plays all seats")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="option of the game; may repeat")
    add("--reward", choices=get_args(Reward), default="rank", help="[default: %(default)s]")
    add("--seed", type=int, help="each session has the same episodes [default: drawn by each session]")
    agent = commands.add_parser("agent", help="plays a seat of a match with a model")
    agent.set_defaults(run=_agent)
    add = agent.add_argument
    add("address", help="address of the server")
    add("code", help="code of the invitation")
    add(
        "--endpoint",
        required=True,
        metavar="URL",
        help="URL of an OpenAI-compatible endpoint, such as .../v1",
    )
    add("--model", required=True, help="name of the model")
    add("--key-variable", metavar="NAME", help="environment variable with the key of the endpoint")
    for command in (serve, agent):
        add = command.add_argument
        add("--labels", choices=get_args(Labels), default="names", help="[default: %(default)s]")
        add(
            "--illegal-limit", type=int, default=3, help="illegal replies that forfeit [default: %(default)s]"
        )
        add_connection_options(command)
    return parser


def _serve(args: argparse.Namespace) -> None:
    """Serves until SIGINT or SIGTERM."""
    opponents: Any = args.opponent or ["greedy"]
    token = args.token_file.read_text().strip() if args.token_file else None
    tls = TLS(args.tls_ca) if args.tls_ca else args.tls
    settings: dict[str, Any] = {
        "game": args.game,
        "seats": args.seats,
        "agent_seat": args.agent_seat,
        "opponents": None if args.self_play else opponents[0] if len(opponents) == 1 else opponents,
        "options": dict(option.split("=", 1) for option in args.option),
        "reward": args.reward,
        "labels": args.labels,
        "seed": args.seed,
        "illegal_limit": args.illegal_limit,
        "address": Address(args.server, tls=tls, token=token) if args.server else None,
    }
    # Checks the settings, since the first session begins later.
    GameSession(**settings).close()
    # These imports take seconds.
    import uvicorn

    from ._server import app

    application = app(args.sessions, **settings)
    config = uvicorn.Config(application, host=args.host, port=args.port, log_level="warning")
    listener = config.bind_socket()
    # From now on connections wait until the server accepts them.
    listener.listen(config.backlog)
    print(f"listening on http://{args.host}:{listener.getsockname()[1]}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listener])


def _agent(args: argparse.Namespace) -> None:
    """Plays until the host closes the match, and prints a report of each episode."""
    key = os.environ[args.key_variable] if args.key_variable else ""
    chat = Chat(args.endpoint, args.model, key)
    with connect_with_options(args.address, args) as client:
        session = InvitedSession(client, args.code, labels=args.labels, illegal_limit=args.illegal_limit)
        with session:
            try:
                while True:
                    print(play_episode(session, chat), flush=True)
            except Gone:
                return


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns the exit code."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        args.run(args)
    except (BoardwireError, OSError, KeyError, ValueError, ImportError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
