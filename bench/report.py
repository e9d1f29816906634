"""Writes the results in `results.json` to docs/benchmarks.md and, as three rows, to the README.

`bench/run --report` calls it without a measurement.
"""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, PAGE = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
MARK, END = "<!-- bench -->", "<!-- /bench -->"

#: Patterns of rows with their bound: the figure must be at least, or at most, this value.
BOUNDS = [
    (r"engine faraway 2 seats", "least", 5_000_000),
    (r"engine rauha 2 seats", "least", 4_500_000),
    (r"engine golden_compass 2 seats", "least", 3_500_000),
    (r"greedy faraway 2 seats", "least", 150_000),
    (r"boardwire faraway x1024, private server", "least", 1_300_000),
    (r"boardwire faraway x1024, halves, against open_spiel hanabi, .*", "least", 30),
    (r"batch python (unary|stream) x(1|16|64|256) unix, against echo", "most", 1.3),
    (r"batch python halves x(16|64|256|1024) unix, against echo", "most", 1.3),
    (r"act rust unary (tcp|unix), against echo", "most", 1.3),
    (r"boardwire faraway x1, local, against open_spiel hanabi", "least", 5),
    (r"boardwire faraway x16, local", "least", 3_000_000),
    (r"boardwire faraway x64, local", "least", 4_000_000),
    (r"boardwire faraway x1024, local, against batch .*", "least", 0.7),
    (r"(health check|act) beside .*, p99 above quiet", "most", 10),
    (r"10000 idle matches", "most", 100),
    (r"1000 strangers, with TLS and journal, p99", "most", 10),
]
#: If a call takes less than this share of the echo server's time, the machine was busy.
LEAST_PLAUSIBLE = 0.95
#: The README's rows: the label, the row in the process, the row of a server, and the pattern of peers.
FRONT = (
    ("1,024 environments a call", "x1024, local", "x1024, private server", r"(pgx|envpool) .*"),
    ("1 environment a call", "x1, local", "x1, private server", r"(open_spiel|rlcard) .*"),
    ("a Gymnasium environment", "gymnasium, local", "gymnasium, private server", r"(pettingzoo|rlcard) .*"),
)
#: The page's sections after the peers: the pattern of the rows, then heading and introduction.
SECTIONS = {
    r"batch python \w+ x(1|16|256|1024) (unix|tcp)": """Batches, against an echo server

The echo server returns as many bytes as Boardwire but plays no game. A call that takes 1.3 times as long
adds 0.3 of a bare round trip. With `halves`, two requests are pending at the same time.""",
    r"act (rust|python) (unary|stream) (tcp|unix)": """One decision a round trip, against an echo server

A seat of a match acts; the response is its next observation.""",
    r"(engine|greedy|mc(:[0-9]+)?) .*seats": """Engine and bots

On one core. The engine writes view and mask of every decision. `mc` has 160 playouts a decision,
`mc:10` ten ([strength](strength.md)).""",
    r"batch \w+ x(1|64|1024) in process, threads \d": """Batches without a connection

What the server does for a batch, with nothing sent.""",
    r"(1000 strangers|10000 (idle|open|matches)).*": """Many matches

Agents in matches of two, each on its own connection. Agents `that think` wait half a second
before each decision. A journal keeps matches on a disk
([operations](operations.md#journal)).""",
    r"(health check|act) (quiet|beside .*), p(50|99)": """While other work saturates the server

Health checks and `Act` while the server works on large batches or costly bots.""",
}


def number(value):
    """Formats a figure with three digits, or as a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bound_of(row):
    """Returns the kind and value of a row's bound, and whether it is met; None for a row without bound.

    If the quartiles disagree, the result is "within noise", since the machine was too busy.
    """
    for pattern, kind, bound in BOUNDS:
        if row["figure"] is not None and re.fullmatch(pattern, row["row"]):
            low, high = row["quartiles"]
            busy = row["unit"] == "times its time" and row["figure"] < LEAST_PLAUSIBLE
            if busy or low < bound < high:
                return kind, bound, "within noise"
            return kind, bound, "met" if (row["figure"] >= bound) == (kind == "least") else "missed"
    return None


def table(head, lines):
    """Formats a table in Markdown, with numbers aligned right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def contestants(rows):
    """Returns the rows of Boardwire, then of its peers, fastest first and failed ones last."""
    listed = [row for row in rows.values() if "version" in row or "failed" in row]
    return sorted(listed, key=lambda row: (not row["row"].startswith("boardwire "), -(row["figure"] or 0)))


def contestant_table(rows):
    """Formats the table of contestants, with how many times as fast Boardwire is."""
    lines = []
    for row in contestants(rows):
        name, cells = row["row"], []
        for size in ("x1024", "x1"):
            ratio = rows.get(f"boardwire faraway {size}, local, against {name}")
            cells.append(number(ratio["figure"]) if ratio else "")
        if "version" in row and not name.startswith("boardwire "):
            name += f" ({row['version']})"
        lines.append([name, row.get("failed") or number(row["figure"]), *cells])
    return table(["", "decisions/s", "Boardwire x1024, local, is so many times as fast", "x1, local"], lines)


def section_table(rows, pattern):
    """Formats the rows of a pattern, each with its ratio to the echo server if it has one."""
    lines = []
    for name, row in rows.items():
        if row["figure"] is not None and re.fullmatch(pattern, name):
            lines.append([name, number(row["figure"]), row["unit"]])
            if ratio := rows.get(f"{name}, against echo"):
                lines[-1].append(number(ratio["figure"]))
    head = ["", "figure", "unit", "times the echo server's time"]
    return table(head[: max(map(len, lines), default=3)], lines)


def bound_table(rows):
    """Formats the table of bounds, and whether each is met."""
    lines = []
    for row in rows.values():
        if result := bound_of(row):
            kind, bound, met = result
            lines.append([row["row"], number(row["figure"]), f"at {kind} {number(bound)} {row['unit']}", met])
    return table(["", "figure", "bound", ""], lines)


def front_table(rows):
    """Formats the README's table. Bold figures are slower than the fastest comparable peer."""
    lines = []
    for label, *ours, pattern in FRONT:
        peers = [row for row in contestants(rows) if re.fullmatch(pattern, row["row"])]
        # Failed peers come last and have no figure.
        fastest = peers[0]["figure"] if peers else None
        cells = []
        for name in ours:
            figure = rows[f"boardwire faraway {name}"]["figure"]
            text = number(figure) if figure else "failed"
            cells.append(f"**{text}**" if figure and fastest and figure < fastest else text)
        lines.append([label, *cells, f"{peers[0]['row']}: {number(fastest)}" if fastest else "none measured"])
    return table(["driven from Python", "in the process", "behind a server", "fastest peer"], lines)


def measured(results):
    """Returns the date, commit and machine of the measurement as text."""
    facts = results["machine"]
    text = f"""Measured {facts["date"][:10]} at `{facts["commit"][:9]}` on {facts["cores"]} cores of
{facts["cpu"]}, load {facts["load"][0]:.1f} at the start
({facts["system"]}, {facts["rustc"].split(" (")[0]}, Python {facts["python"]})."""
    if facts["load"][0] > facts["cores"] / 2:
        text += " **The machine was busy: these figures are provisional.**"
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def front(results):
    """Returns the README's section."""
    rows = {row["row"]: row for row in results["rows"]}
    return f"""Decisions a second. One random policy in Python reads every observation and mask. Boardwire
plays Faraway for two; each peer plays its own game. Bold figures are lower than those of the fastest peer:
see [benchmarks](docs/benchmarks.md).

{front_table(rows)}"""


def page(results):
    """Returns the page docs/benchmarks.md."""
    rows = {row["row"]: row for row in results["rows"]}
    sections = "\n\n".join(f"## {text}\n\n{section_table(rows, regex)}" for regex, text in SECTIONS.items())
    return f"""# Benchmarks

Generated by `make bench`, which measures Boardwire and its peers on your machine. It writes
`bench/results.json`, this page and the README's table.

{measured(results)}

## Method

- One random policy in Python, the same for all, reads every observation and mask and draws a legal action.
- Every contestant is a separate process. They play in turns of half a second, in an order that reverses
  each round, so that a slow minute of the machine hits all of them. A figure is the median of the rounds,
  a ratio the median of the ratios of the rounds.
- Each peer is driven in the fastest way that we found. A peer that cannot be loaded has a row that says so.
- The games differ: a decision of Hanabi is not one of Faraway. Peers play in the process of the policy;
  dm-env-rpc plays over TCP.
- Boardwire plays Faraway for two. `local` is `connect("local:")`; `private server` is `connect()`. `unary`,
  `stream` and `halves` use plain stubs of grpcio: single calls, a stream, and a stream with two halves of the
  batch in turn. `x1, stream` is a seat of a match against a bot.

## Boardwire and its peers

{contestant_table(rows)}

{sections}

## Bounds

{bound_table(rows)}
"""


def readme(results):
    """Returns the README with the new section between its marks."""
    text = README.read_text()
    if not re.search(f"{MARK}.*{END}", text, re.DOTALL):
        raise SystemExit(f"bench: README.md has no section from {MARK} to {END}")
    return f"{text[: text.index(MARK)]}{MARK}\n{front(results)}\n{text[text.index(END) :]}"


def report(results):
    """Writes the page and the README."""
    README.write_text(readme(results))
    PAGE.write_text(page(results))
