"""Frames of other libraries as Arrow: what their own types say, Arrow can't ask them any more."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from hoodoo.errors import DataError, SchemaError
from hoodoo.kernel.answers import excused
from hoodoo_rows.model.normalize import NO_VALUES, without_index

from hoodoo_frames.keys import as_keys
from hoodoo_frames.python_rows import as_rows

# What Arrow has no type for, by the names of libraries and of their types. As Arrow they give away
# something else in its place (addresses of memory, bits as bytes, a time without its zone), or fail
# and name no column.
_LOST: dict[str, dict[str, str]] = {
    "polars": {
        "Object": "Make a column of a type of polars of its values, or drop it.",
        **dict.fromkeys(("Int128", "UInt128"), "Cast it to polars.Int64 or polars.Decimal(38, 0)."),
    },
    "duckdb": {
        "bit": "Cast it to VARCHAR.",
        "time with time zone": "Cast it to TIME in one zone, or to VARCHAR.",
    },
}


def refuse_lost(data: Any) -> None:
    """SchemaError for a column of a frame, or of its schema, whose type Arrow lacks: its own types
    say so, what it exports does not."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars":
        schema = getattr(data, "schema", data)
        columns = list(schema.items()) if hasattr(schema, "items") else []
    elif library == "duckdb" and hasattr(data, "types"):
        columns = list(zip(data.columns, data.types, strict=True))
    else:
        return
    for name, kind in columns:
        for found in _within(kind):
            if found in _LOST[library]:
                raise SchemaError(
                    f"column {name!r}",
                    f"has the type {found} of {library}, which Arrow lacks.",
                    _LOST[library][found],
                )


def _within(kind: Any) -> Iterator[str]:
    """The names of the types that ``kind`` is made of."""
    name = getattr(kind, "id", None)
    parts: Iterable[Any] = ()
    if name is None:  # polars'
        yield kind.base_type().__name__
        inner = getattr(kind, "inner", None)
        parts = (inner,) if inner is not None else (f.dtype for f in getattr(kind, "fields", ()))
    elif name in ("list", "array", "struct", "map", "union"):
        parts = (part for _name, part in kind.children if not isinstance(part, int))
    else:
        yield name
    for part in parts:
        yield from _within(part)


def arrow_data(
    data: Any, schema: pa.Schema | None, keys: Sequence[str] | None = None
) -> pa.Table | pa.RecordBatchReader | None:
    """The rows of a frame of pandas or polars, of a list of dictionaries, or of a dictionary of
    columns; None for other data. ``schema``: of the table that they go to; ``keys``: its record
    key, where plain values mean keys. Of a pandas frame the levels of its index that have a name
    are columns, the others are not. A polars LazyFrame is read once, as its rows come.

    Raises DataError for data that can't be Arrow, SchemaError for a column whose type Arrow or
    ``schema`` lacks."""
    if keys is not None and schema is not None:
        data = as_keys(data, keys, schema)
        if isinstance(data, pa.Table):
            return data
    if isinstance(data, (list, tuple, Mapping)):
        return as_rows(data, schema)
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(data, pandas.DataFrame):  # who has a frame has imported it
        return _of_pandas(data)
    if polars is not None and isinstance(data, polars.LazyFrame):
        with excused():
            kinds = data.collect_schema()
        refuse_lost(kinds)
        streams = map(pa.RecordBatchReader.from_stream, _frames(data))
        arrow = pa.RecordBatchReader.from_stream(polars.DataFrame(schema=kinds)).schema
        return pa.RecordBatchReader.from_batches(arrow, chain.from_iterable(streams))
    refuse_lost(data)
    return None


def arrow_schema(schema: Any) -> pa.Schema | None:
    """The schema of a frame of polars; None for others. SchemaError for a column whose type Arrow
    lacks."""
    if type(schema).__module__.partition(".")[0] != "polars":
        return None
    is_frame = hasattr(schema, "__arrow_c_stream__")
    if is_frame or not hasattr(schema, "__arrow_c_schema__"):
        return None
    refuse_lost(schema)
    return pa.schema(schema)


def _of_pandas(data: Any) -> pa.Table:
    # Unasked, pandas gives a range away although it has a name, and other numbers although they
    # have none.
    named = any(name is not None for name in data.index.names)
    try:
        table = pa.Table.from_pandas(data, preserve_index=named)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        why = ": ".join(map(str, reversed(error.args))).rstrip(".")
        raise DataError(
            "pandas frame",
            f"can't become Arrow data: {why}.",
            "Give each column one type and a name of its own.",
        ) from error
    table = table.select(without_index(table.schema, data.columns).names)
    # Of a column of NaN alone, or without rows, pandas does not know the type either.
    schema = table.schema
    for at, field in enumerate(schema):
        if pa.types.is_floating(field.type) and table.column(at).null_count == len(table):
            schema = schema.set(at, field.with_metadata({NO_VALUES: b""}))
    return table.cast(schema) if schema is not table.schema else table


def _frames(lazy: Any) -> Iterator[Any]:
    """What a LazyFrame gives, as polars computes it; at once where it is too old for that."""
    yield from lazy.collect_batches() if hasattr(lazy, "collect_batches") else [lazy.collect()]
