"""Rendering for all environments."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import GameSpec

#: What Gymnasium and PettingZoo require in `metadata`. A person can follow one picture a second.
RENDERING: dict[str, Any] = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 1}


class Renderer:
    """A renderer of seats' views in an environment's render mode; None renders nothing."""

    def __init__(self, spec: GameSpec, mode: str | None) -> None:
        """Prepares a render mode.

        Raises:
            ValueError: There is no such mode.
            ImportError: The mode is `human` and pygame is not installed.
        """
        if mode not in (None, *RENDERING["render_modes"]):
            raise ValueError(f"`render_mode` must be None, 'human', 'rgb_array' or 'ansi'; got {mode!r}")
        self._mode = mode
        self._spec = spec
        self._window = _Window(spec.name) if mode == "human" else None

    def render(
        self, views: dict[int, NDArray[np.uint8]], text: Callable[[], str]
    ) -> NDArray[np.uint8] | str | None:
        """Returns pixels or text; with `human`, shows a window and returns None; without a mode, None.

        Args:
            views: The view of each seat to show, one picture below the other.
            text: Returns the text to show with `ansi`.
        """
        if self._mode is None:
            return None
        if self._mode == "ansi":
            return text()
        # All frames of a table have one size, as videos need: two seats take 1,280 pixels.
        height = 320 * (2 + self._spec.seats)
        pictures = [self._spec.pixels(view, seat=seat, height=height) for seat, view in views.items()]
        pixels = np.concatenate(pictures)
        if self._window is None:
            return pixels
        self._window.show(pixels)
        return None

    def close(self) -> None:
        """Closes the window. A later `render` opens another."""
        if self._window is not None:
            self._window.close()


class _Window:
    """A window that shows one picture after another, scaled down if the screen is too small."""

    def __init__(self, title: str) -> None:
        # Otherwise pygame prints a greeting to stdout on import.
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
        except ImportError as missing:
            raise ImportError(
                "`render_mode='human'` needs pygame: pip install 'boardwire[render]'"
            ) from missing
        self._pygame = pygame
        self._title = title
        self._screen: Any = None

    def show(self, pixels: NDArray[np.uint8]) -> None:
        pygame = self._pygame
        height, width, _ = pixels.shape
        if self._screen is None:
            pygame.display.init()
            screen = pygame.display.Info()
            size = (min(width, screen.current_w), min(1000, screen.current_h * 9 // 10))
            self._screen = pygame.display.set_mode(size)
            pygame.display.set_caption(self._title)
        own_width, own_height = self._screen.get_size()
        scale = min(1.0, own_width / width, own_height / height)
        image = pygame.image.frombuffer(pixels.tobytes(), (width, height), "RGB")
        image = pygame.transform.smoothscale(image, (int(width * scale), int(height * scale)))
        # The picture's background color.
        self._screen.fill(pixels[0, 0].tolist())
        self._screen.blit(image, (0, 0))
        pygame.event.pump()
        pygame.display.flip()

    def close(self) -> None:
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
