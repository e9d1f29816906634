"""Replays of episodes."""

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

#: Why an action was played: the seat's agent chose it, it replaced an illegal action, the seat's bot chose
#: it, it was the only legal action and the match skips such decisions, or the seat's time had run out.
ActionCause = Literal["agent", "substituted", "bot", "forced", "timed_out"]


@dataclass(frozen=True, slots=True)
class PlayedAction:
    """An action that was played.

    Attributes:
        action: The action's index.
        cause: Why the action was played.
        given: The illegal action of the seat that this action replaced; None if it replaced none.
    """

    action: int
    cause: ActionCause
    given: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A position as the viewer saw it, and the decision that led to it.

    Attributes:
        sequence: The frame's number among the frames of the match, from 1.
        episode: The episode, counted from 0.
        ply: How many actions have been applied in the episode.
        time: When the position arose.
        view: What the viewer may know: `uint8[bytes]`, with the layout in `GameSpec.fields`, or in
            `GameSpec.public_fields` for the public.
        pending: The seats that owe a decision, ascending.
        seat: The seat whose decision led to the position; None after a deal or a forfeit.
        played: The action of that decision; None if the viewer may not know it, or not yet.
        head: The head of the hash chain over all decisions so far, 32 bytes.
        outcome: How the episode ended, if it ends with this frame; else None.
        took: How many seconds the seat's clock was charged for the decision; None without a clock.
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
    """The replay of an episode, as its viewer may see it: a seat, or the public.

    Attributes:
        match_id: The match's id.
        game: The game's id.
        players: The player of each seat.
        options: Every option with its value.
        spec_digest: The digest of the spec.
        episode: The episode, counted from 0.
        seed_commitment: The commitment to the episode's key, 32 bytes.
        seed_source: Where the episode's seed comes from, as in `MatchInfo.seed_source`.
        seed_opening: The values that open the seed commitment; None until they may be known.
        viewer: The seat that the views are for; None for public views.
        over: Whether the episode is over, so that the replay shows every decision.
        frames: Every position, from the deal on.
        fair: The commitments and secrets of a fair deal; None if the deal was not fair.
        release: The release series that wrote the replay; only this series can verify it: `0.2`.
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
        """Returns the canonical JSON of `boardwire.v1.Replay`, which `boardwire verify` reads."""
        return _core.to_json("Replay", self._raw)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the JSON of `to_json` to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    def to_html(self) -> str:
        """Returns an HTML page that shows every position; the page needs no network and no other file.

        The `boardwire` program of this package draws the page, as `boardwire replay FILE --html PAGE` does.
        Once the episode is over, the page can show it from every seat.

        Raises:
            StartError: The program was not found.
            ValueError: The program cannot draw the replay, for instance because the server's rules or
                components differ from the program's.
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
        """Returns the page of `to_html` in an `iframe`, for notebooks."""
        page = escape(self.to_html())
        return f'<div><iframe srcdoc="{page}" width="100%" height="720" title="replay"></iframe></div>'
