"""The five meta columns that Hudi puts in front of every row."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyarrow as pa

COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"
META_COLUMNS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)
IS_DELETED = "_hoodie_is_deleted"
# What a changelog's row is: I, -U, U or D. Blocks of Flink's have it also where the schema of the
# commit does not.
OPERATION = "_hoodie_operation"

T = TypeVar("T", pa.RecordBatch, pa.Table)

META_FIELDS = tuple(pa.field(name, pa.string()) for name in META_COLUMNS)

# How the meta columns that have one value in a file, or a few, travel to its writer.
REPEATED = pa.dictionary(pa.int32(), pa.string())


_ZEROS = pa.Array.from_buffers(pa.int32(), 1024, [None, pa.py_buffer(bytes(4096))])


def repeated(value: str, rows: int) -> pa.Array:
    """``value`` in each of ``rows`` rows, as :data:`REPEATED`."""
    indices = _ZEROS[:rows] if rows <= len(_ZEROS) else pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()), safe=False)


def encoded_as(schema: pa.Schema, found: pa.Schema) -> pa.Schema:
    """``schema``, with those columns of text as :data:`REPEATED` that ``found`` has so."""
    encoded = {f.name for f in found if f.type == REPEATED}
    if not encoded:
        return schema.remove_metadata()
    return pa.schema(
        [
            f.with_type(REPEATED) if f.name in encoded and f.type == pa.string() else f
            for f in schema
        ]
    )


def with_meta(schema: pa.Schema) -> pa.Schema:
    """The stored schema: meta columns first, then the table's own."""
    return pa.schema([*META_FIELDS, *(f for f in schema if f.name not in META_COLUMNS)])


def emptied(rows: T, filled: frozenset[str]) -> T:
    """``rows`` with null in the meta columns that are not ``filled``."""
    for at, name in enumerate(rows.schema.names):
        if name in META_COLUMNS and name not in filled:
            rows = rows.set_column(at, name, pa.nulls(rows.num_rows, pa.string()))
    return rows


def without_meta(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` without the five meta columns. Other columns keep their order."""
    return pa.schema([f for f in schema if f.name not in META_COLUMNS])
