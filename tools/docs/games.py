"""Writes `docs/games/<game>.md` from the engine's description of each game.

`make golden` runs it, and a test proves the pages fresh. Introductions and the text on turns come from
`turns/<game>.md` beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import boardwire
from boardwire import Column, ComponentTable, GameOption, GameSpec, ViewField

TURNS = Path(__file__).resolve().parent / "turns"
PAGES = Path(__file__).resolve().parents[2] / "docs/games"


def by_seats(values: dict[int, int]) -> str:
    """Returns numbers for each number of seats: as a linear formula if possible, else one by one."""
    (fewest, first), *rest = values.items()
    step = rest[0][1] - first if rest else 0
    base = first - step * fewest
    if any(value != step * seats + base for seats, value in values.items()):
        return " / ".join(map(str, values.values()))
    if not step:
        return str(base)
    return ("seats" if step == 1 else f"{step} * seats") + (f" {'+-'[base < 0]} {abs(base)}" if base else "")


def coded(words: Iterable[str]) -> str:
    """Returns words in code font; names that differ only in a final number become a range."""
    parts = []
    for stem, group in groupby(words, key=lambda word: re.sub(r"_\d+$", "_", word)):
        found = [f"`{word}`" for word in group]
        parts += [f"{found[0]} to {found[-1]}"] if stem.endswith("_") and len(found) > 1 else found
    return ", ".join(parts)


def table(head: str, rows: Iterable[Iterable[object]]) -> str:
    """Returns a Markdown table; `head` has the names of the columns, separated by bars."""
    names = head.split("|")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines).replace("|  |", "| |")


def axes(fields: dict[int, ViewField]) -> str:
    """Returns the axes of a field with their sizes."""
    parts = []
    for number, axis in enumerate(next(iter(fields.values())).axes):
        size = by_seats({seats: field.axes[number].size for seats, field in fields.items()})
        name = f"`{axis.table}`" if axis.table else axis.name
        part = name if axis.of_seats else f"{name}: {size}"
        parts.append(f"{{{part}}}" if axis.order == "none" else part)
    return ", ".join(parts)


def kind(described: ViewField | Column) -> str:
    """Returns what the values of a field or column mean."""
    if described.kind == "id":
        return f"row of `{described.table}`"
    return f"category: {coded(described.names)}" if described.kind == "category" else described.kind


def field_rows(specs: dict[int, GameSpec]) -> Iterator[list[str]]:
    """Yields the row of each field of a seat's view, given the specs by number of seats."""
    for name in dict.fromkeys(name for spec in specs.values() for name in spec.fields):
        fields = {seats: spec.fields[name] for seats, spec in specs.items() if name in spec.fields}
        field = next(iter(fields.values()))
        maximum = by_seats({seats: each.max for seats, each in fields.items()})
        maximum += f" ({field.usual_max})" if field.usual_max < field.max else ""
        is_fixed = len({each.names for each in fields.values()}) == 1
        values = kind(field) if is_fixed else "category; names differ by seats"
        meaning = field.description
        if len(fields) < len(specs):
            meaning += f" Only with {' and '.join(map(str, fields))} seats."
        is_public = any(name in spec.public_fields for spec in specs.values())
        yield [f"`{name}`", axes(fields), maximum, values, "yes" if is_public else "no", meaning]


def action_rows(spec: GameSpec) -> Iterator[list[object]]:
    """Yields a row for each run of actions with the same verb and table."""
    numbered = enumerate(spec.actions)
    for (verb, component), run in groupby(numbered, key=lambda each: (each[1].verb, each[1].table)):
        actions = list(run)
        (first, begin), (last, end) = actions[0], actions[-1]
        index, labels = str(first), f"`{begin.label}`"
        if last > first:
            index, labels = f"{first} to {last}", f"{labels} to `{end.label}`"
        yield [index, len(actions), f"`{verb}`", labels, f"row of `{component}`" if component else ""]


def option_row(option: GameOption) -> list[str]:
    """Returns the row of an option."""
    allowed = coded(option.choices) if option.choices else f"{option.min} to {option.max}"
    return [f"`{option.name}`", allowed, f"`{option.default}`", option.description]


def table_row(component: ComponentTable) -> list[object]:
    """Returns the row of a table: the columns in their order, with the kind of all but counts."""
    parts = []
    for values, run in groupby(component.columns, key=kind):
        columns = coded(column.name for column in run)
        parts.append(columns if values == "count" else f"{columns} ({values})")
    return [f"`{component.name}`", len(component.values) - 1, "; ".join(parts)]


def page(client: boardwire.Client, game: GameSpec) -> str:
    """Returns the page of a game."""
    specs = {seats: client.game(game.id, seats=seats) for seats in range(game.min_seats, game.max_seats + 1)}
    spec = specs[game.min_seats]
    sizes = [
        [seats, each.view_bytes, len(each.layout.names), len(each.entity_layout.field)]
        for seats, each in specs.items()
    ]
    public = by_seats({seats: each.public_view_bytes for seats, each in specs.items()})
    plies = by_seats({seats: each.max_plies for seats, each in specs.items()})
    file = f"{game.id}.md"
    head, turns = (TURNS / file).read_text().strip().split("\n\n", 1)
    return f"""# {spec.name}
<!-- Generated by `make golden` (tools/docs/games.py); the text on turns is in tools/docs/turns/{file}. -->

{head} See the [rules](../rules/{file}) and the [notation](README.md) of this page.

![A position of {spec.name} in the public view]({game.id}.svg)

## Turns and decisions

{turns}

## Options

{table("option|values|default|meaning", map(option_row, spec.option_specs))}

## Actions

There are {len(spec.actions)} actions. An episode has at most {plies} plies.

{table("index|count|verb|labels|component", action_rows(spec))}

## View

{table("field|axes|maximum|values|public|meaning", field_rows(specs))}

The public view has {public} bytes. Sizes of a seat's view:

{table("seats|bytes of a view|`spec.features`|`spec.entities`", sizes)}

## Tables

{table("table|rows|columns", map(table_row, spec.tables.values()))}

## Scores

Final scores are from {spec.min_score} to {spec.max_score}. Games need not reach these bounds.
"""


def main() -> None:
    """Writes all pages."""
    with boardwire.connect("local:") as client:
        for game in client.games():
            (PAGES / f"{game.id}.md").write_text(page(client, game))


if __name__ == "__main__":
    main()
