"""An agent in Python that plays as `src/agent.ts` does with its policy `first`, and prints the same lines."""

from __future__ import annotations

import argparse

import boardwire


def first(observation: boardwire.Observation) -> int:
    """The legal action with the lowest index."""
    return int(observation.mask.argmax())


def main() -> None:
    """Joins by invitation and plays."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("code", help="the code of an invitation")
    parser.add_argument("--episodes", type=int, default=1)
    parser.add_argument("--transcript", action="store_true", help="print each own decision")
    arguments = parser.parse_args()

    def log(line: str) -> None:
        if arguments.transcript:
            print(line)

    with boardwire.connect(arguments.address) as client:
        seat = client.join(arguments.code)
        seen = seat.observe(wait=True)
        for left in reversed(range(arguments.episodes)):
            while not (seen.terminated or seen.truncated):
                episode, decision, action = seen.episode, seen.decision, first(seen)
                seen = seat.act(action, wait=True)
                log(f"{episode} {decision} {action} {seat.spec.actions[action]}")
            scores, ranks = (" ".join(map(str, numbers)) for numbers in (seen.scores, seen.ranks))
            log(f"{seen.episode} over scores {scores} ranks {ranks}")
            if left:
                seen = seat.reset(wait=True)


if __name__ == "__main__":
    main()
