"""The fixtures of every test."""

import signal

from servers import address, client

__all__ = ["address", "client"]

# A shell that runs tests in the background lets them ignore Ctrl-C, and all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
