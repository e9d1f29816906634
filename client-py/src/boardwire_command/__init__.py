"""The command `boardwire`, which is in the extension `boardwire._core`.

It is a separate package because importing `boardwire` takes ten times as long as loading the extension.
"""

import os
import signal
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def main() -> None:
    """Runs the command line of this process and ends the process with its exit code."""
    package = PathFinder.find_spec("boardwire")
    core = package and PathFinder.find_spec("boardwire._core", package.submodule_search_locations)
    if not core or not core.loader:
        sys.exit(f"boardwire: the package is not installed for {sys.executable}")
    module = module_from_spec(core)
    core.loader.exec_module(module)
    # The program handles interruptions itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os._exit(module.main(["boardwire", *sys.argv[1:]]))
