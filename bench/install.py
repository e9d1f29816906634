"""Installs the requirements of `make bench` and the peers into the virtual environment that runs this script.

The script names each peer that pip cannot install with our requirements. The rows of this peer then say so.
"""

import subprocess
import sys

OWN = ["numpy>=2", "grpcio>=1.71.2", "protobuf>=5.29", "googleapis-common-protos>=1.66"]
PEERS = ["open_spiel", "pettingzoo[classic]", "envpool", "rlcard", "pgx", "dm-env-rpc"]
PEER_SECONDS = 900


def pip(*words, **options):
    """Runs `pip install`."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *words], **options)


def main():
    """Installs all packages."""
    pip("--upgrade", "pip", *OWN, check=True)
    for peer in PEERS:
        try:
            failed = pip(peer, *OWN, timeout=PEER_SECONDS).returncode
        except subprocess.TimeoutExpired:
            failed = f"timeout after {PEER_SECONDS} s"
        if failed:
            print(f"bench: pip cannot install {peer} ({failed}); its rows will say so", file=sys.stderr)


if __name__ == "__main__":
    main()
