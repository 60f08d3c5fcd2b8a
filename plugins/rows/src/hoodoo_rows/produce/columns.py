"""The columns that travel beside a row on its way into the table (RFC-84's metadata fields).

A keyed row is: `_hoodie__op`, `_hoodie__seq`, record key, partition path, then the table's own
columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import pyarrow as pa
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.model.internal_row import OP

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
TRAVELLING = frozenset({OP, SEQ, RECORD_KEY, PARTITION_PATH, FILE_ID, BUCKET, PART, SLOT})


def keyed(schema: pa.Schema) -> pa.Schema:
    """``schema`` with the travelling columns in front."""
    return pa.schema([*_KEYED, *schema])


def tagged(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the file id that holds the key (null: none does)."""
    return schema.append(pa.field(FILE_ID, pa.string()))


def bucketed(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the bucket of the key; rows of an earlier attempt may have one."""
    there = BUCKET in schema.names
    return schema if there else schema.append(pa.field(BUCKET, pa.int32()))


def routed(schema: pa.Schema) -> pa.Schema:
    """A keyed schema plus the columns an exchange routes by."""
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
    """The columns ``names`` of ``rows``, in this order; columns of ``more`` replace them. Not
    column by column: there may be thousands."""
    found = rows.select([name for name in names if name not in more])
    for at in sorted(names.index(name) for name in more if name in names):
        found = found.add_column(at, names[at], more[names[at]])
    return found
