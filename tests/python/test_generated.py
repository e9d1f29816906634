"""Generated code and generated pages of games are fresh."""

from __future__ import annotations

import filecmp
import importlib.util
from pathlib import Path

import boardwire
from generate import HERE, NAME, ROOT, generate


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    generate(tmp_path)
    fresh, committed = tmp_path / NAME, HERE / NAME
    names = {path.name for path in fresh.glob("*.py*")}
    assert names == {path.name for path in committed.glob("*.py*")}
    _, stale, missing = filecmp.cmpfiles(fresh, committed, names, shallow=False)
    assert (stale, missing) == ([], []), "run `make proto`"


def test_pages_of_games_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("games", ROOT / "tools/docs/games.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with boardwire.connect("local:") as client:
        pages = {game.id: module.page(client, game) for game in client.games()}
    stale = [game for game, page in pages.items() if (module.PAGES / f"{game}.md").read_text() != page]
    assert not stale, "run `make golden`"
    assert {path.stem for path in module.PAGES.glob("*.md")} == {*pages, "README"}
