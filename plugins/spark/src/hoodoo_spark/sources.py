"""Arrow and Parquet data as payloads: read inside the tasks, never through the JVM."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from attrs import frozen
from hoodoo.hookspecs.engine import Step, Task
from hoodoo_rows.api import ArrivingRows

CHUNK_BYTES = 16 << 20  # rows of in-memory data that make a task
SPLIT_BYTES = 128 << 20  # stored bytes of Parquet that make a task


@frozen
class DecodeRows:
    """Payloads that are Arrow IPC streams -> their batches."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload"):
                yield from pa.ipc.open_stream(payload.as_buffer())


@frozen
class ReadFragments:
    """Payloads that are pickled fragments of a dataset -> their rows."""

    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload"):
                for piece in pickle.loads(payload.as_py()):
                    yield from piece.to_batches(
                        schema=self.out_schema, batch_size=1 << 16, use_threads=False
                    )


def planned(data: Any, parallelism: int) -> tuple[Step, Iterator[bytes]]:
    """The step that reads ``data`` in tasks, and the payload of each task.

    ``data`` is anything Arrow, or one path or a list of paths of Parquet files. Raises DataError
    for anything else."""
    if isinstance(data, (str, os.PathLike)):
        data = ds.dataset(os.fspath(data), format="parquet")
    elif isinstance(data, list) and data and all(isinstance(x, (str, os.PathLike)) for x in data):
        data = ds.dataset([os.fspath(x) for x in data], format="parquet")
    data = ArrivingRows.as_arrow(data)
    if isinstance(data, ds.FileSystemDataset):
        found = _fragments(data)
        if found is not None:
            step = ReadFragments(data.schema)
            return step, (pickle.dumps(group) for group in _groups(data, found, parallelism))
    if isinstance(data, ds.Dataset):  # filtered, or of data in memory: only the driver can read it
        data = data.scanner().to_reader()
    if isinstance(data, pa.Table):
        limit = max(1 << 20, min(CHUNK_BYTES, data.nbytes // max(parallelism, 1)))
        data = data.to_reader(max_chunksize=_rows(data, limit))
    else:
        limit = CHUNK_BYTES
    return DecodeRows(data.schema), _chunks(data, limit)


def _rows(table: pa.Table, limit: int) -> int:
    return max(1, int(table.num_rows) * limit // max(int(table.nbytes), 1))


def _chunks(reader: pa.RecordBatchReader, limit: int) -> Iterator[bytes]:
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in reader:
        held.append(batch)
        held_bytes += batch.nbytes
        if held_bytes >= limit:
            yield _stream(reader.schema, held)
            held, held_bytes = [], 0
    if held:
        yield _stream(reader.schema, held)


def _stream(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _fragments(dataset: ds.FileSystemDataset) -> list[Any] | None:
    try:
        return list(dataset.get_fragments())
    except ValueError:  # pyarrow's answer for a dataset with a filter
        return None


def _groups(dataset: Any, fragments: list[Any], parallelism: int) -> list[list[Any]]:
    """Contiguous runs of fragments of similar size: files, or row groups where files are few (the
    footers are read for it)."""
    if len(fragments) < 4 * parallelism and all(
        isinstance(f, ds.ParquetFileFragment) for f in fragments
    ):
        pieces = [piece for f in fragments for piece in f.split_by_row_group()]
        sizes = [sum(g.total_byte_size for g in piece.row_groups) for piece in pieces]
    else:
        pieces = fragments
        sizes = [info.size or 0 for info in dataset.filesystem.get_file_info(dataset.files)]
        if len(sizes) != len(pieces):
            sizes = [1] * len(pieces)
    total = max(1, sum(sizes))
    count = max(1, min(len(pieces), max(parallelism, total // SPLIT_BYTES)))
    groups: list[list[Any]] = [[] for _ in range(count)]
    before = 0
    for piece, size in zip(pieces, sizes):
        middle = before + size // 2
        groups[min(count - 1, middle * count // total)].append(piece)
        before += size
    return [group for group in groups if group]
