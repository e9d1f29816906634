"""Reads and writes steps as Parquet files. Only this module needs pyarrow; docs/data.md has the schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ._recording import FORMAT, RecordingFacts, Steps
from ._types import unpacked_mask

# The key of the facts in a file's metadata.
_KEY = b"boardwire"
# The columns that are null in the last step of a seat.
_OF_DECISIONS = ("action", "reward", "discount")


def schema(facts: RecordingFacts) -> pa.Schema:
    """Returns the schema of a file, with the facts as JSON in its metadata."""
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
    columns = [pa.field(name, kind, nullable=name in _OF_DECISIONS) for name, kind in types.items()]
    return pa.schema(columns, {_KEY: json.dumps(asdict(facts))})


def write(file: Path, facts: RecordingFacts, steps: Steps) -> None:
    """Writes a file, which appears under its name only when it is complete."""
    columns = schema(facts)
    held: dict[str, Any] = {name: getattr(steps, name) for name in columns.names}
    held["mask"] = np.packbits(steps.mask.view(np.uint8), axis=1, bitorder="little")
    arrays = [_array(column, held[column.name], steps.is_last) for column in columns]
    aside = file.with_suffix(".new")
    pq.write_table(pa.Table.from_arrays(arrays, schema=columns), aside, compression="zstd")
    aside.replace(file)


def _array(column: pa.Field, values: NDArray[Any], is_last: NDArray[np.bool_]) -> pa.Array:
    if pa.types.is_fixed_size_binary(column.type):
        data = pa.py_buffer(np.ascontiguousarray(values))
        return pa.Array.from_buffers(column.type, len(values), [None, data])
    return pa.array(values, column.type, mask=is_last if column.nullable else None)


def facts(file: Path) -> RecordingFacts:
    """Returns the facts in a file's metadata.

    Raises:
        ValueError: The file is not part of a recording, or has an unknown format or other columns.
    """
    found = pq.read_schema(file)
    told = (found.metadata or {}).get(_KEY)
    if told is None:
        raise ValueError(f"{file} is not of a recording: its metadata has no {_KEY.decode()!r}")
    held = json.loads(told)
    if held.get("format") != FORMAT:
        raise ValueError(f"{file} has format {held.get('format')}: this version reads {FORMAT}")
    facts = RecordingFacts(**held)
    if found.names != schema(facts).names:
        raise ValueError(f"{file} has the columns {found.names}: a recording has {schema(facts).names}")
    return facts


def episodes(file: Path) -> int:
    """Returns the number of episodes in a file."""
    return len(pq.read_table(file, columns=["episode"])["episode"].unique())


def read(file: Path, facts: RecordingFacts, seat: int | None, player: str | None) -> Steps:
    """Returns the steps of a file, optionally only those of a seat or a player."""
    wanted = [
        (name, "==", value) for name, value in (("seat", seat), ("player", player)) if value is not None
    ]
    table = pq.read_table(file, schema=schema(facts), filters=wanted or None)
    columns: dict[str, Any] = {}
    for name in table.column_names:
        array = table[name].combine_chunks()
        if pa.types.is_fixed_size_binary(array.type):
            columns[name] = _bytes(array)
        elif pa.types.is_string(array.type):
            columns[name] = np.array(array.to_pylist(), np.str_)
        else:
            filled = array.fill_null(0) if name in _OF_DECISIONS else array
            columns[name] = filled.to_numpy(zero_copy_only=False)
    columns["mask"] = unpacked_mask(columns["mask"], len(facts.actions))
    return Steps(**columns)


def _bytes(array: pa.Array) -> NDArray[np.uint8]:
    width = array.type.byte_width
    held = np.frombuffer(array.buffers()[1], np.uint8)
    return held[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)
