"""Installs what `make bench` needs into the virtual environment it runs in, then every peer that can be had.

A peer that cannot be installed is named, and has a row that says so; nothing else depends on it.
"""

import subprocess
import sys

NEEDED = ["numpy>=2", "grpcio", "protobuf", "matplotlib", "maturin>=1.16,<2"]
PEERS = ["open_spiel", "pettingzoo[classic]", "envpool", "rlcard", "pgx", "dm-env-rpc"]
PEER_SECONDS = 900


def pip(*words, **more):
    """Runs pip."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *words], **more)


def main(client):
    """Installs."""
    pip("--upgrade", "pip", check=True)
    pip(*NEEDED, check=True)
    for peer in PEERS:
        try:
            failed = pip(peer, timeout=PEER_SECONDS).returncode
        except subprocess.TimeoutExpired:
            failed = f"no end after {PEER_SECONDS} s"
        if failed:
            print(f"bench: {peer} cannot be installed ({failed}): its rows will say so", file=sys.stderr)
    # Last: what the peers ask for must not have made the client's own requirements unfit.
    pip("--no-build-isolation", "-e", client, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
