"""The pictures of the documentation are fresh and self-contained."""

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
    """The pictures that `make pictures` would write."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools/pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pictures: dict[str, str] = module.pictures(find_binary())
    return pictures


def test_pictures_are_fresh(pictures: dict[str, str]) -> None:
    stale = [path for path, svg in pictures.items() if (ROOT / "docs" / path).read_text() != svg]
    assert not stale, "run `make pictures`"


def test_pictures_have_titles_and_no_external_links(pictures: dict[str, str]) -> None:
    for path, svg in pictures.items():
        picture = ElementTree.fromstring(svg)
        title = picture.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert title.text
        assert "<script" not in svg, path
        links = [value for part in picture.iter() for name, value in part.items() if name.endswith("href")]
        assert all(link.startswith("#") for link in links), path


def test_the_animation_displays_each_position_once(pictures: dict[str, str]) -> None:
    animation = ElementTree.fromstring(pictures["match.svg"])
    elements = list(animation.iter("{http://www.w3.org/2000/svg}animate"))
    # Faraway with two seats has 8 rounds of at least 2 actions.
    assert len(elements) > 16
    intervals = []
    for element in elements:
        values = element.attrib["values"].split(";")
        times = [float(time) for time in element.attrib["keyTimes"].split(";")]
        begin = times[values.index("inline")]
        later = times[values.index("inline") + 1 :]
        intervals.append((begin, later[0] if later else 1.0))
    assert intervals[0][0] == 0
    assert intervals[-1][1] == 1
    assert all(end == begin for (_, end), (begin, _) in pairwise(intervals))
