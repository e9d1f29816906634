#!/usr/bin/env python3
"""Draws the output of `boardwire arena --json` with matplotlib: `tools/ladder.py ARENA.json OUT.png`.

A bar is a share of first places with its 95 % interval. The line marks the share that each bot
would have if all were equally strong.
"""

import json
import sys
from pathlib import Path

from matplotlib import pyplot


def main() -> None:
    """Reads the results and writes the picture."""
    results = json.loads(Path(sys.argv[1]).read_text())
    bots = results["bots"]
    names = [f"{bot['bot']} ({bot['rating']:+.0f})" for bot in bots]
    shares = [bot["share"] for bot in bots]
    # With few deals, the interval may exclude the share itself.
    below = [max(0.0, bot["share"] - bot["interval"][0]) for bot in bots]
    above = [max(0.0, bot["interval"][1] - bot["share"]) for bot in bots]
    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.4 * len(bots)), layout="constrained")
    axes.barh(names, shares, xerr=[below, above], color="#9ebcda", capsize=3)
    axes.axvline(1 / results["seats"], color="#c8503c", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of first places (rating)")
    axes.set_title(f"{results['matches']} matches of {results['game']} at {results['seats']} seats")
    figure.savefig(sys.argv[2], dpi=120)


if __name__ == "__main__":
    main()
