"""Rows of PySpark as Arrow batches: PySpark 4.0 gives rows to the writer of a stream, where newer
releases give Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa

_BATCH_ROWS = 10_000  # as Spark has in an Arrow batch by default


def batches(rows: Iterator[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """``rows``, values in the order of ``schema``, as batches of at most 10,000 rows.

    PySpark gives times with a zone as naive ones in the zone of the process."""
    while held := list(islice(rows, _BATCH_ROWS)):
        columns = zip(*held, strict=True)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([_value(value, field.type) for value in column], field.type)
                for column, field in zip(columns, schema, strict=True)
            ],
            schema=schema,
        )


def _value(value: Any, kind: pa.DataType) -> Any:
    """``value`` with dictionaries in place of Rows, and with the zone of its times."""
    if isinstance(value, datetime) and kind.tz is not None:
        return value if value.tzinfo is not None else value.astimezone()
    if not pa.types.is_nested(kind) or value is None:
        return value
    if pa.types.is_struct(kind):
        found = value.asDict() if hasattr(value, "asDict") else value
        return {field.name: _value(found.get(field.name), field.type) for field in kind}
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return [(_value(key, kind.key_type), _value(of, kind.item_type)) for key, of in pairs]
    return [_value(each, kind.value_type) for each in value]
