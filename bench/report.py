"""Writes what `results.json` holds where people read it.

That is docs/benchmarks.md, a small table in the README between the marks `<!-- bench -->`, and the chart in
docs/. `bench/run --report` does it without measuring anything.
"""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, PAGE, CHART = ROOT / "README.md", ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmark.png"
MARK, END = "<!-- bench -->", "<!-- /bench -->"
SERVED, SINGLE = "boardwire faraway x1024, halves", "boardwire faraway x1, stream"
LOCAL, LOCAL_SINGLE = "boardwire faraway x1024, local", "boardwire faraway x1, local"
SIZES = (1, 16, 64, 256, 1024, 4096)
WAYS = ("unary", "stream", "halves")
#: Lines of the README's table: what is driven, its rows in the process and behind a server, comparable peers.
DRIVEN = (
    ("1,024 environments a call", "x1024, local", "x1024, private server", r"(pgx|envpool) .*"),
    ("16 environments a call", "x16, local", "x16, private server", None),
    ("1 environment a call", "x1, local", "x1, private server", r"(open_spiel|rlcard) .*"),
    (
        "a Gymnasium environment",
        "gymnasium, local",
        "gymnasium, private server",
        r"rlcard .*|pettingzoo .*|open_spiel .* rl_environment",
    ),
    ("a PettingZoo environment", "pettingzoo aec, local", "pettingzoo aec, private server", r"pettingzoo .*"),
)


def number(value):
    """A figure as people read it."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def times(row):
    """A ratio, or nothing; bold where the other is faster."""
    if row is None:
        return ""
    return f"**{number(row['figure'])}**" if row["figure"] < 1 else number(row["figure"])


def table(head, lines):
    """A table in Markdown, numbers to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def prose(text):
    """A paragraph in lines as long as those of other pages."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def contestants(rows, ours):
    """The rows of contestants, fastest first: those of Boardwire, or those of its peers."""
    shown = [
        row
        for row in rows.values()
        if row["unit"] == "decisions/s" and (row.get("library") or row.get("failed"))
    ]
    shown = [row for row in shown if row["row"].startswith("boardwire ") == ours]
    return sorted(shown, key=lambda row: -(row["figure"] or 0))


def own_table(rows):
    """Boardwire by what drives it."""
    lines = []
    for row in contestants(rows, ours=True):
        if row.get("failed"):
            lines.append([row["row"], row["failed"], ""])
        else:
            lines.append([row["row"], number(row["figure"]), " to ".join(map(number, row["quartiles"]))])
    return table(["", "decisions/s", "quartiles"], lines)


def peers_table(rows):
    """Every peer, and how many times as fast Boardwire is."""
    lines = []
    for row in contestants(rows, ours=False):
        if row.get("failed"):
            lines.append([row["row"], row["failed"], "", "", "", "", ""])
            continue
        ratios = [
            times(rows.get(f"{ours}, against {row['row']}")) for ours in (LOCAL, SERVED, LOCAL_SINGLE, SINGLE)
        ]
        quartiles = " to ".join(map(number, row["quartiles"]))
        lines.append([f"{row['row']} ({row['version']})", number(row["figure"]), quartiles, *ratios])
    return table(
        ["", "decisions/s", "quartiles", "x1024, local", "x1024, halves", "x1, local", "x1, stream"], lines
    )


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


def losses(rows):
    """Where a peer is faster, and which promises are not kept: slow cases first."""
    sentences = []
    served = rows.get("boardwire faraway x1, private server")
    peers = [row for row in contestants(rows, ours=False) if row["figure"]]
    # A single environment is compared with single ones.
    singles = [peer for peer in peers if "x1024" not in peer["row"]]
    if served and served["figure"]:
        faster = [peer for peer in singles if peer["figure"] > served["figure"]]
        sentences.append(
            f"One environment behind a server makes {number(served['figure'])} decisions a second, fewer than"
            f" {len(faster)} of {len(singles)} peers that play one at a time:"
            " what a round trip costs, batches share."
        )
    for ours, what in (
        (SERVED, "1,024 environments behind a server, by halves,"),
        (LOCAL, "1,024 environments in the process"),
        (LOCAL_SINGLE, "1 environment in the process"),
    ):
        compared = peers if "x1024" in ours else singles
        ratios = {peer["row"]: rows.get(f"{ours}, against {peer['row']}") for peer in compared}
        slower = [(row["figure"], name) for name, row in ratios.items() if row and row["figure"] < 1]
        if slower:
            listed = ", ".join(f"{number(ratio)} times as fast as `{name}`" for ratio, name in sorted(slower))
            sentences.append(f"With {what} Boardwire is only {listed}.")
    verdicts = [row["met"] for row in rows.values() if row.get("budget")]
    sentences.append(
        f"Of {len(verdicts)} bounds that we promise ourselves {verdicts.count('no')} are missed,"
        f" and {verdicts.count('unsure')} cannot be told from noise."
    )
    return prose(" ".join(sentences))


def driven_table(rows):
    """The README's lines: each with the fastest comparable peer, ours in bold where that one is faster."""
    lines = []
    for what, local, served, pattern in DRIVEN:
        ours = [rows.get(f"boardwire faraway {name}") for name in (local, served)]
        lines.append([what, *beside(rows, ours, pattern)])
    lines.append(["a seat of a match", *beside(rows, [None, rows.get(SINGLE)], r"dm-env-rpc .*")])
    return table(["driven from Python", "in the process", "behind a server", "fastest peer"], lines)


def beside(rows, ours, pattern):
    """Cells for our figures and the fastest peer of a pattern."""
    peers = [row for row in contestants(rows, ours=False) if row["figure"]]
    peers = [row for row in peers if pattern and re.fullmatch(pattern, row["row"])]
    best = peers[0]["figure"] if peers else 0
    cells = []
    for row in ours:
        figure = number(row["figure"]) if row and row["figure"] else ""
        cells.append(f"**{figure}**" if figure and row["figure"] < best else figure)
    return [*cells, f"{peers[0]['row']}: {number(best)}" if peers else ""]


def crowd_table(rows):
    """Seats that distrust one another, many at once."""
    lines = []
    for name, row in rows.items():
        if re.fullmatch(r"\d+ strangers.*", name) and row["unit"] == "decisions/s":
            parts = [rows.get(f"{name}, {what}") for what in ("median", "p99", "server")]
            lines.append(
                [name, number(row["figure"]), *(number(part["figure"]) if part else "" for part in parts)]
            )
    head = ["", "decisions/s", "median, ms", "p99, times the median", "server, us of a core a decision"]
    return table(head, lines)


def process_table(rows):
    """The server's own work for batches, by game, threads and size."""
    found = {}
    for name, row in rows.items():
        parts = re.fullmatch(r"batch (\w+) x(\d+) in process, threads (\d+)", name)
        if parts:
            found.setdefault((parts[1], parts[3]), {})[int(parts[2])] = number(row["figure"])
    lines = [
        [f"{game}, {threads} thread{'s' * (threads != '1')}", *(figures.get(size, "") for size in SIZES)]
        for (game, threads), figures in found.items()
    ]
    return table(["environments", *map(str, SIZES)], lines)


def other_lines(rows, wanted):
    """Rows whose names are of a pattern, each with its ratio to the echo server."""
    lines = []
    for name, row in rows.items():
        if re.fullmatch(wanted, name) and row["figure"]:
            ratio = rows.get(f"{name}, against echo")
            cells = [name, number(row["figure"]), row["unit"]]
            lines.append([*cells, f"{ratio['figure']:.2f}"] if ratio else cells)
    head = ["", "figure", "unit", "times the echo server's time"]
    return table(head[: len(lines[0])] if lines else head, lines)


def measured(found):
    """When and on what."""
    facts = found["machine"]
    text = f"Measured {facts['date'][:10]} at `{facts['commit'][:9]}` on {facts['cores']} cores of"
    text += f" {facts['cpu']}, load {facts['load'][0]:.1f} at the start"
    text += f" ({facts['system']}, {facts['rustc'].split(' (')[0]}, Python {facts['python']})."
    if facts["load"][0] > facts["cores"] / 2:
        text += " **The machine was busy: these figures are provisional.**"
    return prose(text)


def section(found):
    """The README's section: one small table."""
    rows = {row["row"]: row for row in found["rows"]}
    return f"""Decisions a second, driven from Python by one random policy that reads every observation
and mask. Boardwire plays Faraway for two; the peers were played in the same run, in turns, in games of their
own. Bold figures are those that a peer exceeds.

{driven_table(rows)}

{losses(rows)}

{measured(found)}"""


def page(found):
    """The page docs/benchmarks.md."""
    rows = {row["row"]: row for row in found["rows"]}
    return f"""# Benchmarks

`make bench` measures Boardwire and its peers on your machine, and writes `bench/results.json`, this page, the
table in the README and the chart. Do not edit this page: `bench/report.py` writes it.

{measured(found)}

## Method

- One random policy in Python, the same for all, reads every observation and mask and draws a legal action.
- Every contestant is a process of its own. They play in turns of half a second, in an order that reverses
  each round, so that a slow minute of the machine is everybody's. A figure is the median of the rounds.
- Each peer is driven the way its library does it fastest, as far as we found. A peer that cannot be loaded
  has a row that says so.
- The games differ: a decision of Hanabi is not one of Faraway. Peers play in the process of the policy, but
  for dm-env-rpc, which is behind TCP.
- Boardwire plays Faraway for two: `local` in the process of the policy (`connect("local:")`), `private
  server` behind a Unix socket as `connect()` starts it. `unary`, `stream` and `halves` are single calls, a
  stream, and a stream with two halves of the batch under way in turn, by plain stubs of grpcio; `x1, stream`
  is a seat of a match against a bot.
- An echo server sends answers of the same size and plays nothing. What takes 1.3 times its time, say, costs
  0.3 of a bare round trip.
- Ratios are medians of the ratios of rounds, so they differ a little from ratios of medians.

## Where peers are faster

{losses(rows)}

![Decisions a second of Boardwire and its peers](benchmark.png)

## Boardwire

{own_table(rows)}

## Peers

The last four columns say how many times as fast Boardwire is, in bold where it is slower.

{peers_table(rows)}

## Batches against an echo server

Decisions a second, and in brackets how many times as long a call takes as with the echo server. With `halves`
two requests are under way, and the times are those of the whole loop. Over a Unix socket:

{batch_table(rows, "unix")}

Over TCP:

{batch_table(rows, "tcp")}

## One decision a round trip

A seat of a match acts, and its answer is the next observation:

{other_lines(rows, r"act (rust|python) (unary|stream) (tcp|unix)")}

## Engine, bots, and batches without a wire

Engine and bots use one core; the engine writes view and mask of every decision. `mc` has 160 playouts a
decision, `mc:10` ten ([strength](strength.md)).

{other_lines(rows, r"(engine|greedy|mc(:[0-9]+)?) .*seats")}

Decisions a second of the server's own work for a batch, with nothing sent:

{process_table(rows)}

## Many matches

Agents in matches of two, each on a connection of its own, one decision a round trip; those `that think` wait
half a second before each. A journal keeps matches on a disk
([operations](operations.md#matches-that-outlive-the-server)).

{crowd_table(rows)}

{other_lines(rows, r"[0-9]+ (idle matches|matches .*|open matches.*)")}

Health checks and `act` beside work that fills the server:

{other_lines(rows, r"(health check|act) (quiet|beside .*), p(50|99)")}

## What we promise ourselves

{budget_lines(rows)}
"""


def readme(found):
    """The README with the section between its marks."""
    text = README.read_text()
    before, _, rest = text.partition(MARK)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"bench: README.md has no section from {MARK} to {END}")
    return f"{before}{MARK}\n{section(found)}\n{END}{after}"


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
    height = max(6, 0.2 * len(shown))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, height), width_ratios=[3, 2])
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
    left.set_title("Boardwire (red) and its peers (grey)")
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
    """Writes all three."""
    README.write_text(readme(found))
    PAGE.write_text(page(found))
    draw(found)
