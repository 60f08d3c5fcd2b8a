"""Rows of PySpark as Arrow batches: PySpark 4.0 writes streams in no other way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

_AT_ONCE = 10_000


def batches(rows: Iterator[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while held := list(islice(rows, _AT_ONCE)):
        columns = zip(*held, strict=True)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(_plain(list(column)), field.type)
                for column, field in zip(columns, schema, strict=True)
            ],
            schema=schema,
        )


def _plain(values: list[Any]) -> list[Any]:
    return [value.asDict(recursive=True) if hasattr(value, "asDict") else value for value in values]
