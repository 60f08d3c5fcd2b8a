"""A writer of Parquet files that encodes columns in several threads.

pyarrow encodes the columns of a file one after the other. Here each thread writes some columns of a
row group into a file in memory; the bytes of its column chunks are copied into the real file."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from hoodoo_formats.logical import stored_field
from hoodoo_formats.parquet.chunks import Assembly, Chunk, Layout
from hoodoo_formats.parquet.encodings import stored_schema, unified
from hoodoo_formats.parquet.field_ids import with_ids
from hoodoo_formats.parquet.writer import ParquetWriter, WriterOptions
from hoodoo_formats.record_keys import KeyStats

# The metadata of a chunk takes some 0.1 ms: with more columns this costs what the threads save.
MOST_COLUMNS = 256


class AssembledWriter(ParquetWriter):
    """A :class:`~hoodoo_formats.parquet.writer.ParquetWriter` with threads. It also holds the
    encoded row group in memory. The encoding does not depend on the number of threads."""

    def __init__(
        self, local: str, schema: pa.Schema, options: WriterOptions, keys: KeyStats | None = None
    ) -> None:
        super().__init__(local, schema, options, keys)
        self._template = self._made_template()
        self._assembly: Assembly | None = None

    def _made_template(self) -> Layout:
        sink = pa.BufferOutputStream()
        stored = pa.schema(map(stored_field, self._schema))
        named = with_ids(stored, ids) if (ids := self._options.ids) else stored
        pq.ParquetWriter(sink, named, **self._settings(stored, [])).close()
        return Layout.of(pa.BufferReader(sink.getvalue()))

    def _encoded(self, table: pa.Table) -> dict[str, list[Chunk]]:
        """The chunks of ``table`` as one row group."""
        table = unified(table)
        sink = pa.BufferOutputStream()
        settings = self._settings(table.schema, table.to_batches())
        with pq.ParquetWriter(sink, table.schema, **settings) as file:
            file.write_table(table, row_group_size=max(1, table.num_rows))
        (group,) = Layout.of(pa.BufferReader(sink.getvalue())).groups
        return group.chunks

    def _opened(self) -> Assembly:
        if self._assembly is None:
            self._sink = pa.OSFile(self._local, "wb")
            self._assembly = Assembly(self._sink, self._template)
        return self._assembly

    def _begun(self) -> pa.Schema:
        return stored_schema(self._schema, self._pending)

    def _put(self, table: pa.Table) -> None:
        chunks: dict[str, list[Chunk]] = {}
        shares = _shares(table, self._options.threads)
        if len(shares) > 1:
            with ThreadPoolExecutor(len(shares)) as pool:
                for found in pool.map(self._encoded, map(table.select, shares)):
                    chunks |= found
        else:
            chunks = self._encoded(table)
        self._opened().add(table.num_rows, chunks)

    def _end(self) -> None:
        self._opened().close(self._footer)


def _shares(table: pa.Table, count: int) -> list[list[str]]:
    """The columns in at most ``count`` parts of about equal bytes: each column, the largest first,
    joins the smallest part."""
    sizes = {name: table.column(name).nbytes for name in table.column_names}
    parts: Sequence[list[str]] = [[] for _ in range(max(1, min(count, len(sizes))))]
    loads = [0] * len(parts)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        at = loads.index(min(loads))
        parts[at].append(name)
        loads[at] += sizes[name]
    return [part for part in parts if part]
