"""What is said of data that is not Arrow: how it becomes Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from hoodoo.errors import DataError, SchemaError

_USUAL = (
    "give a pyarrow Table, Dataset or RecordBatchReader, an object with __arrow_c_stream__ "
    "(polars, duckdb, pandas), a list of dictionaries, or a Spark DataFrame."
)

# What Arrow has no type for, by the names of libraries and of their types. As Arrow they give away something else in its
# place (addresses of memory, bits as bytes, a time without its zone), or fail and name no column.
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
    """SchemaError for a column of a frame, or of its schema, whose type Arrow lacks: its own types say so, what it exports
    does not."""
    library = type(data).__module__.partition(".")[0]
    if library == "polars":
        schema = data.collect_schema() if hasattr(data, "collect_schema") else data
        columns = list(schema.items()) if hasattr(schema, "items") else []
    elif library == "duckdb" and hasattr(data, "types"):
        columns = list(zip(data.columns, data.types, strict=True))
    else:
        return
    for name, kind in columns:
        for found in _within(kind):
            if found in _LOST[library]:
                raise SchemaError(
                    f"column {name!r}", f"has the type {found} of {library}, which Arrow lacks.", _LOST[library][found],
                )  # fmt: skip


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


def not_arrow(data: Any) -> DataError:
    """The error for ``data``."""
    rule, fix = _what(data)
    kind = type(data)
    name = kind.__qualname__ if kind.__module__ == "builtins" else _full(kind)
    return DataError(f"data of type {name}", rule, fix)


def _full(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _what(data: Any) -> tuple[str, str]:
    library, name = type(data).__module__.partition(".")[0], type(data).__name__
    if library == "pyspark":
        return "is data of Spark, and no installed engine reads it.", 'pip install "hoodoo[spark]".'
    if name == "Series":
        return "is a single column.", "give a frame: data.to_frame()."
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return "is a single column.", 'give a table: pyarrow.table({"name": data}).'
    if library == "hoodoo" and hasattr(data, "read"):
        return "is a table object, not rows.", "give table.read()."
    if isinstance(data, (str, os.PathLike)):
        return (
            "is a path.",
            "give pyarrow.dataset.dataset(path), which is read while it is written.",
        )
    if isinstance(data, Iterator):
        return (
            "is an iterator, so its columns are not known.",
            "give list(data) if its items are dictionaries, or pyarrow.RecordBatchReader.from_batches(schema, data) if they are record batches.",
        )
    if isinstance(data, (list, tuple)) and data:
        if isinstance(data[0], pa.RecordBatch):
            return "is a list of record batches.", "give pyarrow.Table.from_batches(data)."
        if isinstance(data[0], pa.Table):
            return "is a list of tables.", "give pyarrow.concat_tables(data)."
        return (
            f"is a list of {type(data[0]).__name__}, which names no columns.",
            "give a list of dictionaries, one for each row, or a dictionary of columns.",
        )
    if data is None:
        return "is no data.", _USUAL
    for method in ("to_arrow", "to_pyarrow", "to_pandas"):
        if callable(getattr(data, method, None)):
            return "is not Arrow.", f"give data.{method}()."
    return "is not Arrow.", _USUAL
