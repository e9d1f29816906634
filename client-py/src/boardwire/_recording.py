"""Recordings: decisions of all seats as Parquet files, by the names of RLDS."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._client import Client
from ._spec import GameSpec

if TYPE_CHECKING:
    from minari import MinariDataset

    from .envs import ObservationKind

#: How what a recording says of itself and its columns is laid out; moves when readers must know.
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of seats: a row each, in the order of episode, seat and ply.

    A seat's steps of an episode are its decisions and one more: what it saw at the end, with `is_last`, as
    RLDS has it. In that row nothing was chosen or earned: `action`, `reward`, `discount` and `mask` are 0.

    Attributes:
        episode: `int64[n]`, the number of the episode.
        seat: `uint8[n]`, the seat.
        player: `str[n]`, who had the seat: a bot's name, or a policy's.
        ply: `uint32[n]`, how many actions of all seats had been applied.
        seed: `uint64[n]`, the seed of the episode. Whoever has it can compute every hidden card.
        observation: `uint8[n, bytes]`, what the seat might know, laid out as `GameSpec.fields` says.
        mask: `int8[n, actions]`, 0 or 1, what it might choose.
        action: `uint8[n]`, what it has chosen.
        reward: `float32[n]`, what it has earned from there to its next decision or the end.
        discount: `float32[n]`, 0 where the episode has ended by the rules before its next decision, else 1.
        is_first: `bool[n]`, whether it is the first step of the seat in the episode.
        is_last: `bool[n]`, whether it is what the seat saw at the end.
        is_terminal: `bool[n]`, the same where the episode has ended by the rules, and was not cut.
    """

    episode: NDArray[np.int64]
    seat: NDArray[np.uint8]
    player: NDArray[np.str_]
    ply: NDArray[np.uint32]
    seed: NDArray[np.uint64]
    observation: NDArray[np.uint8]
    mask: NDArray[np.int8]
    action: NDArray[np.uint8]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]
    is_terminal: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.episode)

    def rows(self, chosen: Any) -> Steps:
        """Some of the rows, chosen as numpy chooses: by a slice, by indices or by a mask."""
        return replace(self, **{each.name: getattr(self, each.name)[chosen] for each in fields(self)})

    @property
    def decisions(self) -> Steps:
        """The rows in which something was chosen."""
        return self.rows(~self.is_last)

    def runs(self) -> Iterator[Steps]:
        """The steps of one seat in one episode after another."""
        differ = (self.episode[1:] != self.episode[:-1]) | (self.seat[1:] != self.seat[:-1])
        bounds = [0, *(np.flatnonzero(differ) + 1).tolist(), len(self)]
        for first, end in itertools.pairwise(bounds if len(self) else []):
            yield self.rows(slice(first, end))


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What a recording says of itself, in the metadata of each of its files.

    Attributes:
        game: The game's id.
        seats: How many seats.
        options: Every option with its value.
        rules_version: The version of the game's rules.
        spec_digest: The digest of the table's description: `GameSpec.digest`.
        view_bytes: Bytes of an observation.
        fields: The fields of an observation, each with `name`, `offset`, `shape`, `max`, `kind` and `table`.
        actions: The label of each action.
        reward: What seats were rewarded for.
        line_ups: Who played where: episode i has line-up i % line_ups.
        policies: Those of the players who are no bots of the server.
        seed: The seed from which the seeds of all episodes follow.
        source: Who has played: `boardwire.record` or `boardwire arena`. Each draws seeds its own way.
        format: How all this is laid out.
    """

    game: str
    seats: int
    options: Mapping[str, str]
    rules_version: int
    spec_digest: str
    view_bytes: int
    fields: Sequence[Mapping[str, Any]]
    actions: Sequence[str]
    reward: str
    line_ups: Sequence[Sequence[str]]
    policies: Sequence[str]
    seed: int
    source: str = "boardwire.record"
    format: int = FORMAT


class Recording:
    """A folder of recorded episodes, read back. Needs `boardwire[data]`.

    The files are `episodes-*.parquet`, each with whole episodes, in the order of their names. They were
    written by `record` or `record_arena`; docs/data.md says what is in them.

    Attributes:
        folder: The folder.
        files: Its files.
        facts: What the recording says of itself.
    """

    def __init__(self, folder: str | Path) -> None:
        """Looks at the files.

        Raises:
            FileNotFoundError: There are none.
            ValueError: A file is of another recording, or of a format that is not known here.
        """
        from . import _parquet

        self.folder = Path(folder)
        self.files = tuple(sorted(self.folder.glob("episodes-*.parquet")))
        if not self.files:
            raise FileNotFoundError(f"{self.folder} has no episodes-*.parquet")
        self.facts = _parquet.facts(self.files[0])
        for file in self.files[1:]:
            if _parquet.facts(file) != self.facts:
                raise ValueError(f"{file} is of another recording than {self.files[0].name}")

    @property
    def episodes(self) -> int:
        """How many episodes there are."""
        from . import _parquet

        return sum(_parquet.episodes(file) for file in self.files)

    def spec(self, client: Client) -> GameSpec:
        """The description of the table, from a server.

        Raises:
            ValueError: The server's rules or layouts are others than those that were recorded.
        """
        facts = self.facts
        spec = client.game(facts.game, seats=facts.seats, options=facts.options)
        if spec.digest != facts.spec_digest:
            raise ValueError(
                f"recorded was {facts.game} by rules version {facts.rules_version}, digest "
                f"{facts.spec_digest[:12]}; the server has {spec.game.rules_version}, {spec.digest[:12]}"
            )
        return spec

    def read(self, *, seat: int | None = None, player: str | None = None) -> Steps:
        """All steps at once.

        Args:
            seat: Only those of this seat.
            player: Only those of this player.
        """
        parts = list(self.parts(seat=seat, player=player))
        columns = {
            each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Steps)
        }
        return Steps(**columns)

    def parts(self, *, seat: int | None = None, player: str | None = None) -> Iterator[Steps]:
        """The steps of one file after another, for recordings that are too large to be read at once."""
        from . import _parquet

        for file in self.files:
            yield _parquet.read(file, self.facts, seat, player)

    def to_minari(
        self,
        name: str,
        *,
        observation: ObservationKind = "features",
        player: str | None = None,
        progress: Callable[[int], object] | None = None,
        client: Client | None = None,
        **about: Any,
    ) -> tuple[MinariDataset, ...]:
        """Makes a Minari dataset of each seat: `NAME-seatS-v0`, such as `faraway/greedy-seat0-v0`.

        Minari keeps datasets below the folder that `MINARI_DATASETS_PATH` names, or else in the home. An
        observation is a `Dict` of `observation` and `action_mask`, as environments show it with
        `mask="observation"`. Where a seat has always met the same bots, `recover_environment(eval_env=True)`
        gives such an environment. An episode's seed deals it again in a match or a batch; the `reset` of that
        environment draws others from the seed it is given.

        Args:
            name: The name without seat and version; what stands before a `/` is Minari's namespace.
            observation: `features` for one `float32` vector, `ids` for the view by named field.
            player: Only those episodes of each seat in which this player had it.
            progress: Is called with 1 for every episode of a seat that is written.
            client: A client of a running server, for the description of the table; a private one is started
                when left out.
            about: What else Minari is told: `author`, `author_email`, `code_permalink`, `description`, ...

        Raises:
            ValueError: There is such a dataset, or the server has other rules.
        """
        from . import _minari

        return _minari.datasets(self, name, observation, player, progress, client, about)

    def __repr__(self) -> str:
        """Names folder and game."""
        return f"<Recording of {self.facts.game} in {self.folder}>"
