"""Slice keys: the record keys of file slices, read in tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import Engine, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import KEY_CHANGES
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows


@frozen
class ReadKeys:
    """Step: slices in (payloads of :func:`slice_tasks`), their record keys out as KEY_CHANGES, read
    as ``rule`` has it, whose columns hold the record key. ``deleted``: the slices leave the
    table."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    deleted: bool = False

    @property
    def out_schema(self) -> pa.Schema:
        """Record keys with their places."""
        return KEY_CHANGES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                number, slices = json.loads(payload)
                for slice_ in unpack_slices(slices.encode()):
                    for rows in merged_rows(self.storage, self.file_format, self.rule, slice_):
                        yield key_changes(rows.column(RECORD_KEY), number, self.deleted)


def key_changes(keys: pa.Array, file: int, deleted: bool) -> pa.RecordBatch:
    """KEY_CHANGES: all ``keys`` are of one file slice, and came or were ``deleted``."""
    same = (pa.scalar(file, pa.int64()), pa.scalar(deleted))
    columns = [keys, *(pa.repeat(value, len(keys)) for value in same)]
    return pa.record_batch(columns, schema=KEY_CHANGES)


def slice_tasks(engine: Engine, slices: Sequence[FileSlice], first: int = 0) -> Stream:
    """A task for each slice; their numbers from ``first`` on."""
    payloads = [
        json.dumps([number, pack_slices([slice_]).decode()]).encode()
        for number, slice_ in enumerate(slices, first)
    ]
    return engine.tasks(payloads)
