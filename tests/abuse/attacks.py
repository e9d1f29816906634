"""What an attack is, and the list of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from target import Target

#: What an attack does to a server, at a size; gives the figures to print.
Action = Callable[[Target, int], str]


@dataclass(frozen=True)
class Attack:
    """One kind of abuse."""

    name: str
    #: How large it is in the quick form and in the full one; 0 leaves it out.
    quick: int
    full: int
    action: Action
    #: The flags of the server, by size.
    flags: Callable[[int], Sequence[object]]
    #: What resident memory may be above what it was, in MiB, once it is over.
    slack: float
    #: Whether the server has ended when it is over.
    ends: bool
    #: Whether its size is a number of connections that are open at once.
    connects: bool


#: All attacks, in the order in which their modules were imported.
ATTACKS: list[Attack] = []


def attack(
    *,
    quick: int,
    full: int,
    flags: Callable[[int], Sequence[object]] = lambda size: (),
    slack: float = 48,
    ends: bool = False,
    connects: bool = False,
) -> Callable[[Action], Action]:
    """Adds a function to the list, by its name."""

    def add(action: Action) -> Action:
        name = action.__name__.replace("_", "-")
        ATTACKS.append(Attack(name, quick, full, action, flags, slack, ends, connects))
        return action

    return add
