"""Trains the networks of the package `boardwire-opponents`: opponents.py BINARY [--game GAME] [--seats N].

It trains a network for each table that has none. To train one again, delete its `GAME-SEATS.onnx`. Beside
each network it writes `GAME-SEATS.json` with the training and the measured strength.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ladder import Share, play

ROOT = Path(__file__).resolve().parent.parent
#: The networks, and a log beside each.
PACKAGE = ROOT / "opponents/src/boardwire_opponents"
#: What the network is measured against, at all other seats.
AGAINST = ("random", "greedy")


def tables(binary: str) -> Iterator[tuple[str, int]]:
    """Returns each game with its least and its largest number of seats."""
    listed = subprocess.run([binary, "games", "--json"], capture_output=True, check=True, text=True)
    for game in json.loads(listed.stdout):
        yield game["id"], game["min_seats"]
        yield game["id"], game["max_seats"]


def train(game: str, seats: int, seed: int, out: Path) -> tuple[Path, list[str]]:
    """Trains a network in the folder `out`. Returns its file and the command."""
    command = ["client-py/examples/train_ppo.py", game, "--seats", str(seats), "--seed", str(seed)]
    command += ["--out", str(out.relative_to(ROOT))]
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT)
    return out / "policy.onnx", ["python", *command]


def measure(binary: str, game: str, seats: int, network: Path, matches: int) -> dict[str, Any]:
    """Plays a network against bots; returns its share of first places with its interval, for each bot."""
    policy = ["--policy", f"new={network}"]
    shares = {bot: play(binary, game, seats, "policy:new:argmax", bot, matches, policy) for bot in AGAINST}
    return {bot: described(share) for bot, share in shares.items()}


def described(share: Share) -> dict[str, Any]:
    """Returns the figures of a share as a log has them."""
    return {"share": share.share, "interval": share.interval, "matches": share.matches}


def add(binary: str, game: str, seats: int, seed: int, matches: int) -> None:
    """Trains and measures the network of a table, and adds both to the package."""
    network, command = train(game, seats, seed, ROOT / f"runs/opponents/{game}-{seats}")
    last = json.loads((network.parent / "log.jsonl").read_text().splitlines()[-1])
    log = {
        "game": game,
        "seats": seats,
        "command": shlex.join(command),
        "seed": seed,
        "decisions": last["decisions"],
        "minutes": round(last["seconds"] / 60, 1),
        "strength": measure(binary, game, seats, network, matches),
    }
    (PACKAGE / f"{game}-{seats}.json").write_text(json.dumps(log, indent=2) + "\n")
    # The network is last, since a table with a network is finished.
    shutil.copyfile(network, PACKAGE / f"{game}-{seats}.onnx")


def main() -> None:
    """Trains the missing networks."""
    parser = ArgumentParser(description="Trains the networks of the package boardwire-opponents.")
    parser.add_argument("binary")
    parser.add_argument("--game", help="only tables of this game")
    parser.add_argument("--seats", type=int, help="only tables with this number of seats")
    parser.add_argument("--seed", type=int, default=1, help="seed of each training")
    parser.add_argument("--matches", type=int, default=2000, help="matches of each measurement")
    args = parser.parse_args()
    for game, seats in tables(args.binary):
        is_selected = args.game in (None, game) and args.seats in (None, seats)
        if is_selected and not (PACKAGE / f"{game}-{seats}.onnx").exists():
            add(args.binary, game, seats, args.seed, args.matches)


if __name__ == "__main__":
    main()
