"""Pictures of positions: what `render` returns, and what it may reveal."""

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
from boardwire.pettingzoo import aec_env, parallel_env

ENGINES = [pytest.param({}, marks=pytest.mark.slow), {"address": "local:"}]


@pytest.fixture(autouse=True)
def _dummy_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes pygame open its windows without a screen."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.filterwarnings("ignore::boardwire.envs.IllegalActionWarning")
@pytest.mark.parametrize("mode", ["rgb_array", "human"])
@pytest.mark.parametrize("kwargs", ENGINES)
def test_check_env_passes(mode: str, kwargs: dict[str, Any]) -> None:
    env = gymnasium.make("boardwire/Rauha-v0", seats=2, render_mode=mode, **kwargs).unwrapped
    check_env(env, skip_render_check=False)
    env.close()


@pytest.mark.parametrize(("game", "seats"), TABLES)
@pytest.mark.parametrize("kwargs", ENGINES)
def test_rgb_array_changes_with_the_observation_and_keeps_its_size(
    game: str, seats: int, kwargs: dict[str, Any]
) -> None:
    env = boardwire.envs.BoardwireEnv(game, seats=seats, agent_seat=1, render_mode="rgb_array", **kwargs)
    _, info = env.reset(seed=3)
    pictures = []
    for _ in range(3):
        pixels = env.render()
        assert isinstance(pixels, np.ndarray)
        assert pixels.dtype == np.uint8
        assert pixels.shape == (320 * (2 + seats), 960, 3)
        pictures.append(pixels.tobytes())
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    assert len(set(pictures)) == 3
    env.close()


@pytest.mark.slow
def test_a_server_and_this_process_draw_the_same_pixels() -> None:
    pictures = set()
    engines: list[dict[str, Any]] = [{}, {"address": "local:"}]
    for kwargs in engines:
        env = parallel_env("faraway", seats=3, render_mode="rgb_array", **kwargs)
        env.reset(seed=2)
        pixels = env.render()
        assert isinstance(pixels, np.ndarray)
        pictures.add(pixels.tobytes())
        env.close()
    assert len(pictures) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [aec_env, parallel_env])
def test_a_window_displays_each_position(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pygame

    titles = []
    flip = pygame.display.flip

    def record_title() -> None:
        titles.append(pygame.display.get_caption()[0])
        flip()

    monkeypatch.setattr(pygame.display, "flip", record_title)
    env = make("faraway", seats=2, render_mode="human", mask="info")
    result = env.reset(seed=1)
    assert titles == ["Faraway"]
    if make is aec_env:
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    else:
        env.step({agent: int(info["action_mask"].argmax()) for agent, info in result[1].items()})
    assert titles == ["Faraway"] * 2
    assert env.render() is None
    assert pygame.display.get_init()
    env.close()
    assert not pygame.display.get_init()


@pytest.mark.slow
def test_a_picture_contains_only_what_its_view_contains() -> None:
    with boardwire.connect() as client:
        spec = client.game("faraway", seats=2)
        match = client.create_match("faraway", players=["agent", "greedy"], seed=7)
        obs = match.join(0).observe()
        own = spec.picture(obs.view, seat=0)
        assert own.startswith("<svg")
        for region in spec.decode(obs.view)["hand"][:3]:
            assert f"<title>R{region}," in own
        public = next(iter(client.watch(match.id))).view
        spectator = spec.picture(public, seat=None)
        assert ">hand<" not in spectator
        assert spec.pixels(public, seat=None).shape[1] == 960
        for view, seat, message in (
            (obs.view[:-1], 0, "bytes"),
            (obs.view, None, "bytes"),
            (obs.view, 2, "`seat` must be from 0 to 1; got 2"),
            (obs.view, -1, "`seat` must be from 0 to 1; got -1"),
            (np.full_like(obs.view, 255), 0, "round"),
        ):
            with pytest.raises(ValueError, match=message):
                spec.picture(view, seat=seat)
        for height in (-1, 0, 32769, 1 << 40):
            with pytest.raises(ValueError, match=f"`height` must be from 1 to 32768; got {height}"):
                spec.pixels(obs.view, height=height)


WITHOUT_PYGAME = """
import sys
sys.modules["pygame"] = None
import boardwire.envs
try:
    boardwire.envs.BoardwireEnv("faraway", render_mode=sys.argv[1])
except ImportError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_missing_package_error_says_how_to_install_it() -> None:
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYGAME, "human"], capture_output=True, text=True, check=True
    )
    assert "pip install 'boardwire[render]'" in result.stdout
