"""Measures the strength of bots at one table: ladder.py BINARY GAME SEATS.

Each bot plays at one seat, with the same opponent at all other seats, over duplicate deals. The script prints
a table for docs/strength.md, and writes `runs/ladder-GAME-SEATS.json`.
"""

from __future__ import annotations

import json
import subprocess
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOTS = ("random", "greedy", "mc:40", "mc:160", "mc:640")
#: The bots that need a network of this table.
NETWORK_BOTS = ("policy:opponents:argmax", "strong")
AGAINST = ("greedy", "mc:160")


@dataclass(frozen=True)
class Share:
    """The results of a bot at one seat against another one at all other seats.

    Attributes:
        bot: The bot.
        against: The other bot.
        matches: The number of matches.
        share: The share of first places of the bot.
        interval: The 95 % confidence interval of the share.
        mean_score: The mean score of the bot.
        milliseconds: The mean time of a decision of the bot, with matches on all cores.
    """

    bot: str
    against: str
    matches: int
    share: float
    interval: tuple[float, float]
    mean_score: float
    milliseconds: float


def play(
    binary: str, game: str, seats: int, bot: str, against: str, matches: int, arguments: Sequence[str] = ()
) -> Share:
    """Plays an arena of a bot against another one."""
    line_up = ",".join([bot, *[against] * (seats - 1)])
    command = [binary, "arena", game, "--seats", line_up, "--matches", str(matches), "--seed", "1", "--json"]
    played = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True, text=True)
    results = json.loads(played.stdout)
    row = results["bots"][0]
    low, high = row["interval"]
    figures = row["mean_score"], row["milliseconds_per_decision"]
    return Share(bot, against, results["matches"], row["share"], (low, high), *figures)


def cell(share: Share | None) -> str:
    """Returns a share and its interval in percent; a dash for a bot against itself."""
    if share is None:
        return "-"
    low, high = share.interval
    return f"{100 * share.share:.1f} ({100 * low:.0f}-{100 * high:.0f})"


def table(shares: Sequence[Share], opponents: Sequence[str]) -> str:
    """Returns the rows of a Markdown table, one for each bot."""
    headings = ["bot", *(f"against `{bot}`, %" for bot in opponents), "mean score", "ms/decision"]
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    for bot in dict.fromkeys(share.bot for share in shares):
        own = {share.against: share for share in shares if share.bot == bot}
        first = next(iter(own.values()))
        figures = [f"{first.mean_score:.1f}", f"{first.milliseconds:.2g}"]
        lines.append([f"`{bot}`", *(cell(own.get(other)) for other in opponents), *figures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measures, writes the results and prints the table."""
    parser = ArgumentParser(description="Measures the strength of bots at one table.")
    parser.add_argument("binary")
    parser.add_argument("game")
    parser.add_argument("seats", type=int)
    parser.add_argument("--opponents", type=Path, default=ROOT / "opponents/src/boardwire_opponents")
    parser.add_argument("--bots", nargs="+", help="default: all, those with a network if the table has one")
    parser.add_argument("--against", nargs="+", default=AGAINST, help="the bots at all other seats")
    parser.add_argument("--matches", type=int, default=400, help="matches of each pair of bots")
    parser.add_argument("--out", type=Path, help="default: runs/ladder-GAME-SEATS.json")
    args = parser.parse_args()
    has_network = (args.opponents / f"{args.game}-{args.seats}.onnx").exists()
    bots = args.bots or [*BOTS, *(NETWORK_BOTS if has_network else ())]
    networks = ["--opponents", str(args.opponents)] if has_network else []
    pairs = [(bot, against) for bot in bots for against in args.against if bot != against]
    shares = [play(args.binary, args.game, args.seats, *pair, args.matches, networks) for pair in pairs]
    out = args.out or ROOT / f"runs/ladder-{args.game}-{args.seats}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps([asdict(share) for share in shares], indent=2) + "\n")
    print(table(shares, args.against))


if __name__ == "__main__":
    main()
