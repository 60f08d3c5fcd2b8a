"""Strange keys: record keys in files of buckets where their hash does not put them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.index import ComputedIndex

from hoodoo_standard.index.path_counts import PathCounts
from hoodoo_standard.index.plan import KeyReader

Buckets = ComputedIndex | PathCounts
_FOUND = pa.schema([("path", pa.string()), ("rows", pa.int64()), ("key", pa.string())])


def in_path(buckets: Buckets, path: str) -> ComputedIndex:
    """The buckets of one partition path."""
    return buckets.in_path(path) if isinstance(buckets, PathCounts) else buckets


@frozen
class StrangeKeys:
    """Step: paths of base files in; _FOUND out, of those whose keys are not all of the bucket that
    the name says."""

    keys: KeyReader
    index: Buckets

    @property
    def out_schema(self) -> pa.Schema:
        return _FOUND

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                yield from self.of(payload.decode())

    def of(self, path: str) -> Iterator[pa.RecordBatch]:
        folder, _, name = path.rpartition("/")
        index, file_id = in_path(self.index, folder), name.partition("_")[0]
        try:
            bucket = index.bucket_of(file_id)
        except CorruptTableError:
            bucket = -1  # of no bucket: all its keys are strange
        rows, example = 0, None
        with self.keys.file_format.reader(self.keys.storage, path) as reader:
            for keys in self.keys.keys(reader):
                strange = keys.filter(pc.not_equal(index.bucket(keys), np.int32(bucket)))
                rows += len(strange)
                example = example or (strange[0].as_py() if len(strange) else None)
        if rows:
            yield pa.record_batch([[path], [rows], [example]], schema=_FOUND)

    def first(self, engine: Engine | None, paths: Sequence[str]) -> dict[str, Any] | None:
        """A row of _FOUND, if there is one in the files of ``paths``."""
        if not paths:
            return None
        if engine is None:  # the action wrote no file
            found = pa.Table.from_batches([b for path in paths for b in self.of(path)], _FOUND)
        else:
            tasks = engine.tasks([path.encode() for path in paths])
            found = engine.collect(engine.map(tasks, self))
        return next(iter(found.slice(0, 1).to_pylist()), None)
