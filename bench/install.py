"""Installs what the programs of `make bench` import into the virtual environment it runs in, and the peers.

A peer that cannot be installed, or not beside our own requirements, is named and has a row that says so.
"""

import subprocess
import sys

OWN = ["numpy>=2", "grpcio>=1.71.2", "protobuf>=5.29", "googleapis-common-protos>=1.66"]
PEERS = ["open_spiel", "pettingzoo[classic]", "envpool", "rlcard", "pgx", "dm-env-rpc"]
PEER_SECONDS = 900


def pip(*words, **more):
    """Runs pip."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *words], **more)


def main():
    """Installs."""
    pip("--upgrade", "pip", *OWN, check=True)
    for peer in PEERS:
        try:
            failed = pip(peer, *OWN, timeout=PEER_SECONDS).returncode
        except subprocess.TimeoutExpired:
            failed = f"no end after {PEER_SECONDS} s"
        if failed:
            print(f"bench: {peer} cannot be installed ({failed}): its rows will say so", file=sys.stderr)


if __name__ == "__main__":
    main()
