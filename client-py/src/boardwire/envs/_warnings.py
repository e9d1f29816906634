"""A word to those whose illegal actions are replaced: without it a wrong mask would never be noticed."""

from __future__ import annotations

import warnings

from .._spec import GameSpec
from .._types import IllegalActions


class IllegalActionWarning(RuntimeWarning):
    """An action was illegal and another was played for it: the policy reads no mask, or a wrong one."""


class IllegalActionNotice:
    """Warns of the first illegal action of an environment that was replaced, and of no other."""

    def __init__(self, spec: GameSpec, policy: IllegalActions) -> None:
        """Has nothing to warn of yet; `policy` is what replaces illegal actions."""
        self.is_due = True
        self._spec = spec
        self._policy = policy

    def give(self, action: int, of: str = "") -> None:
        """Warns, unless it has done so; `of` names whose action it was."""
        if not self.is_due:
            return
        self.is_due = False
        warnings.warn(
            f"action {action} ({self._spec.actions[action].label}){of} was illegal, and another was played "
            f"for it, as illegal_actions={self._policy!r} says; the legal ones are in the action mask. This "
            "environment says so once.",
            IllegalActionWarning,
            # The caller of the environment's `step`, unless there are wrappers.
            stacklevel=4,
        )
