"""Groups: staged rows that lie together by bucket, so that the task which writes a bucket reads
them where they lie.

Without it all rows that were staged are read, sorted, packed, and pass through the JVM's shuffle to
another task. A staged file with groups is an Arrow stream as any other, whose batches have rows of
one group each, and behind its end an index of them: where each lies, and its group. The index is
part of the file: of two attempts of a task the first one's file counts, and then its index does."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field
from hoodoo.model.meta import PARTITION_PATH
from hoodoo_rows.api import ArrivingRows
from hoodoo_rows.engine.runs import buffers, stable_order

# By what rows are grouped.
BY = (PARTITION_PATH, ArrivingRows.BUCKET)
# Rows of a batch for each group, on the average: of fewer, a batch for each costs more than an
# exchange.
_LEAST_ROWS = 512
# Bytes of rows of a group, on the average, where a read is a request.
_LEAST_BYTES = 256 << 10
# Bytes of rows that are sorted at once. On a disk the batches of a source are sorted as they come:
# joining them took a fifth of the time of this step. From any other store a read should bring more.
NEAR, FAR = 8 << 20, 32 << 20
# Columns of an index beside those of BY.
AT, SIZE = "_hoodie__at", "_hoodie__size"
_END = struct.Struct("<8sq")
_MARK = b"HOODOOGR"


def has_groups(schema: pa.Schema) -> bool:
    """Whether rows of ``schema`` can lie in groups. A batch is read alone: without the dictionaries
    of its stream."""
    return all(name in schema.names for name in BY) and not any(
        pa.types.is_dictionary(field.type) for field in schema
    )


@define
class Grouped:
    """The batches of a file under construction, and its index. ``limit``: bytes of rows that are
    sorted at once."""

    schema: pa.Schema
    limit: int
    index: list[pa.RecordBatch] = field(factory=list)
    whole: bool = True  # no buffer had too many groups so far
    most: int = 64  # groups of a buffer

    def write(self, sink: pa.NativeFile, batches: Iterable[pa.RecordBatch], options: Any) -> int:
        """All of ``batches`` as a stream with its index; the bytes of the rows."""
        size, at = 0, _schema_bytes(self.schema)
        with pa.ipc.new_stream(sink, self.schema, options=options) as writer:
            for buffer in buffers(iter(batches), self.schema, self.limit, 4 * self.limit):
                size += buffer.nbytes
                ends = [at]
                rows, starts = self._sorted(buffer)
                for start, stop in zip(starts[:-1], starts[1:], strict=True):
                    writer.write_batch(rows.slice(start, stop - start))
                    ends.append(sink.tell())
                at = ends[-1]
                if self.whole:
                    self._note(rows, starts[:-1], ends)
        if self.whole:
            self._end(sink)
        return size

    def _sorted(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
        """``rows`` by group, in their order within each, and where each begins; and the end."""
        if self.whole:
            paths = rows.column(PARTITION_PATH).dictionary_encode()
            bucket = np.asarray(rows.column(ArrivingRows.BUCKET))
            width = int(bucket.max()) + 1
            key = np.asarray(paths.indices).astype(np.int64) * width + bucket
            order = stable_order(key, len(paths.dictionary) * width)
            key = key[order]
            starts = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), rows.num_rows]
            most = rows.num_rows // _LEAST_ROWS
            if self.limit >= FAR:
                most = min(most, rows.nbytes // _LEAST_BYTES)
            self.most = max(self.most, most)
            if len(starts) - 1 <= self.most:
                return rows.take(pa.array(order)), starts
            self.whole = False
        return rows, [0, rows.num_rows]

    def _note(self, rows: pa.RecordBatch, starts: Sequence[int], ends: Sequence[int]) -> None:
        firsts = rows.select(BY).take(pa.array(starts))
        places = (pa.array(ends[:-1], pa.int64()), pa.array(np.diff(ends), pa.int64()))
        names = [AT, SIZE, *BY]
        self.index.append(pa.RecordBatch.from_arrays([*places, *firsts.columns], names=names))

    def _end(self, sink: pa.NativeFile) -> None:
        start = sink.tell()
        schema = _index_schema(self.schema)
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.Table.from_batches(self.index, schema))
        sink.write(_END.pack(_MARK, sink.tell() - start))


def _index_schema(schema: pa.Schema) -> pa.Schema:
    kinds = [(AT, pa.int64()), (SIZE, pa.int64())]
    return pa.schema([*kinds, *((name, schema.field(name).type) for name in BY)])


def _schema_bytes(schema: pa.Schema) -> int:
    """Bytes before the first batch of a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema):
        pass
    return int(sink.tell()) - 8  # the mark of the end


def read_index(source: pa.NativeFile) -> pa.Table | None:
    """The index of a staged file: ``_hoodie__at``, ``_hoodie__size``, and the columns of
    :data:`BY`; None of a file without."""
    size = source.size()
    if size < _END.size:
        return None
    source.seek(size - _END.size)
    mark, length = _END.unpack(source.read(_END.size))
    if mark != _MARK:
        return None
    source.seek(size - _END.size - length)
    return pa.ipc.open_stream(source.read_buffer(length)).read_all()
