"""Writes the pictures of the docs: a position of each game, and an animated match.

It reads them from the pages that `boardwire play --html` writes, so they equal the pictures of users:
pictures.py BINARY FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

#: The duration of each position in the animated match, in seconds.
STEP = 0.9


def games(binary: Path) -> list[str]:
    """Returns the ids of all games."""
    listed = subprocess.run([str(binary), "games", "--json"], check=True, capture_output=True)
    return [game["id"] for game in json.loads(listed.stdout)]


def match_data(binary: Path, game: str) -> dict[str, Any]:
    """Plays a match of bots; returns the data of its page."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "match.html"
        players = ["--seats", "greedy,random", "--seed", "7"]
        command = [str(binary), "play", game, *players, "--html", str(page)]
        subprocess.run(command, check=True, capture_output=True)
        _, _, rest = page.read_text().partition('id="data">')
    data: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return data


def document(width: int, height: int, title: str, content: str) -> str:
    """Returns a complete SVG file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="DejaVu Sans, Verdana, sans-serif"><title>{title}</title>'
        f'<rect width="{width}" height="{height}" fill="#f3f1ec"/>{content}</svg>\n'
    )


def position(data: dict[str, Any], frame: int) -> str:
    """Returns one position in the view of spectators."""
    view = data["frames"][frame]["views"][-1]
    parts = (f'<g transform="translate({x} {y})">{data["parts"][part]}</g>' for part, x, y in view["drawn"])
    return document(data["width"], view["height"], view["name"], "".join(parts))


def animation(data: dict[str, Any]) -> str:
    """Returns an endless animation of all positions in the view of spectators."""
    views = [frame["views"][-1] for frame in data["frames"]]
    used = sorted({part for view in views for part, _, _ in view["drawn"]})
    definitions = "".join(f'<g id="p{part}">{data["parts"][part]}</g>' for part in used)
    total, count = STEP * len(views), len(views)
    frames = []
    for index, view in enumerate(views):
        uses = "".join(f'<use href="#p{part}" x="{x}" y="{y}"/>' for part, x, y in view["drawn"])
        # Without animation, only the last position is visible.
        default = "inline" if index == count - 1 else "none"
        values = ";".join((["none"] if index else []) + ["inline"] + (["none"] if index < count - 1 else []))
        times = ";".join(f"{at / count:.4f}" for at in sorted({0, index, min(index + 1, count)} - {count}))
        frames.append(
            f'<g display="{default}"><animate attributeName="display" calcMode="discrete" values="{values}" '
            f'keyTimes="{times}" dur="{total:.1f}s" repeatCount="indefinite"/>{uses}</g>'
        )
    height = max(view["height"] for view in views)
    title = f"a match of {data['title']}, in the public view"
    return document(data["width"], height, title, f"<defs>{definitions}</defs>{''.join(frames)}")


def pictures(binary: Path) -> dict[str, str]:
    """Returns all pictures by their path in `docs/`."""
    matches = {game: match_data(binary, game) for game in games(binary)}
    result = {
        f"games/{game}.svg": position(data, len(data["frames"]) * 2 // 3) for game, data in matches.items()
    }
    return result | {"match.svg": animation(matches["faraway"])}


if __name__ == "__main__":
    for path, svg in pictures(Path(sys.argv[1])).items():
        (Path(sys.argv[2]) / path).write_text(svg)
