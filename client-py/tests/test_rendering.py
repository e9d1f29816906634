"""Pictures of positions: what `render` gives, and what it may show."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tables import TABLES

import boardwire
import boardwire.envs
from boardwire import _spec
from boardwire.pettingzoo import aec_env, parallel_env

WAYS = [pytest.param({}, marks=pytest.mark.slow), {"address": "local:"}]


@pytest.fixture(autouse=True)
def _nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows open on a screen that is not there."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")
@pytest.mark.parametrize("mode", ["rgb_array", "human"])
@pytest.mark.parametrize("way", WAYS)
def test_the_checker_of_gymnasium_finds_nothing(mode: str, way: dict[str, Any]) -> None:
    env = gymnasium.make("boardwire/Rauha-v0", seats=2, render_mode=mode, **way).unwrapped
    check_env(env, skip_render_check=False)
    env.close()


@pytest.mark.parametrize(("game", "seats"), TABLES)
@pytest.mark.parametrize("way", WAYS)
def test_pixels_are_those_of_what_the_agent_sees(game: str, seats: int, way: dict[str, Any]) -> None:
    env = boardwire.envs.BoardwireEnv(game, seats=seats, agent_seat=1, render_mode="rgb_array", **way)
    _, info = env.reset(seed=3)
    pictures = []
    for _ in range(3):
        pixels = env.render()
        assert isinstance(pixels, np.ndarray)
        assert pixels.dtype == np.uint8
        # One size for a table, whatever is on it.
        assert pixels.shape == (320 * (2 + seats), 960, 3)
        pictures.append(pixels.tobytes())
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    assert len(set(pictures)) == 3
    env.close()


@pytest.mark.slow
def test_the_same_position_looks_the_same_everywhere() -> None:
    pictures = set()
    ways: list[dict[str, Any]] = [{}, {"address": "local:"}]
    for way in ways:
        env = parallel_env("faraway", seats=3, render_mode="rgb_array", **way)
        env.reset(seed=2)
        pixels = env.render()
        assert isinstance(pixels, np.ndarray)
        pictures.add(pixels.tobytes())
        env.close()
    assert len(pictures) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_a_window_shows_every_position(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pygame

    titles = []
    flip = pygame.display.flip

    def shown() -> None:
        titles.append(pygame.display.get_caption()[0])
        flip()

    monkeypatch.setattr(pygame.display, "flip", shown)
    env = make("faraway", seats=2, render_mode="human", mask="info")
    dealt = env.reset(seed=1)
    assert titles == ["Faraway"]
    if make is aec_env:
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    else:
        env.step({agent: int(info["action_mask"].argmax()) for agent, info in dealt[1].items()})
    assert titles == ["Faraway"] * 2
    assert env.render() is None
    assert pygame.display.get_init()
    env.close()
    assert not pygame.display.get_init()


@pytest.mark.slow
def test_a_view_is_drawn_for_its_owner() -> None:
    with boardwire.connect() as client:
        spec = client.game("faraway", seats=2)
        match = client.create_match("faraway", players=["agent", "greedy"], seed=7)
        seen = match.join(0).observe()
        own = spec.picture(seen.view, seat=0)
        assert own.startswith("<svg")
        for region in spec.decode(seen.view)["hand"][:3]:
            assert f"<title>region {region}," in own
        public = next(iter(client.watch(match.id))).view
        everybody = spec.picture(public, seat=None)
        assert ">hand<" not in everybody
        assert spec.pixels(public, seat=None).shape[1] == 960
        for view, seat, words in (
            (seen.view[:-1], 0, "bytes"),
            (seen.view, None, "bytes"),
            (seen.view, 2, "no seat 2"),
            (np.full_like(seen.view, 255), 0, "round"),
        ):
            with pytest.raises(ValueError, match=words):
                spec.picture(view, seat=seat)


@pytest.mark.slow
def test_another_catalogue_is_not_drawn_by_ours() -> None:
    with boardwire.connect() as client:
        spec = client.game("faraway", seats=2)
    with pytest.raises(ValueError, match="other rules or components"):
        _spec.painter("faraway", 2, tuple(sorted(spec.options.items())), "0" * 64)


WITHOUT = """
import sys
sys.modules["pygame"] = None
import boardwire.envs
try:
    boardwire.envs.BoardwireEnv("faraway", render_mode=sys.argv[1])
except ImportError as missing:
    print(missing)
"""


@pytest.mark.slow
def test_what_is_missing_is_said_with_what_installs_it() -> None:
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, "human"], capture_output=True, text=True, check=True
    )
    assert "pip install 'boardwire[render]'" in told.stdout
