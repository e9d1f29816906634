"""Writes what `results.json` holds where people read it.

That is the section of the README between the marks `<!-- bench -->`, and the chart in docs/. `bench/run
--report` does it without measuring anything.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, CHART = ROOT / "README.md", ROOT / "docs" / "benchmark.png"
MARK, END = "<!-- bench -->", "<!-- /bench -->"
BEST, SINGLE = "boardwire faraway x1024, halves", "boardwire faraway x1, stream"
SIZES = (1, 16, 64, 256, 1024, 4096)
WAYS = ("unary", "stream", "halves")


def number(value):
    """A figure as people read it."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(head, lines):
    """A table in Markdown, numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def peers_table(rows):
    """Every contestant with its figure and how many times it Boardwire plays, fastest first."""
    shown = [
        row
        for name, row in rows.items()
        if row["unit"] == "decisions/s" and (row.get("library") or row.get("failed"))
    ]
    shown.sort(key=lambda row: -(row["figure"] or 0))
    lines = []
    for row in shown:
        if row.get("failed"):
            lines.append([row["row"], row["failed"], "", ""])
            continue
        ratios = [rows.get(f"{ours}, against {row['row']}") for ours in (BEST, SINGLE)]
        cells = [number(ratio["figure"]) if ratio else "" for ratio in ratios]
        name = f"**{row['row']}**" if row["library"] == "boardwire" else f"{row['row']} ({row['version']})"
        lines.append([name, number(row["figure"]), *cells])
    return table(["", "decisions/s", "boardwire x1024 is times it", "boardwire x1 is times it"], lines)


def batch_table(rows, socket):
    """Batches by size and way over one socket, each with its ratio to the echo server."""
    lines = []
    for size in SIZES:
        cells = [str(size)]
        for way in WAYS:
            name = f"batch python {way} x{size} {socket}"
            row, ratio = rows.get(name), rows.get(f"{name}, against echo")
            cells.append(f"{number(row['figure'])} ({ratio['figure']:.2f})" if row and ratio else "")
        lines.append(cells)
    return table(["environments", *WAYS], lines)


def budget_lines(rows):
    """Every promise, kept or not; those about calls together: their tables are above."""
    lines, calls = [], []
    for row in rows.values():
        if not row.get("budget"):
            continue
        if row["unit"] == "times its time":
            calls.append(row)
            continue
        ((kind, bound),) = row["budget"].items()
        met = {"yes": "met", "no": "**missed**", "unsure": "within noise"}[row["met"]]
        lines.append([row["row"], number(row["figure"]), f"at {kind} {number(bound)} {row['unit']}", met])
    for what in ("act", "batch"):
        verdicts = [row["met"] for row in calls if row["row"].startswith(what)]
        if verdicts:
            bound = next(iter(calls[0]["budget"].values()))
            counts = {word: verdicts.count(word) for word in ("yes", "no", "unsure")}
            met = f"{counts['yes']} met, **{counts['no']} missed**, {counts['unsure']} within noise"
            kinds = f"`{what}` calls, each way, size and socket, against an echo server"
            lines.append([kinds, "as above", f"at most {number(bound)} times its time", met])
    return table(["promised", "found", "bound", ""], lines)


def summary(rows):
    """What came out, in words: slow cases first."""
    slower, faster = [], []
    for name, row in rows.items():
        if row["unit"] != "times its rate" or not name.startswith(f"{BEST}, against "):
            continue
        peer = name.removeprefix(f"{BEST}, against ")
        (slower if row["figure"] < 1 else faster).append((row["figure"], peer))
    single = [row for name, row in rows.items() if name.startswith(f"{SINGLE}, against ")]
    ahead = sum(row["figure"] > 1 for row in single)
    listed = [f"{number(ratio)} times `{peer}`" for ratio, peer in sorted(faster)]
    text = f"In batches of 1,024 by halves Boardwire makes {number(rows[BEST]['figure'])} decisions a second"
    text += f": {', '.join(listed)}." if listed else "."
    if slower:
        text += (
            " Slower than "
            + ", ".join(f"`{peer}` ({number(ratio)} times)" for ratio, peer in sorted(slower))
            + "."
        )
    if single:
        text += f" One decision a round trip is faster than {ahead} of {len(single)} of them:"
        text += " what one environment costs over a wire, batches take away."
    return text


def other_lines(rows):
    """Rows of the engine and of single decisions."""
    wanted = re.compile(r"(engine|greedy|mc(:[0-9]+)?) .*seats|batch .* x1024 in process.*|act .* (tcp|unix)")
    lines = []
    for name, row in rows.items():
        if wanted.fullmatch(name) and row["figure"]:
            ratio = rows.get(f"{name}, against echo")
            lines.append(
                [name, number(row["figure"]), row["unit"], f"{ratio['figure']:.2f}" if ratio else ""]
            )
    return table(["", "figure", "", "times the echo server's time"], lines)


def section(found):
    """The README's section."""
    rows = {row["row"]: row for row in found["rows"]}
    facts = found["machine"]
    busy = (
        " **The machine was busy: these figures are provisional.**"
        if facts["load"][0] > facts["cores"] / 2
        else ""
    )
    return f"""Measured {facts["date"][:10]} at `{facts["commit"][:9]}` on {facts["cores"]} cores
of {facts["cpu"]}, load {facts["load"][0]:.1f} at the start.{busy}

Decisions a second, driven from Python by one random policy that reads every observation and mask; everything
was played in the same run, in turns. Boardwire is behind a Unix socket, dm-env-rpc behind TCP, the
others play in the process of the policy. The games differ: a decision of Hanabi is not one of Faraway.

{summary(rows) if BEST in rows and rows[BEST]["figure"] else ""}

{peers_table(rows)}

![Decisions a second of Boardwire and its peers](docs/benchmark.png)

Batches of Faraway over a Unix socket: decisions a second, and in brackets how many times as long a call
takes as with a server that plays nothing and sends the same bytes. With `halves` two requests are under way,
and the times are those of the whole loop.

{batch_table(rows, "unix")}

The same over TCP:

{batch_table(rows, "tcp")}

The engine without wire (one core), the server's own work for a batch (no wire, nothing sent), and matches
of mutually distrusting seats, one decision a round trip:

{other_lines(rows)}

What we promise ourselves:

{budget_lines(rows)}"""


def write_readme(found):
    """Puts the section between its marks."""
    text = README.read_text()
    before, _, rest = text.partition(MARK)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"bench: README.md has no section from {MARK} to {END}")
    README.write_text(f"{before}{MARK}\n{section(found)}\n{END}{after}")


def draw(found):
    """Draws the chart; nothing without matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("bench: no matplotlib, so no chart")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = {row["row"]: row for row in found["rows"]}
    shown = sorted(
        (row for row in rows.values() if row.get("library") and row["figure"]), key=lambda row: row["figure"]
    )
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 6), width_ratios=[3, 2])
    figures = [row["figure"] for row in shown]
    errors = [
        [row["figure"] - row["quartiles"][0] for row in shown],
        [row["quartiles"][1] - row["figure"] for row in shown],
    ]
    colours = ["#d1495b" if row["library"] == "boardwire" else "#8d99ae" for row in shown]
    left.barh(
        [row["row"] for row in shown],
        figures,
        xerr=[[max(e, 0) for e in side] for side in errors],
        color=colours,
    )
    left.set_xscale("log")
    left.set_xlabel("decisions/s from Python (log scale; bars: medians, whiskers: quartiles)")
    left.set_title("Boardwire over gRPC (red), peers in process or over their own wire")
    for way, mark in zip(WAYS, "os^", strict=False):
        for suffix, style in (("", "-"), (", echo", ":")):
            names = {size: f"batch python {way} x{size} unix{suffix}" for size in SIZES}
            points = [(size, rows[name]["figure"]) for size, name in names.items() if name in rows]
            colour = {"unary": "#edae49", "stream": "#d1495b", "halves": "#00798c"}[way]
            label = way + (" (echo server)" if suffix else "")
            right.plot(
                *zip(*points, strict=False), style, marker=mark, color=colour, label=label
            ) if points else None
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    right.set_xlabel("environments a batch")
    right.set_ylabel("decisions/s")
    right.set_title("Faraway over a Unix socket")
    right.legend()
    right.grid(alpha=0.3)
    facts = found["machine"]
    figure.suptitle(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['date'][:10]}, load {facts['load'][0]:.1f}",
        fontsize=9,
    )
    figure.tight_layout()
    figure.savefig(CHART, dpi=110, metadata={"Software": None})


def report(found):
    """Writes both."""
    write_readme(found)
    draw(found)
