"""The read as a step of an engine: a task receives file slices as bytes and returns their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import frozen

from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.merge.rule import MergeRule
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.slice_json import pack, unpack
from hoodoo.read.open import read_slice
from hoodoo.read.spec import RowSpec
from hoodoo.storage.api import Storage

PAYLOAD = "payload"


@frozen
class ReadSlices:
    """Step: rows of the binary column ``payload`` (see :func:`payloads`) -> rows of the scan."""

    storage: Storage
    file_format: BaseFileFormat
    spec: RowSpec
    rule: MergeRule | None = None

    @property
    def out_schema(self) -> pa.Schema:
        return self.spec.out_schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(PAYLOAD):  # one turn per task, not per row of data
                for slice_ in unpack(payload.as_py()):
                    yield from read_slice(
                        self.storage, self.file_format, self.spec, slice_, self.rule
                    )


def payloads(slices: Sequence[FileSlice], tasks: int) -> list[bytes]:
    """``slices`` packed, in their order, into at most ``tasks`` payloads of similar bytes."""
    if not slices:
        return []
    total = sum(max(s.size, 1) for s in slices)
    groups: list[list[FileSlice]] = [[] for _ in range(max(1, min(tasks, len(slices))))]
    before = 0
    for slice_ in slices:
        weight = max(slice_.size, 1)
        # The middle of the slice decides, so that no group starts with the tail of its neighbour.
        groups[min(len(groups) - 1, (before + weight // 2) * len(groups) // total)].append(slice_)
        before += weight
    return [pack(group) for group in groups if group]
