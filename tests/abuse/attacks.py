"""The type of an attack, and the list of all attacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from target import Target

#: Runs an attack of this size on a server and returns the results to print.
Action = Callable[[Target, int], str]


@dataclass(frozen=True)
class Attack:
    """One kind of attack."""

    name: str
    #: Its size in the quick suite and in the full suite; 0 omits it.
    quick: int
    full: int
    action: Action
    #: The flags of the server for a size.
    flags: Callable[[int], Sequence[object]]
    #: The allowed growth of resident memory after the attack, in MiB.
    slack: float
    #: Whether the attack ends the server.
    ends: bool
    #: Whether its size is a number of concurrent connections.
    connects: bool


#: All attacks, in the order of import of their modules.
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
    """Registers a function as an attack under its name."""

    def add(action: Action) -> Action:
        name = action.__name__.replace("_", "-")
        ATTACKS.append(Attack(name, quick, full, action, flags, slack, ends, connects))
        return action

    return add
