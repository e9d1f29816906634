"""Writes `boardwire/games.json`: the games that importing the package makes known to Gymnasium.

Run by `make golden`, with the binary as its argument; a test proves the file fresh.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parent / "src" / "boardwire" / "games.json"


def listed(binary: str | Path) -> str:
    """The games that a binary serves, one a line."""
    said = subprocess.run([binary, "games", "--json"], capture_output=True, check=True, text=True)
    games = [{key: game[key] for key in ("id", "rules_version")} for game in json.loads(said.stdout)]
    return "[\n" + ",\n".join(f"  {json.dumps(game)}" for game in games) + "\n]\n"


if __name__ == "__main__":
    LIST.write_text(listed(sys.argv[1]))
