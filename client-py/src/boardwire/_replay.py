"""Episodes as they were played."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._info import FairDeal, SeedOpening
from ._process import find_binary
from ._types import Outcome

#: How an action came to be played: the seat's agent or bot chose it, it was played for an illegal one, there
#: was no other choice and the match skips such decisions, or the seat's time had run out.
ActionCause = Literal["agent", "substituted", "bot", "forced", "timed_out"]


@dataclass(frozen=True, slots=True)
class PlayedAction:
    """An action as it was played.

    Attributes:
        action: Its index.
        cause: How it came about.
        given: The illegal action that the seat chose, where another was played for it.
    """

    action: int
    cause: ActionCause
    given: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A position as somebody saw it, and what led to it.

    Attributes:
        sequence: Its number among the frames of the match, from 1.
        episode: The episode, counted from 0.
        ply: How many actions have been applied in it.
        time: Since when it has stood so.
        view: What the viewer may know: `uint8[bytes]`, as `GameSpec.fields` lays it out, or `public_fields`.
        pending: The seats that owe a decision, in order.
        seat: Whose decision led to it; none where it was dealt or forfeited.
        played: That decision; none where the viewer may not know it, or not yet.
        head: What all decisions so far chain up to, 32 bytes.
        outcome: How the episode ended, if it ends here.
        took: How many seconds the seat's clock was charged for the decision, if it has one.
    """

    sequence: int
    episode: int
    ply: int
    time: datetime
    view: NDArray[np.uint8]
    pending: tuple[int, ...]
    seat: int | None
    played: PlayedAction | None
    head: bytes
    outcome: Outcome | None
    took: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """An episode as somebody may see it: a seat, or the public.

    Attributes:
        match_id: The match's id.
        game: The game's id.
        players: Who plays at each seat.
        options: Every option with its value.
        spec_digest: The digest of the table's description.
        episode: The episode, counted from 0.
        seed_commitment: What commits to its key, 32 bytes.
        seed_source: Where its seed comes from.
        seed_opening: What the commitment hides, once it may be known.
        viewer: The seat whose views these are; none for the public's.
        over: Whether the episode is over, so that every decision is shown.
        frames: Every position, from the deal on.
        fair: How its deal came about, if that was fair.
        release: The release series that wrote it and alone verifies it: `0.2`.
    """

    match_id: str
    game: str
    players: tuple[str, ...]
    options: dict[str, str]
    spec_digest: str
    episode: int
    seed_commitment: bytes
    seed_source: Literal["drawn", "given"]
    seed_opening: SeedOpening | None
    viewer: int | None
    over: bool
    frames: tuple[Frame, ...] = field(repr=False)
    fair: FairDeal | None
    release: str
    _raw: bytes = field(repr=False)

    def to_json(self) -> str:
        """The replay as text, which `boardwire verify` reads: the canonical JSON of `boardwire.v1.Replay`."""
        return _core.to_json("Replay", self._raw)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes that text to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    def to_html(self) -> str:
        """The replay as a page of HTML that shows every position; it needs no network and no other file.

        The program that comes with this package draws it, as `boardwire replay FILE --html PAGE` does. Once
        the episode is over, it can be looked at from every seat.

        Raises:
            StartError: The program was not found.
            ValueError: It cannot draw the replay, for instance because the server had other rules or
                components.
        """
        with tempfile.TemporaryDirectory(prefix="boardwire-") as folder:
            page = Path(folder, "replay.html")
            drawn = subprocess.run(
                [str(find_binary()), "replay", "-", "--html", str(page)],
                input=self.to_json(),
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            if drawn.returncode:
                raise ValueError(f"the replay cannot be drawn: {drawn.stderr.strip()}")
            return page.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """That page in a frame of its own, as notebooks show it."""
        page = escape(self.to_html())
        return f'<div><iframe srcdoc="{page}" width="100%" height="720" title="replay"></iframe></div>'
