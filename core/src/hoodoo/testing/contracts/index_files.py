"""Base files with keys, for contract suites of indexes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import KEYS_SCHEMA, IndexContext
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.meta import META_COLUMNS, PARTITION_PATH, RECORD_KEY, with_meta
from hoodoo.storage.api import Storage

INSTANT = "20240101000000000"
# (partition path, number of the file group) -> the keys stored there.
Stored = Mapping[tuple[str, int], Sequence[str]]


def file_id(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000-0"


@frozen
class ColumnKeys:
    """A key generator for tables with virtual keys: the key is the column ``id``."""

    record_key_fields: tuple[str, ...] = ("id",)
    partition_fields: tuple[str, ...] = ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column("id")

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return None


def answers_of(
    member: Callable[[Stream, IndexContext], Stream],
    schema: pa.Schema,
    context: IndexContext,
    asked: Sequence[tuple[str, str]],
) -> pa.Table:
    """The rows, of ``schema``, that ``member`` of an index answers for pairs of key and path."""
    keys = pa.table(
        {"record_key": [k for k, _ in asked], "partition_path": [p for _, p in asked]},
        schema=KEYS_SCHEMA,
    )
    context = evolve(context, key_rows=keys.num_rows, key_bytes=keys.column("record_key").nbytes)
    # Several batches, so that an engine makes several partitions of them.
    pieces = pa.Table.from_batches(keys.to_batches(max_chunksize=2), KEYS_SCHEMA)
    located = member(context.engine.source(pieces), context)
    assert located.schema.equals(schema)
    found = context.engine.collect(located)
    assert found.schema.equals(schema)
    return found


def write_base_file(
    storage: Storage,
    file_format: BaseFileFormat,
    path: str,
    number: int,
    keys: Sequence[str],
    virtual: bool = False,
) -> FileSlice:
    """A base file whose rows have ``keys``, in a column ``id`` and, unless ``virtual``, as keys."""
    base = BaseFile(path, file_id(number), INSTANT, "0-0-0", file_format.extension)
    schema = with_meta(pa.schema([("id", pa.string()), ("v", pa.int64())]))
    columns: dict[str, Any] = {n: pa.nulls(len(keys), pa.string()) for n in META_COLUMNS}
    columns["id"], columns["v"] = (
        pa.array(keys, pa.string()),
        pa.array(range(len(keys)), pa.int64()),
    )
    if not virtual:
        columns[RECORD_KEY] = columns["id"]
        columns[PARTITION_PATH] = pa.repeat(path, len(keys))
    local = os.path.join(storage.scratch(), f"{number}.building")
    writer = file_format.writer(local, schema, len(keys))
    writer.write(pa.table(columns, schema=schema))
    size = writer.close()
    assert storage.put_file_if_absent(base.path, local)
    base = BaseFile(path, base.file_id, INSTANT, "0-0-0", file_format.extension, size)
    return FileSlice(path, base.file_id, INSTANT, base)
