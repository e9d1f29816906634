"""The pictures of the docs are those that the pages of matches show today."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from boardwire._process import find_binary

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    """What `make pictures` would write."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools/pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn: dict[str, str] = module.pictures(find_binary())
    return drawn


def test_pictures_are_those_of_today(pictures: dict[str, str]) -> None:
    stale = [path for path, svg in pictures.items() if (ROOT / "docs" / path).read_text() != svg]
    assert not stale, "make pictures writes them"


def test_pictures_need_nothing_from_elsewhere_and_say_what_they_show(pictures: dict[str, str]) -> None:
    for path, svg in pictures.items():
        picture = ElementTree.fromstring(svg)
        title = picture.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert title.text
        assert "<script" not in svg, path
        links = [value for part in picture.iter() for name, value in part.items() if name.endswith("href")]
        assert all(link.startswith("#") for link in links), path


def test_the_moving_match_shows_every_position_once(pictures: dict[str, str]) -> None:
    film = ElementTree.fromstring(pictures["match.svg"])
    moves = list(film.iter("{http://www.w3.org/2000/svg}animate"))
    # In Faraway for two, 8 rounds: 2 choices in each, then who takes what, and the end.
    assert len(moves) > 16
    shown = []
    for move in moves:
        values, times = (
            move.attrib["values"].split(";"),
            [float(at) for at in move.attrib["keyTimes"].split(";")],
        )
        begin = times[values.index("inline")]
        later = times[values.index("inline") + 1 :]
        shown.append((begin, later[0] if later else 1.0))
    assert shown[0][0] == 0
    assert shown[-1][1] == 1
    assert all(end == begin for (_, end), (begin, _) in pairwise(shown))
