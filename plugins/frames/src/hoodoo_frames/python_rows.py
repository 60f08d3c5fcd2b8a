"""Rows handed over as Python's own values: a list of dictionaries, or a dictionary of columns.

For few rows: each value is an object. Columns that the table has get its types, so that None and
empty lists are of the right type, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hoodoo.errors import DataError, SchemaError
from hoodoo.model.schema import logical


def is_rows(data: Any) -> bool:
    """Whether ``data`` is a list of dictionaries."""
    return isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], Mapping)


def as_rows(data: Any, schema: pa.Schema | None) -> pa.Table | None:
    """``data`` as a pyarrow Table where it is a list of dictionaries, one a row (a key that is
    missing is null), or a dictionary of columns; None for anything else. ``schema``: the table's
    own, None where there is none.

    Raises DataError for rows that are none, SchemaError for values that don't fit the table's type.
    """
    if not isinstance(data, (list, tuple, Mapping)):
        return None
    if is_rows(data):
        for row in data:
            if not isinstance(row, Mapping):
                raise DataError(
                    "a list of rows",
                    f"some are dictionaries, one is a {type(row).__name__}.",
                    "Give a dictionary for each row.",
                )
        names = dict.fromkeys(name for row in data for name in row)
        columns = {name: [row.get(name) for row in data] for name in names}
    elif isinstance(data, list) and not data:
        return None if schema is None else schema.empty_table()
    elif isinstance(data, Mapping):
        if any(_is_one_value(values) for values in data.values()):
            raise DataError(
                "a dictionary",
                "holds single values and no columns; it may be meant as one row.",
                "Give a list of rows, [row], or a dictionary of columns: {name: [values]}.",
            )
        columns = dict(data)
    else:
        return None
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"column {name!r}", "is not a column name.", "Name columns by text.")
    arrays = {
        name: _typed(name, values, schema or pa.schema([])) for name, values in columns.items()
    }
    if len({len(array) for array in arrays.values()}) > 1:
        raise DataError(
            "a dictionary of columns",
            "has columns of different length: "
            f"{', '.join(f'{n} {len(a)}' for n, a in arrays.items())}.",
            "Give each of them a value for each row; None is null.",
        )
    return pa.table(arrays)


def _is_one_value(values: Any) -> bool:
    # Arrow's and NumPy's arrays, pandas' and polars' columns have a length, too.
    return isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__")


def _typed(name: str, values: Any, schema: pa.Schema) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    kind = schema.field(name).type if name in schema.names else None
    is_python = isinstance(values, Sequence)
    own = None if kind is None else logical.of(kind)
    try:
        if own is not None:
            return own.of_python(values, kind, name)
        if kind is not None and is_python and pa.types.is_nested(kind):
            made = pa.array(values, kind)
            # Fields that the table lacks, and zones, would go without a word: the door judges them.
            return pa.array(values) if _has_more(values, kind) else made
        found = pa.array(values)
        # Whole floating numbers, timestamps without a zone, and UUIDs are for the door to judge.
        judged = pa.types.is_floating(found.type) or pa.types.is_timestamp(found.type)
        judged = judged or isinstance(found.type, pa.BaseExtensionType)
        if kind is None or found.type == kind or not is_python or judged:
            return found
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        what = f"the table's type is {kind}" if kind is not None else "Arrow finds no type for it"
        raise SchemaError(
            f"column {name}",
            f"{what}, and the values don't fit ({error}).",
            "Give values of that type." if kind is not None else "Give a pyarrow Table.",
        ) from error


def _has_more(values: Any, kind: pa.DataType) -> bool:
    """Whether structs in ``values`` have fields, or timestamps zones, that ``kind`` lacks, or
    timestamps lack the zone that it has."""
    t = pa.types

    def more(found: pa.DataType, known: pa.DataType) -> bool:
        if t.is_struct(found) and t.is_struct(known):
            inner = {f.name: f.type for f in known}
            return any(f.name not in inner or more(f.type, inner[f.name]) for f in found)
        if t.is_timestamp(found) and t.is_timestamp(known):
            return (found.tz is None) != (known.tz is None)
        return t.is_list(found) and t.is_list(known) and more(found.value_type, known.value_type)

    try:
        return more(pa.infer_type(values), kind)
    except pa.ArrowException:  # of several types, which is for the table's type to say
        return False
