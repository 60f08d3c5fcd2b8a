"""Columns that users do not write: the columns that travel with a row into the table (the metadata
fields of RFC-84), and the meta columns of stored rows.

A keyed row is: `_hoodie__op`, `_hoodie__seq`, record key, partition path, then the table's own
columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo.hookspecs.file_format import BaseFileReader
from hoodoo.model.meta import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
    encoded_as,
    repeated,
)

from hoodoo_rows.model.conform import conform
from hoodoo_rows.model.internal_row import OP
from hoodoo_rows.write.promote import promoted

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)
SEQ = "_hoodie__seq"
FILE_ID = "_hoodie__file_id"
BUCKET = "_hoodie__bucket"

_KEYED = (
    pa.field(OP, pa.int8()),
    pa.field(SEQ, pa.int64()),
    pa.field(RECORD_KEY, pa.string()),
    pa.field(PARTITION_PATH, pa.string()),
)


def keyed(schema: pa.Schema) -> pa.Schema:
    """``schema`` with the travelling columns in front."""
    return pa.schema([*_KEYED, *schema])


def tagged(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the id of the file group that has the key (null for a new key)."""
    return schema.append(pa.field(FILE_ID, pa.string()))


def bucketed(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the bucket of the key, which rows of an earlier attempt may have."""
    there = BUCKET in schema.names
    return schema if there else schema.append(pa.field(BUCKET, pa.int32()))


def routed(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the columns by which an exchange routes rows."""
    for name in (FILE_ID, BUCKET):
        if (at := schema.get_field_index(name)) >= 0:
            schema = schema.remove(at)
    return schema.append(pa.field(PART, pa.int32())).append(pa.field(SLOT, pa.int32()))


def append_columns(batch: pa.RecordBatch, schema: pa.Schema, **more: pa.Array) -> pa.RecordBatch:
    """``batch`` and ``more`` arranged as ``schema`` (columns not in the schema are dropped)."""
    made = arranged(batch, schema.names, more)
    if made.schema.equals(schema, check_metadata=True):
        return made
    return pa.record_batch(made.columns, schema=schema)


def arranged(rows: Rows, names: list[str], more: Mapping[str, pa.Array]) -> Rows:
    """The columns ``names`` of ``rows``, in this order; columns of ``more`` replace them. Selects
    all columns at once, as there may be thousands."""
    found = rows.select([name for name in names if name not in more])
    for at in sorted(names.index(name) for name in more if name in names):
        found = found.add_column(at, names[at], more[names[at]])
    return found


# --- stored rows ----------------------------------------------------------------------------------
@cache
def _first() -> pa.Array:
    """The numbers 0 to 1023 as texts: a write to many files puts few rows into most of them."""
    return pa.array(np.arange(1024)).cast(pa.string())


def stored_rows(
    rows: pa.Table, schema: pa.Schema, instant: str, file_name: str, place: int | str, start: int
) -> pa.Table:
    """``rows`` (keyed) in the stored ``schema``, as rows of ``instant``. Meta columns with a single
    value are dictionaries.

    ``place`` and ``start`` make the sequence number ``<instant>_<place>_<n>``.
    """
    count = rows.num_rows
    numbers = _first()[start : start + count]
    if len(numbers) < count:
        numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    made = {
        COMMIT_TIME: repeated(instant, count),
        COMMIT_SEQNO: pc.binary_join_element_wise(f"{instant}_{place}", numbers, "_"),
        FILE_NAME: repeated(file_name, count),
    }
    return arranged(rows, schema.names, made)


def read_stored(base: BaseFileReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a base file that is rewritten, in the stored ``schema`` without
    ``_hoodie_file_name``. Text columns may stay dictionaries."""
    kept = pa.schema([f for f in schema if f.name != FILE_NAME])
    known = frozenset(kept.names)
    names = [n for n in base.schema.names if n in known]
    for batch in base.batches(names, encoded=True):
        if not batch.schema.equals(kept):
            batch = promoted(batch, kept)
        yield conform(batch, encoded_as(kept, batch.schema))


def renamed(batch: pa.RecordBatch, file_name: str) -> pa.RecordBatch:
    """Rows of :func:`read_stored` with the name of their new file. Commit time and sequence number
    stay."""
    return batch.append_column(FILE_NAME, repeated(file_name, batch.num_rows))


def completed(rows: pa.Table, schema: pa.Schema, lacking: Sequence[str]) -> pa.Table:
    """``rows`` and the columns ``lacking`` of ``schema``, which are null."""
    if not lacking:
        return rows
    more = [schema.field(name) for name in lacking]
    columns = [*rows.columns, *(pa.nulls(rows.num_rows, field.type) for field in more)]
    return pa.Table.from_arrays(columns, schema=pa.schema([*rows.schema, *more]))
