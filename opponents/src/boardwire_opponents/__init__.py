"""Trained networks for Boardwire. With this package, private servers have the bot `strong`."""

from pathlib import Path

__all__ = ["directory"]


def directory() -> Path:
    """Returns the folder with the networks, `GAME-SEATS.onnx`, for `boardwire serve --opponents DIR`."""
    return Path(__file__).parent
