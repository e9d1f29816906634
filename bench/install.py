"""Installs what `make bench` needs into the virtual environment it runs in, and every peer that can be had.

The client comes last, by `tools/install.sh`: what the peers ask for must not make its own requirements unfit.

A peer that cannot be installed is named, and has a row that says so; nothing else depends on it.
"""

import subprocess
import sys

PEERS = ["open_spiel", "pettingzoo[classic]", "envpool", "rlcard", "pgx", "dm-env-rpc"]
PEER_SECONDS = 900


def pip(*words, **more):
    """Runs pip."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *words], **more)


def main():
    """Installs."""
    pip("--upgrade", "pip", check=True)
    pip("numpy>=2", check=True)
    for peer in PEERS:
        try:
            failed = pip(peer, timeout=PEER_SECONDS).returncode
        except subprocess.TimeoutExpired:
            failed = f"no end after {PEER_SECONDS} s"
        if failed:
            print(f"bench: {peer} cannot be installed ({failed}): its rows will say so", file=sys.stderr)


if __name__ == "__main__":
    main()
