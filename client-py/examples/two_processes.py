"""Two processes play one match against each other: the code of an invitation is all the other one needs.

To try: an address of another machine in the place of the private server; three seats; an agent that thinks.
"""

import subprocess
import sys

import boardwire


def play(client: boardwire.Client, code: str) -> boardwire.Observation:
    """Takes the last legal action at every decision; gives the end of the match as the seat sees it."""
    with client.join(code) as seat:
        seen = seat.observe()
        while not seen.over:
            seen = seat.act(seen.mask.nonzero()[0][-1])
        print(f"seat {seat.index}: scores {seen.scores}, reward {seen.reward:+g}", flush=True)
        return seen


def main() -> None:
    """Hosts a match and plays seat 0, or with an address and a code plays another's seat."""
    if len(sys.argv) == 3:
        with boardwire.connect(sys.argv[1]) as client:
            play(client, sys.argv[2])
        return
    with boardwire.connect() as client:
        match = client.create_match("faraway", players=["agent", "agent"])
        mine, theirs = (invitation.code for invitation in match.invitations)
        with subprocess.Popen([sys.executable, __file__, client.address, theirs]) as other:
            play(client, mine)
        sys.exit(other.returncode)


if __name__ == "__main__":
    main()
