"""How the columns of a new parquet file are encoded, from a look at its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.model.meta import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
    REPEATED,
)

from hoodoo_formats.logical import stored_field

# One value, or a few, for the whole file: handed over as dictionaries, which spares hashing every
# row. Measured on 1.5 M rows: 0.01 s instead of 0.04 s a column.
_CONSTANT = (COMMIT_TIME, PARTITION_PATH, FILE_NAME)
# Distinct in every row, with long common prefixes: delta byte arrays are written as fast as plain
# ones, and took 3.2 MB where plain took 5.9.
DISTINCT = (COMMIT_SEQNO, RECORD_KEY)
# Where most rows are distinct, a dictionary would only be built to be thrown away. Some rows of a
# window say it: hashing all of them costs 95 nanoseconds for each value. 95 % distinct values in an
# eighth of the window mean 70 % in all of it.
_WINDOW, _SAMPLE = 16_384, 2_048
_MOSTLY = 0.95


def stored_schema(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> pa.Schema:
    """``schema`` as the file has it, with those columns as dictionaries that are better handed over
    so: the constant ones, and those that ``batches`` have as dictionaries already."""
    encoded = {f.name for batch in batches for f in batch.schema if f.type == REPEATED}
    encoded.update(_CONSTANT)
    fields = [stored_field(f) if pa.types.is_nested(f.type) else f for f in schema]
    return pa.schema([f.with_type(REPEATED) if f.name in encoded else f for f in fields])


def dictionary_leaves(
    schema: pa.Schema, batches: Sequence[pa.RecordBatch], without: Sequence[str]
) -> list[str]:
    """The parquet paths of the leaf columns to write with a dictionary: all below ``schema``, but
    not the columns ``without`` nor those of mostly distinct values in the first of ``batches``."""
    found: list[str] = []
    longest = max(batches, key=len, default=None)
    for field in schema:
        if field.name in without:
            continue
        if longest is None or not _mostly_distinct(longest.column(field.name)):
            _leaves(field.type, field.name, found)
    return found


def unified(table: pa.Table) -> pa.Table:
    """``table`` with one dictionary for each column, of the values that rows have: others would be
    put into the file, too: those of deleted rows."""
    table = table.unify_dictionaries()
    for at, column in enumerate(table.columns):
        if column.type == REPEATED and column.num_chunks:
            table = table.set_column(at, table.field(at), _of_used(column))
    return table


def _of_used(column: pa.ChunkedArray) -> pa.ChunkedArray:
    known = column.chunk(0).dictionary
    if len(known) <= 1 and column.null_count < len(column):
        return column
    used = np.zeros(len(known), bool)
    for chunk in column.chunks:
        used[chunk.indices.drop_null().to_numpy()] = True
    if used.all():
        return column
    codes = pa.array((np.cumsum(used) - 1).astype(np.int32))
    values = known.filter(pa.array(used))
    made = [
        pa.DictionaryArray.from_arrays(codes.take(chunk.indices), values) for chunk in column.chunks
    ]
    return pa.chunked_array(made, REPEATED)


def _mostly_distinct(column: pa.Array) -> bool:
    if len(column) < _SAMPLE or pa.types.is_nested(column.type):
        return False
    if pa.types.is_dictionary(column.type) or pa.types.is_boolean(column.type):
        return False
    size = min(len(column), _WINDOW)
    sample = column.slice((len(column) - size) // 2, size).take(_places(size))
    return bool(pc.count_distinct(sample).as_py() > _MOSTLY * _SAMPLE)


@lru_cache
def _places(size: int) -> pa.Array:
    """Some rows of ``size``: any, so that values that come again at some distance are found; always
    the same."""
    return pa.array(np.sort(np.random.default_rng(0).permutation(size)[:_SAMPLE]))


def _leaves(kind: pa.DataType, path: str, found: list[str]) -> None:
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            _leaves(kind.field(i).type, f"{path}.{kind.field(i).name}", found)
    elif pa.types.is_list(kind):
        _leaves(kind.value_type, f"{path}.list.element", found)
    elif pa.types.is_map(kind):
        _leaves(kind.key_type, f"{path}.key_value.key", found)
        _leaves(kind.item_type, f"{path}.key_value.value", found)
    elif not pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind):  # bytes of vectors
        found.append(path)
