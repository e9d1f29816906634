"""Two processes play one match against each other. The second needs only an address and an invitation code.

To try: an address of another machine instead of the private server; three seats; a better policy.
"""

import subprocess
import sys

import boardwire


def play(client: boardwire.Client, code: str) -> boardwire.Observation:
    """Takes the last legal action at every decision; returns the last observation of the seat."""
    with client.join(code) as seat:
        obs = seat.observe()
        while not obs.over:
            obs = seat.act(obs.mask.nonzero()[0][-1])
        print(f"seat {seat.index}: scores {obs.scores}, reward {obs.reward:+g}", flush=True)
        return obs


def main() -> None:
    """Hosts a match and plays seat 0. With an address and a code as arguments, plays the invited seat."""
    if len(sys.argv) == 3:
        with boardwire.connect(sys.argv[1]) as client:
            play(client, sys.argv[2])
        return
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "agent"], episodes=1)
        own_code, other_code = (invitation.code for invitation in match.invitations)
        with subprocess.Popen([sys.executable, __file__, client.address, other_code]) as other:
            play(client, own_code)
        sys.exit(other.returncode)


if __name__ == "__main__":
    main()
