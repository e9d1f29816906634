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
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The networks, and a log beside each.
PACKAGE = ROOT / "opponents/src/boardwire_opponents"


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


def described(share: Sequence[float], matches: int) -> dict[str, object]:
    """Returns the share of matches won with its interval, as a log has them."""
    mean, low, high = (round(number, 4) for number in share)
    return {"share": mean, "interval": [low, high], "matches": matches}


def add(game: str, seats: int, seed: int) -> None:
    """Trains the network of a table, and adds it to the package with its last measurement."""
    network, command = train(game, seats, seed, ROOT / f"runs/opponents/{game}-{seats}")
    last = json.loads((network.parent / "log.jsonl").read_text().splitlines()[-1])
    log = {
        "game": game,
        "seats": seats,
        "command": shlex.join(command),
        "seed": seed,
        "decisions": last["decisions"],
        "minutes": round(last["seconds"] / 60, 1),
        "strength": {bot: described(share, last["deals"] * seats) for bot, share in last["best"].items()},
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
    args = parser.parse_args()
    for game, seats in tables(args.binary):
        is_selected = args.game in (None, game) and args.seats in (None, seats)
        if is_selected and not (PACKAGE / f"{game}-{seats}.onnx").exists():
            add(game, seats, args.seed)


if __name__ == "__main__":
    main()
