"""Values of partition ``record_index`` -> columns, all rows at a time, with NumPy.

Which fields a value has is taken from the schema that it was written with: versions differ.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import CorruptTableError

from hoodoo_metadata.table.avro_columns import ROWS, avro, columns_of
from hoodoo_metadata.table.schema import FIX, KEY_LOCATION, decode_row, fields_of

_LOCATION = "recordIndexMetadata"
_WANTED = {
    "partitionName": pa.string(),
    "fileIdHighBits": pa.int64(),
    "fileIdLowBits": pa.int64(),
    "fileIndex": pa.int32(),
    "fileId": pa.string(),
    "instantTime": pa.int64(),
    "fileIdEncoding": pa.int32(),
}
# Stored for a file id that is a UUID alone: Hudi's RECORD_INDEX_MISSING_FILEINDEX_FALLBACK.
NO_INDEX = -1
# The values of fileIdEncoding.
AS_UUID, AS_TEXT = 0, 1
_DASHES = np.array([8, 13, 18, 23])
_DIGITS = np.delete(np.arange(36), _DASHES)  # not setdiff1d, which imports numpy.ma: 15 ms
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


@frozen
class _Step:
    """A field on the way through a value. ``branch``: it is a union of which this branch must be
    taken; what the branch holds are the next steps."""

    name: str
    field: Any
    branch: int | None = None


def read_places(values: pa.Array, schema_text: str | None) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Partition paths (null where none is stored), file ids and instants in milliseconds of
    ``values``, a binary array without nulls. Raises CorruptTableError."""
    steps = _steps(schema_text)
    parts = []
    for first in range(0, len(values), ROWS):
        part = values.slice(first, ROWS)
        columns = None if steps is None else _columns(part, steps)
        if columns is None:
            # No version that we know writes such rows: slowly then, but rightly.
            columns = _columns_by_row(part, schema_text)
        parts.append(columns)
    found = pa.Table.from_batches(parts, pa.schema(_WANTED)).combine_chunks()
    columns = {name: found[name].combine_chunks() for name in _WANTED}
    return columns["partitionName"], _file_ids(columns), columns["instantTime"]


@functools.lru_cache(16)
def _steps(schema_text: str | None) -> tuple[_Step, ...] | None:
    """How to walk through a value; None where a nested field can't be null."""
    steps: list[_Step] = []
    reader = avro()
    if reader is None:
        return None
    for field in fields_of(schema_text):
        flat = reader.fields({"fields": [field]})
        if flat is not None:
            steps.append(_Step(field["name"], flat[0]))
            continue
        union = field["type"]
        if not isinstance(union, list) or "null" not in union:
            return None
        # A branch is stored as an int.
        (mark,) = reader.fields({"fields": [{"name": field["name"], "type": "int"}]}) or (None,)
        if field["name"] != _LOCATION:
            steps.append(_Step(field["name"], mark, union.index("null")))
            continue
        branch = next(i for i, member in enumerate(union) if member != "null")
        within = reader.fields(union[branch])
        if within is None:
            return None
        steps.append(_Step(field["name"], mark, branch))
        names = [inner["name"] for inner in union[branch]["fields"]]
        steps += map(_Step, names, within)
    named = [step.name for step in steps]
    return tuple(steps) if _LOCATION in named and named.count("key") == 1 else None


def _columns(values: pa.Array, steps: tuple[_Step, ...]) -> pa.RecordBatch | None:
    """None where a value has another shape than ``steps``."""
    reader = avro()
    if reader is None:
        return None
    columns: dict[str, pa.Array] = {}
    try:
        rows = columns_of(values, reader)
        for step in steps:
            name = step.name
            if step.branch is not None:
                taken = rows.column(step.field, pa.int32())
                if not pc.all(pc.equal(taken, step.branch)).as_py():
                    return None
            elif name == "type":
                kinds = rows.column(step.field, pa.int32())
                if not pc.all(pc.equal(kinds, KEY_LOCATION)).as_py():
                    raise _corrupt(f"holds a row of type {pc.min_max(kinds)}, not {KEY_LOCATION}")
            else:
                column = rows.column(step.field, _WANTED.get(name))
                if name in _WANTED:
                    columns[name] = column
        rows.finish()
    except (ValueError, IndexError) as error:
        raise _corrupt(f"a value is not of its schema: {error}") from error
    if columns.keys() != _WANTED.keys():
        return None
    return pa.RecordBatch.from_pydict(columns, schema=pa.schema(_WANTED))


def _columns_by_row(values: pa.Array, schema_text: str | None) -> pa.RecordBatch:
    places: list[dict[str, Any]] = []
    for value in values.to_pylist():
        row = decode_row(value, schema_text)
        place = row.get(_LOCATION)
        if not place:
            raise _corrupt(f"holds a row of type {row.get('type')} that has no location")
        places.append({"fileIdEncoding": AS_UUID, **place})
    return pa.RecordBatch.from_pylist(places, schema=pa.schema(_WANTED))


def _file_ids(columns: dict[str, pa.Array]) -> pa.Array:
    """The file ids, as Hudi's ``getLocationFromRecordIndexInfo`` puts them together."""
    texts = pc.equal(columns["fileIdEncoding"], AS_TEXT)
    if pc.all(texts).as_py():
        return columns["fileId"]
    ids = _uuids(columns["fileIdHighBits"], columns["fileIdLowBits"])
    index = columns["fileIndex"]
    numbered = pc.binary_join_element_wise(ids, index.cast(pa.string()), "-")
    ids = pc.if_else(pc.equal(index, NO_INDEX), ids, numbered)
    return pc.if_else(texts, columns["fileId"], ids) if pc.any(texts).as_py() else ids


def _uuids(high: pa.Array, low: pa.Array) -> pa.Array:
    """The texts of UUIDs whose halves are ``high`` and ``low``; null where one is null."""
    count = len(high)
    halves = np.empty((count, 2), ">u8")
    for place, half in enumerate((high, low)):
        filled = half.fill_null(0).to_numpy(zero_copy_only=False)
        halves[:, place] = filled.view(np.uint64)
    octets = halves.view(np.uint8).reshape(count, 16)
    texts: npt.NDArray[np.uint8] = np.full((count, 36), ord("-"), np.uint8)
    texts[:, _DIGITS[0::2]] = _HEX[octets >> 4]
    texts[:, _DIGITS[1::2]] = _HEX[octets & 15]
    ends = np.arange(0, 36 * (count + 1), 36, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(texts)]
    made = pa.Array.from_buffers(pa.string(), count, buffers)
    if high.null_count or low.null_count:
        return pc.if_else(pc.and_(high.is_valid(), low.is_valid()), made, None)
    return made


def _corrupt(rule: str) -> CorruptTableError:
    return CorruptTableError(
        "metadata table, partition record_index",
        rule,
        FIX,
    )
