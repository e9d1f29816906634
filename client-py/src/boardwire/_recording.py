"""Recordings: the steps of all seats as Parquet files, with the column names of RLDS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._client import Client
from ._spec import GameSpec
from ._types import unpacked_mask

if TYPE_CHECKING:
    from minari import MinariDataset

    from .envs import ObservationKind

#: The version of the layout of a recording's facts and columns; increases when readers must change.
FORMAT = 1
#: The names of the files of a recording.
FILES = "episodes-*.parquet"
# The key of the facts in a file's metadata.
_KEY = b"boardwire"
# The columns that are null in the last step of a seat.
_NULLABLE = ("action", "reward", "discount")


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps of seats, one row each, in the order of episode, seat and ply.

    A seat's steps in an episode are its decisions and, as in RLDS, a last row with its final observation and
    `is_last`. That row has no action or reward: `action`, `reward` and `discount` are 0, `mask` is all False.

    Attributes:
        episode: `int64[n]`, the number of the episode.
        seat: `uint8[n]`, the seat.
        player: `str[n]`, the player of the seat: the name of a bot or a policy.
        ply: `uint32[n]`, the number of actions of all seats before the step.
        seed: `uint64[n]`, the seed of the episode. It reveals every hidden card.
        observation: `uint8[n, bytes]`, the view of the seat, laid out as `GameSpec.fields` says.
        mask: `bool[n, actions]`, True for the legal actions.
        action: `uint8[n]`, the action that the seat chose.
        reward: `float32[n]`, the reward of the seat from this step to its next decision or the end.
        discount: `float32[n]`, 1, but 0 if the rules end the episode before the seat's next decision.
        is_first: `bool[n]`, whether the step is the first of the seat in the episode.
        is_last: `bool[n]`, whether the row holds the seat's final observation.
        is_terminal: `bool[n]`, `is_last` where the rules ended the episode and it was not truncated.
    """

    episode: NDArray[np.int64]
    seat: NDArray[np.uint8]
    player: NDArray[np.str_]
    ply: NDArray[np.uint32]
    seed: NDArray[np.uint64]
    observation: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    action: NDArray[np.uint8]
    reward: NDArray[np.float32]
    discount: NDArray[np.float32]
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]
    is_terminal: NDArray[np.bool_]

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.episode)

    def rows(self, chosen: Any) -> Steps:
        """Returns the rows selected by a numpy index: a slice, indices or a mask."""
        return Steps(**{name: getattr(self, name)[chosen] for name in _COLUMNS})

    @property
    def decisions(self) -> Steps:
        """The rows with an action."""
        return self.rows(~self.is_last)

    def runs(self) -> Iterator[Steps]:
        """Yields the steps of one seat in one episode at a time."""
        differ = (self.episode[1:] != self.episode[:-1]) | (self.seat[1:] != self.seat[:-1])
        bounds = [0, *(np.flatnonzero(differ) + 1).tolist(), len(self)]
        for first, end in pairwise(bounds if len(self) else []):
            yield self.rows(slice(first, end))


_COLUMNS = [each.name for each in fields(Steps)]


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """The description of a recording, which the metadata of each file contains.

    Attributes:
        game: The game's id.
        seats: The number of seats.
        options: The value of every option.
        rules_version: The version of the game's rules.
        spec_digest: The digest of the table's spec: `GameSpec.digest`.
        view_bytes: The size of an observation in bytes.
        fields: The fields of an observation, each with `name`, `offset`, `shape`, `max`, `kind` and `table`.
        actions: The label of each action.
        reward: The kind of reward that seats got.
        line_ups: The players by seat: episode i has line-up i modulo the number of line-ups.
        policies: The players that are not bots of the server.
        seed: The seed that determines the seeds of all episodes.
        source: `boardwire.record` or `boardwire arena`. Each derives episode seeds differently.
        format: The version of the layout.
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
    """A reader of a folder of recorded episodes. Needs `boardwire[data]`.

    `record` or `record_arena` has written its files, each with whole episodes. docs/data.md describes them.

    Attributes:
        folder: The folder.
        files: The files `episodes-*.parquet`, in the order of their names, in which they are read.
        facts: The description of the recording.
    """

    def __init__(self, folder: str | Path) -> None:
        """Reads the metadata of the files.

        Raises:
            FileNotFoundError: The folder has no such files.
            ValueError: A file belongs to another recording, or has an unknown format or other columns.
        """
        self.folder = Path(folder)
        self.files = tuple(sorted(self.folder.glob(FILES)))
        if not self.files:
            raise FileNotFoundError(f"{self.folder} has no {FILES}")
        self.facts = _facts(self.files[0])
        for file in self.files[1:]:
            if _facts(file) != self.facts:
                raise ValueError(f"{file} and {self.files[0].name} are parts of different recordings")

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        import pyarrow.parquet as pq

        columns = (pq.read_table(file, columns=["episode"])["episode"] for file in self.files)
        return sum(len(column.unique()) for column in columns)

    def spec(self, client: Client) -> GameSpec:
        """Fetches the spec of the table from a server.

        Raises:
            ValueError: The server's rules or layouts differ from the recorded ones.
        """
        facts = self.facts
        spec = client.game(facts.game, seats=facts.seats, options=facts.options)
        if spec.digest != facts.spec_digest:
            raise ValueError(
                f"the server must have rules version {facts.rules_version} of {facts.game}, digest "
                f"{facts.spec_digest[:12]}, as recorded; it has {spec.rules_version}, {spec.digest[:12]}"
            )
        return spec

    def read(self, *, seat: int | None = None, player: str | None = None) -> Steps:
        """Reads all steps in one call.

        Args:
            seat: Reads only the steps of this seat.
            player: Reads only the steps of this player.
        """
        parts = list(self.parts(seat=seat, player=player))
        return Steps(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS})

    def parts(self, *, seat: int | None = None, player: str | None = None) -> Iterator[Steps]:
        """Yields the steps of one file at a time, for recordings that are too large to read in one call."""
        import pyarrow.parquet as pq

        wanted = {"seat": seat, "player": player}
        filters = [(name, "==", value) for name, value in wanted.items() if value is not None]
        for file in self.files:
            table = pq.read_table(file, filters=filters or None)
            columns: dict[str, Any] = {}
            for name in _COLUMNS:
                array = table[name].combine_chunks()
                if name in ("observation", "mask"):
                    width, first = array.type.byte_width, array.offset
                    data = np.frombuffer(array.buffers()[1], np.uint8)
                    columns[name] = data[first * width : (first + len(array)) * width].reshape(-1, width)
                elif name == "player":
                    columns[name] = np.array(array.to_pylist(), np.str_)
                else:
                    filled = array.fill_null(0) if name in _NULLABLE else array
                    columns[name] = filled.to_numpy(zero_copy_only=False)
            columns["mask"] = unpacked_mask(columns["mask"], len(self.facts.actions))
            yield Steps(**columns)

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
        """Creates a Minari dataset for each seat: `NAME-seatS-v0`, such as `faraway/greedy-seat0-v0`.

        docs/data.md describes the datasets. Minari stores them in the folder `MINARI_DATASETS_PATH`, or else
        in the home directory.

        Args:
            name: The name without seat and version; the part before a `/` is Minari's namespace.
            observation: `features` for one `float32` vector, `ids` for the fields of the view by name.
            player: Includes only the episodes of each seat that this player played.
            progress: Is called with 1 for every written episode of a seat.
            client: A client of a running server; by default of the private server of this process.
            about: Further metadata for Minari, such as `author` and `description`.

        Raises:
            ValueError: The dataset already exists, or the server has other rules.
        """
        from . import _minari

        return _minari.datasets(self, name, observation, player, progress, client, about)

    def __repr__(self) -> str:
        """Returns a text with the folder and the game."""
        return f"<Recording of {self.facts.game} in {self.folder}>"


def write(file: Path, facts: RecordingFacts, steps: Steps) -> None:
    """Writes a file, which appears under its name only when it is complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(facts)
    arrays = []
    for name in _COLUMNS:
        values = getattr(steps, name)
        if name == "mask":
            values = np.packbits(values.view(np.uint8), axis=1, bitorder="little")
        if values.ndim == 2:
            data = pa.py_buffer(np.ascontiguousarray(values))
            arrays.append(pa.Array.from_buffers(schema.field(name).type, len(values), [None, data]))
        else:
            arrays.append(pa.array(values, mask=steps.is_last if name in _NULLABLE else None))
    table = pa.Table.from_arrays(arrays, schema=schema.with_metadata({_KEY: json.dumps(asdict(facts))}))
    incomplete = file.with_suffix(".new")
    pq.write_table(table, incomplete, compression="zstd")
    incomplete.replace(file)


def _schema(facts: RecordingFacts) -> Any:
    """Returns the names and types of the columns, a `pyarrow.Schema`; docs/data.md describes them."""
    import pyarrow as pa

    types = {
        "episode": pa.int64(),
        "seat": pa.uint8(),
        "player": pa.string(),
        "ply": pa.uint32(),
        "seed": pa.uint64(),
        "observation": pa.binary(facts.view_bytes),
        "mask": pa.binary((len(facts.actions) + 7) // 8),
        "action": pa.uint8(),
        "reward": pa.float32(),
        "discount": pa.float32(),
        "is_first": pa.bool_(),
        "is_last": pa.bool_(),
        "is_terminal": pa.bool_(),
    }
    return pa.schema([pa.field(name, type_, nullable=name in _NULLABLE) for name, type_ in types.items()])


def _facts(file: Path) -> RecordingFacts:
    """Returns the facts in a file's metadata, after it checks the format and the columns."""
    import pyarrow.parquet as pq

    found = pq.read_schema(file)
    text = (found.metadata or {}).get(_KEY)
    if text is None:
        raise ValueError(f"{file} is not part of a recording: its metadata has no {_KEY.decode()!r}")
    content = json.loads(text)
    if content.get("format") != FORMAT:
        raise ValueError(f"{file} has format {content.get('format')}: this version reads {FORMAT}")
    facts = RecordingFacts(**content)
    schema = _schema(facts)
    types, expected = (dict(zip(each.names, each.types, strict=True)) for each in (found, schema))
    differing = [
        f"{name} must be {expected.get(name, 'absent')}; got {types.get(name, 'none')}"
        for name in {**expected, **types}
        if types.get(name) != expected.get(name)
    ]
    if differing:
        raise ValueError(f"the columns of {file} are not those of a recording: {', '.join(differing)}")
    return facts
