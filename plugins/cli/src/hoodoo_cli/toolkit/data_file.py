"""A file of data, as it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from attrs import frozen


@frozen
class DataFile:
    """Rows of a file. ``rows``: their number, where the file has it. ``batches`` reads them,
    once."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    rows: int | None = None
