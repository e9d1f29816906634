"""The fixtures of every test."""

from servers import address, client

__all__ = ["address", "client"]
