"""Writes the pictures of the docs: a position of each game, and a match that moves.

Each is made from a page that `boardwire play --html` writes, so it shows what people are shown:
pictures.py BINARY FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

#: How long each position of the moving match is seen, in seconds.
STEP = 0.9


def games(binary: Path) -> list[str]:
    """The ids of all games."""
    listed = subprocess.run([str(binary), "games", "--json"], check=True, capture_output=True)
    return [game["id"] for game in json.loads(listed.stdout)]


def recorded(binary: Path, game: str) -> dict[str, Any]:
    """What the page of a match between bots holds."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "match.html"
        players = ["--seats", "greedy,random", "--seed", "7"]
        command = [str(binary), "play", game, *players, "--html", str(page)]
        subprocess.run(command, check=True, capture_output=True)
        _, _, rest = page.read_text().partition('id="data">')
    data: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return data


def document(width: int, height: int, title: str, content: str) -> str:
    """A picture as a file of its own."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="DejaVu Sans, Verdana, sans-serif"><title>{title}</title>'
        f'<rect width="{width}" height="{height}" fill="#f3f1ec"/>{content}</svg>\n'
    )


def position(data: dict[str, Any], frame: int) -> str:
    """One position as everybody sees it."""
    seen = data["frames"][frame]["views"][-1]
    parts = (f'<g transform="translate({x} {y})">{data["parts"][part]}</g>' for part, x, y in seen["drawn"])
    return document(data["width"], seen["height"], seen["name"], "".join(parts))


def film(data: dict[str, Any]) -> str:
    """All positions as everybody sees them, one after the other, again and again."""
    views = [frame["views"][-1] for frame in data["frames"]]
    used = sorted({part for seen in views for part, _, _ in seen["drawn"]})
    kept = "".join(f'<g id="p{part}">{data["parts"][part]}</g>' for part in used)
    total, count = STEP * len(views), len(views)
    frames = []
    for at, seen in enumerate(views):
        drawn = "".join(f'<use href="#p{part}" x="{x}" y="{y}"/>' for part, x, y in seen["drawn"])
        # Where nothing moves, the end is seen.
        rest = "inline" if at == count - 1 else "none"
        values = ";".join((["none"] if at else []) + ["inline"] + (["none"] if at < count - 1 else []))
        times = ";".join(f"{time / count:.4f}" for time in sorted({0, at, min(at + 1, count)} - {count}))
        frames.append(
            f'<g display="{rest}"><animate attributeName="display" calcMode="discrete" values="{values}" '
            f'keyTimes="{times}" dur="{total:.1f}s" repeatCount="indefinite"/>{drawn}</g>'
        )
    height = max(seen["height"] for seen in views)
    title = f"a match of {data['title']}, as everybody sees it"
    return document(data["width"], height, title, f"<defs>{kept}</defs>{''.join(frames)}")


def pictures(binary: Path) -> dict[str, str]:
    """All pictures by their path among the docs."""
    matches = {game: recorded(binary, game) for game in games(binary)}
    drawn = {
        f"games/{game}.svg": position(data, len(data["frames"]) * 2 // 3) for game, data in matches.items()
    }
    return drawn | {"match.svg": film(matches["faraway"])}


if __name__ == "__main__":
    for path, svg in pictures(Path(sys.argv[1])).items():
        (Path(sys.argv[2]) / path).write_text(svg)
