"""Writes `boardwire/games.json`: the games that `import boardwire` registers in Gymnasium.

`make golden` runs this script with the path of the binary. A test checks that the file is up to date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GAMES_FILE = Path(__file__).resolve().parent / "src" / "boardwire" / "games.json"


def listed(binary: str | Path) -> str:
    """Returns the games of a binary as JSON, one per line."""
    result = subprocess.run([binary, "games", "--json"], capture_output=True, check=True, text=True)
    games = [{key: game[key] for key in ("id", "rules_version")} for game in json.loads(result.stdout)]
    return "[\n" + ",\n".join(f"  {json.dumps(game)}" for game in games) + "\n]\n"


if __name__ == "__main__":
    GAMES_FILE.write_text(listed(sys.argv[1]))
