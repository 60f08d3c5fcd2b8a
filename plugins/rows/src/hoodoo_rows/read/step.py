"""The read as a step of an engine: a task receives file slices as bytes and returns their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.read.open import read_slice
from hoodoo_rows.read.spec import RowSpec

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
        """As of the spec."""
        return self.spec.out_schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(PAYLOAD):  # one turn per task, not per row of data
                for slice_ in unpack_slices(payload.as_py()):
                    yield from self.rows(slice_)

    def rows(self, unit: FileSlice) -> Iterator[pa.RecordBatch]:
        """The rows of the file slice ``unit``."""
        return read_slice(self.storage, self.file_format, self.spec, unit, self.rule)


class Sized(Protocol):
    """What has a size in bytes."""

    @property
    def size(self) -> int:
        """In bytes."""


Piece = TypeVar("Piece", bound=Sized)


def dealt(pieces: Sequence[Piece], tasks: int) -> list[list[Piece]]:
    """``pieces`` in their order, in at most ``tasks`` groups of similar bytes."""
    if not pieces:
        return []
    total = sum(max(piece.size, 1) for piece in pieces)
    groups: list[list[Piece]] = [[] for _ in range(max(1, min(tasks, len(pieces))))]
    before = 0
    for piece in pieces:
        weight = max(piece.size, 1)
        # The middle of the piece decides, so that no group starts with the tail of its neighbour.
        groups[min(len(groups) - 1, (before + weight // 2) * len(groups) // total)].append(piece)
        before += weight
    return [group for group in groups if group]


def payloads(slices: Sequence[FileSlice], tasks: int) -> list[bytes]:
    """``slices`` packed, in their order, into at most ``tasks`` payloads of similar bytes."""
    return [pack_slices(group) for group in dealt(slices, tasks)]
