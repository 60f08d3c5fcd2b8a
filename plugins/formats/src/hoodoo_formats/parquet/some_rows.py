"""Some rows of a parquet file: the pages that may have them are read, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo_rows.model.normalize import conform

from hoodoo_formats.parquet import pages
from hoodoo_formats.parquet.footer import NoFooter, Struct

# Pages are read where a row group has so many rows, or bytes, as few rows of vectors have.
_PAGED_ROWS, _PAGED_BYTES = 40_000, 8 << 20
# More of the bytes than that share are read as fast in one go.
_SHARE = 0.5
# The page index is found by the footer. To parse what it says of one column chunk takes as long as
# Arrow takes to decode so many bytes: 0.08 ms.
_CHUNK_BYTES = 96 << 10
# What pyarrow raises where bytes are not what they should be; the last one for damaged names.
BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)
_UNKNOWN = (NoFooter, AttributeError, LookupError, TypeError, ValueError, *BROKEN)


def is_large(rows: int, size: int) -> bool:
    """Whether pages are looked for in a row group of so many rows and bytes before compression."""
    return rows >= _PAGED_ROWS or size >= _PAGED_BYTES


def is_worth_it(metadata: pq.FileMetaData, number: int, names: Sequence[str]) -> bool:
    """Whether the columns ``names`` of a row group have more bytes than the footer, which is parsed
    for its pages."""
    group = metadata.row_group(number)
    chunks = (group.column(n) for n in range(group.num_columns))
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema in names)
    return size >= _CHUNK_BYTES * metadata.num_row_groups * group.num_columns


def rows_near(
    file: pa.NativeFile, tree: Struct, number: int, named: Mapping[str, pa.Array]
) -> npt.NDArray[np.int64] | None:
    """:func:`hoodoo_formats.parquet.pages.rows_near`; None where the page index can't be read,
    too."""
    try:
        return pages.rows_near(file, tree, number, named) if named else None
    except _UNKNOWN:
        return None


def _beginning(opened: pq.ParquetFile, rows: int) -> pa.Table:
    """At least the first ``rows`` rows: what is behind them in their page is not decoded."""
    first = next(opened.iter_batches(batch_size=rows, use_threads=False))
    if first.num_rows == rows:
        return pa.Table.from_batches([first])
    return opened.read(use_threads=False)


def rows_at(
    file: pa.NativeFile,
    tree: Struct,
    number: int,
    at: npt.NDArray[np.int64],
    schema: pa.Schema,
) -> pa.RecordBatch | None:
    """The rows in the places ``at`` (ascending, from 0) of a row group, in the columns ``schema``,
    which are not within others. None where the file has no page index, or it costs as much to read
    all its rows. Raises one of BROKEN for a damaged page."""
    try:
        files = pages.few_pages(file, tree, number, at, schema.names, _SHARE)
    except _UNKNOWN:
        return None
    if files is None:
        return None
    found: dict[str, pa.ChunkedArray] = {}
    for content, places in files:
        opened = pq.ParquetFile(
            pa.BufferReader(content),
            coerce_int96_timestamp_unit="us",
            page_checksum_verification=True,
        )
        some = _beginning(opened, int(places[-1]) + 1).take(pa.array(places))
        found.update(zip(some.column_names, some.columns, strict=True))
    arrays = [found[name].combine_chunks() for name in schema.names]
    return conform(pa.RecordBatch.from_arrays(arrays, names=schema.names), schema)
