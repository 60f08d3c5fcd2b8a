"""What is said of data that is not Arrow: how it becomes Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from hoodoo.errors import DataError

_USUAL = (
    "give a pyarrow Table, Dataset or RecordBatchReader, an object with __arrow_c_stream__ "
    "(polars, duckdb, pandas), a list of dictionaries, or a Spark DataFrame."
)


def not_arrow(data: Any) -> DataError:
    """The error for ``data``."""
    rule, fix = _what(data)
    kind = type(data)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    return DataError(f"data of type {name}", rule, fix)


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
    if isinstance(data[0] if isinstance(data, list) and data else data, Mapping):
        return "is Python's own, and no installed plugin reads it.", "pip install hoodoo-frames."
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
