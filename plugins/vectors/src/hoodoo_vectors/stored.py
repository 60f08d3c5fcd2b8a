"""Columns of vectors as NumPy arrays, without a copy."""

from __future__ import annotations

import difflib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError
from numpy.typing import NDArray

KEY, PATH = "_hoodie_record_key", "_hoodie_partition_path"
# int8 is stored as Hudi's int.
_NUMBERS = (pa.float32(), pa.float64(), pa.int8(), pa.int16(), pa.int32())


def numbers_of(schema: pa.Schema, column: str) -> pa.DataType:
    """The type of the numbers in the vectors of ``column``. SchemaError if it is no such column."""
    obj = f"column {column}"
    if column not in schema.names:
        near = difflib.get_close_matches(column, schema.names, 3) or schema.names[:5]
        raise SchemaError(obj, "is not there.", f"Search in one of {', '.join(near)}.")
    kind, t = schema.field(column).type, pa.types
    is_list = t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
    if not is_list or kind.value_type not in _NUMBERS:
        raise SchemaError(
            obj,
            f"has no vectors: its type is {kind}.",
            "Search in a column with lists of float, double or int8.",
        )
    return kind.value_type


def matrix(
    batch: pa.RecordBatch, column: str, dimension: int
) -> tuple[NDArray[np.int64], NDArray[np.number]]:
    """Positions of the rows of ``batch`` that have a vector, and their vectors, one in each row.

    SchemaError for a vector of another length than ``dimension``, and for null within one.
    """
    lists = batch.column(batch.schema.get_field_index(column))
    rows = np.arange(len(lists))
    if lists.null_count:
        rows = np.flatnonzero(lists.is_valid().to_numpy(zero_copy_only=False))
        lists = lists.drop_null()
    wrong = pc.index(pc.not_equal(pc.list_value_length(lists), dimension), True).as_py()
    if wrong >= 0:
        raise SchemaError(
            f"column {column}",
            f"has a vector of {len(lists[wrong])} numbers{of_row(batch, rows[wrong])}; "
            f"the vector to search for has {dimension}.",
            "Give a vector of the length that the column has, or leave such rows out by where.",
        )
    values = lists.flatten()
    if values.null_count:
        wrong = rows[pc.index(values.is_null(), True).as_py() // dimension]
        raise SchemaError(
            f"column {column}",
            f"has a vector with null{of_row(batch, wrong)}.",
            "Write the row again, or leave it out by where.",
        )
    return rows, values.to_numpy(zero_copy_only=False).reshape(-1, dimension)


def of_row(batch: pa.RecordBatch, row: int) -> str:
    """Which row it is, where the record key tells."""
    at = batch.schema.get_field_index(KEY)
    key = None if at < 0 else batch.column(at)[int(row)].as_py()
    return "" if key is None else f" in the row with the key {key!r}"
