"""The rows of a group: those of its slices, one after the other, log files merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.meta import encoded_as
from hoodoo.storage.api import Storage, of_size
from hoodoo_rows.api import Batches, MergeRule

# A batch of so much memory is read at a time, as long as that is a small part of what there is.
_FULL_BATCHES = 512 << 20
_MOST_ROWS, _LEAST_ROWS = 131_072, 1024


@frozen
class GroupRows:
    """``rule``: of the columns that are kept. Rows come in the same order and in the same batches
    whenever they are read. ``memory``: bytes that all of the task may hold. ``threads``: that read
    files."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    slices: tuple[FileSlice, ...]
    memory: int = _FULL_BATCHES
    threads: int = 1

    def counted(self) -> int:
        """Rows of the base files, as their footers say."""
        total = 0
        for base in self.bases:
            with self.file_format.reader(self.storage, base.path) as reader:
                total += reader.num_rows
        return total

    @property
    def bases(self) -> list[BaseFile]:
        return [slice_.base_file for slice_ in self.slices if slice_.base_file is not None]

    @property
    def exact(self) -> bool:
        """Whether :meth:`counted` tells how many rows come: there are no log files."""
        return not any(slice_.row_logs for slice_ in self.slices)

    def batches(self, mixed: bool = False) -> Iterator[pa.RecordBatch]:
        """All rows; columns of text may be dictionaries. ``mixed``: files may be read side by side,
        their batches by turns. Warns of damaged log files."""
        parts: list[Callable[[], Iterator[pa.RecordBatch]]] = []
        for slice_ in self.slices:
            if slice_.row_logs:
                parts.append(
                    partial(Batches.merged, self.storage, self.file_format, self.rule, slice_)
                )
            elif slice_.base_file is not None:
                names = self.rule.schema.names
                parts.append(partial(self.stored, slice_.base_file, names, encoded=True))
        if mixed and self.threads > 1 and len(parts) > 1:
            yield from Batches.in_turns(parts, min(self.threads, len(parts)))
            return
        for part in parts:
            yield from part()

    def stored(
        self, base: BaseFile, columns: Sequence[str], encoded: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """``columns`` of one base file in the types of the rule."""
        schema = pa.schema([self.rule.schema.field(name) for name in columns])
        with self.file_format.reader(self.storage, base.path) as reader:
            of_size(reader, base.path, base.size)
            known = frozenset(reader.schema.names)
            there = [name for name in schema.names if name in known]
            for batch in reader.batches(there, batch_rows=self._batch_rows(), encoded=encoded):
                kept = encoded_as(schema, batch.schema)
                yield Batches.widened(Batches.promoted(batch, kept), kept, base.path)

    def _batch_rows(self) -> int | None:
        if self.memory >= _FULL_BATCHES:
            return None
        return max(_LEAST_ROWS, _MOST_ROWS * self.memory // _FULL_BATCHES)
