"""The verbs of a game as typed tools: one tool for each verb of its actions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import GameSpec

#: The name of a tool's argument, if the action names no row of a table.
UNNAMED = "choice"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: what its actions have in common, and how an argument tells them apart.

    Attributes:
        name: The verb, which is the tool's name.
        argument: The name of the tool's argument; empty if only one action has the verb.
        kind: The type of the argument.
        before: The number of words that begin all labels of the verb.
        after: The number of words that end them.
        pattern: The label with the argument's name in capitals.
    """

    name: str
    argument: str
    kind: type[int] | type[str]
    before: int
    after: int
    pattern: str

    def value(self, label: str) -> str:
        """Returns the argument with which the tool chooses the action of a label."""
        words = label.split()
        return " ".join(words[self.before : len(words) - self.after])

    def signature(self) -> inspect.Signature:
        """Returns the signature of the tool's method."""
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        if self.argument:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(self.argument, kind, annotation=self.kind))
        return inspect.Signature(parameters, return_annotation=str)

    @property
    def description(self) -> str:
        """What the tool does, in one sentence."""
        return f"Chooses the action `{self.pattern}`, if it is legal now."

    @property
    def meaning(self) -> str:
        """What the argument means."""
        return f"The {self.argument.upper()}, as the legal actions name it."

    def method(self, play: Callable[[Any, Verb, object], str]) -> Callable[..., str]:
        """Returns the tool as a typed and documented method, which calls `play(self, verb, argument)`."""
        signature = self.signature()

        def tool(*values: Any, **named: Any) -> str:
            try:
                owner, *arguments = signature.bind(*values, **named).arguments.values()
            except TypeError:
                # Wrong arguments are an illegal reply too.
                owner, arguments = values[0], []
            return play(owner, self, arguments[0] if arguments else None)

        described = f"\n\nArgs:\n    {self.argument}: {self.meaning}" if self.argument else ""
        tool.__name__ = tool.__qualname__ = self.name
        tool.__doc__ = f"{self.description}{described}\n\nReturns:\n    What happened, and the next decision."
        tool.__annotations__ = {**({self.argument: self.kind} if self.argument else {}), "return": str}
        tool.__signature__ = signature  # type: ignore[attr-defined] # Functions may have one.
        return tool

    def schema(self) -> dict[str, Any]:
        """Returns the tool as chat endpoints with function calls describe it."""
        kind = {"type": "integer" if self.kind is int else "string", "description": self.meaning}
        arguments = {self.argument: kind} if self.argument else {}
        parameters = {"type": "object", "properties": arguments, "required": list(arguments)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


def verbs_of(spec: GameSpec) -> Mapping[str, Verb]:
    """Returns the verbs of a game's actions, by name."""
    labels: dict[str, list[list[str]]] = {}
    tables: dict[str, str] = {}
    for action in spec.actions:
        labels.setdefault(action.verb, []).append(action.label.split())
        tables[action.verb] = action.table
    return {name: _verb(name, words, tables[name]) for name, words in labels.items()}


def plain(text: str) -> str:
    """Returns a text without differences of case and spaces."""
    return " ".join(text.split()).casefold()


def _verb(name: str, labels: list[list[str]], table: str) -> Verb:
    first = labels[0]
    if len(labels) == 1:
        return Verb(name, "", str, len(first), 0, " ".join(first))
    before = _common(labels)
    after = _common([words[before:][::-1] for words in labels])
    argument = _singular(table) if table else UNNAMED
    values = [" ".join(words[before : len(words) - after]) for words in labels]
    kind = int if all(value.isdecimal() for value in values) else str
    pattern = " ".join([*first[:before], argument.upper(), *first[len(first) - after :]])
    return Verb(name, argument, kind, before, after, pattern)


def _common(texts: list[list[str]]) -> int:
    """Returns the number of words with which all texts begin."""
    columns = list(zip(*texts, strict=False))
    return next((place for place, words in enumerate(columns) if len(set(words)) > 1), len(columns))


def _singular(table: str) -> str:
    return f"{table[:-3]}y" if table.endswith("ies") else table.removesuffix("s")
