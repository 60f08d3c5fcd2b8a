"""Keys to delete by, handed over as plain values: a list, a set, an Arrow array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hoodoo.errors import DataError, SchemaError


def as_keys(data: Any, fields: Sequence[str], schema: pa.Schema) -> Any:
    """``data`` as a table of the one key column; anything but plain values as it is.

    ``fields`` are the table's record key columns, ``schema`` its own. Raises DataError where the
    key isn't one top-level column, and SchemaError for values that aren't of the column's type:
    Python's are never cut to fit, as another row would be deleted.
    """
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return pa.table({_column(fields, schema).name: data})
    if not isinstance(data, (list, tuple, set, frozenset)):
        return data
    if isinstance(next(iter(data), None), Mapping):  # rows
        return data
    column = _column(fields, schema)
    keys = list(data)
    try:
        found = pa.array(keys)
        t = pa.types
        # Whole floating numbers are integers; and a timestamp without a zone is for the door to
        # judge.
        if t.is_floating(found.type) or t.is_timestamp(found.type):
            return pa.table({column.name: found})
        if t.is_integer(column.type) and not (t.is_integer(found.type) or t.is_null(found.type)):
            raise pa.ArrowTypeError(f"their type is {found.type}")
        return pa.table({column.name: pa.array(keys, column.type)})
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise SchemaError(
            f"column {column.name}",
            f"the table's type is {column.type}, and the keys do not fit it ({error}).",
            "Give values of that type.",
        ) from error


def _column(fields: Sequence[str], schema: pa.Schema) -> pa.Field:
    if not fields:
        raise DataError(
            "a list of keys",
            "the table has no record key: its keys are made when rows are written.",
            "Replace rows instead: delete_partitions or insert_overwrite; or copy the rows into a "
            "table "
            "with record_key=....",
        )
    if len(fields) != 1 or fields[0] not in schema.names:
        raise DataError(
            "a list of keys",
            f"the key of the table is made of {', '.join(fields)}.",
            "Give a table with these columns.",
        )
    return schema.field(fields[0])
