"""Scan: a planned read, evaluated as often and in as many ways as the user likes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.calls import checked_methods
from hoodoo.errors import EngineError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.registry import kernel
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.together import at_once

from hoodoo_rows.read.open import count_slice, pruned_rows
from hoodoo_rows.read.plan import ScanPlan, plan_scan
from hoodoo_rows.read.prefetch import in_order
from hoodoo_rows.read.rows import Rows
from hoodoo_rows.read.shown import shown, shown_schema
from hoodoo_rows.read.spec import RowSpec
from hoodoo_rows.read.step import ReadSlices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Answer = TypeVar("Answer")
# Batches that wait, of all files together.
_WAITING = 12
# Small files that one thread reads in a row: so many, of so many bytes together, as long as each
# thread gets as many turns.
_GROUP_FILES, _GROUP_BYTES, _TURNS = 32, 1 << 20, 8
# Files of so many bytes together are read at the same time where each waits for a network.
_FAR_BYTES = 64 << 20


@checked_methods
@frozen(repr=False)
class Scan(Rows):
    """What ``table.read`` returns. Nothing is read until one of the methods is called.

    Any library that takes Arrow takes a scan: ``polars.DataFrame(scan)``, ``pa.table(scan)``,
    ``duckdb.sql`` on a variable that holds it. ``read_ahead`` is the number of files that are read
    at the same time."""

    source: ReadSource
    plan: ScanPlan
    read_ahead: int = field(factory=lambda: max(2, min(8, os.cpu_count() or 1)), kw_only=True)

    @classmethod
    def of(cls, source: ReadSource, **wanted: Any) -> Scan:
        """Plan and wrap; ``wanted`` are the keywords of
        :func:`~hoodoo_rows.read.plan.plan_scan`."""
        return cls(source, plan_scan(source, **wanted))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return shown_schema(self.plan.schema)

    def __repr__(self) -> str:
        return f"<hoodoo.Scan of {self.plan.brief()}>"

    @property
    def step(self) -> ReadSlices:
        """The same read as a step for an engine's tasks."""
        return self.plan.reader(self.source)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, lazily: by partition path, file id and position in the file.

        Memory is bounded by ``read_ahead`` row groups, twice as many batches (at least twelve) and
        the rows of the log files of as many slices. Closing the generator closes the files."""
        # The file that is being consumed must not be the only one that goes on: the next ones fill
        # their buffers meanwhile, which are the deeper the fewer they are.
        files = self._files
        rows = self.step.rows
        depth = max(2 if files == self.read_ahead else 1, _WAITING // files)
        groups = self._in_groups(files)
        found = in_order([partial(_chained, rows, group) for group in groups], files, depth)
        return shown(found, self.plan.schema)

    def _in_groups(self, files: int) -> list[Sequence[FileSlice]]:
        """The slices, in their order. One thread reads small ones one after another: to hand over a
        file takes as long as to decode some thousand values. Not across a network, where each
        waits."""
        slices = self.plan.slices
        most = 1 if self._far > 1 else len(slices) // (files * _TURNS)
        groups: list[Sequence[FileSlice]] = []
        at = 0
        while at < len(slices):
            end, size = at + 1, slices[at].size
            while end < min(at + min(most, _GROUP_FILES), len(slices)):
                size += slices[end].size
                if size > _GROUP_BYTES:
                    break
                end += 1
            groups.append(slices[at:end])
            at = end
        return groups

    @property
    def _files(self) -> int:
        """How many files are read at the same time: across a network more, as long as they are
        small together."""
        far = self._far
        if far < 2 or not self.plan.slices:
            return self.read_ahead
        usual = self.plan.size // len(self.plan.slices) or 1
        return max(self.read_ahead, min(far, _FAR_BYTES // usual))

    @property
    def _far(self) -> int:
        return at_once(self.source.storage)

    def to_spark(self, spark: Any = None) -> DataFrame:
        """A lazy Spark DataFrame; ``spark`` is by default the active session.

        Raises EngineError if hoodoo-spark is not installed or if there is no session.
        """
        return dataframe(self, spark)

    def count(self) -> int:
        """The number of rows. Without a filter, only the footers of files are read."""
        spec = self.plan.spec
        spec = evolve(spec, columns=spec.where_columns)
        return sum(self._of_each(count_slice, evolve(spec, schema=spec.out_schema)))

    def explain(self) -> str:
        """The plan, and how much of it remains after the filter. Opens the footers of the files."""
        rows, left = row_counts(self)
        return f"{self.plan}\n  rows     {rows} in these files, {left} in row groups that can match"

    def _of_each(self, ask: Callable[..., Answer], spec: RowSpec) -> Iterator[Answer]:
        """``ask`` about every slice, several at a time."""
        storage, file_format = self.source.storage, self.plan.file_format

        def one(slice_: FileSlice) -> Iterator[Answer]:
            yield ask(storage, file_format, spec, slice_, self.plan.rule)

        return in_order([partial(one, s) for s in self.plan.slices], self._files)


def row_counts(scan: Scan) -> tuple[int, int]:
    """The rows of the base files of ``scan``, and those of them in row groups that can match its
    filter. Opens the footers of the files."""
    pairs = list(scan._of_each(pruned_rows, scan.plan.spec))
    return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


def _chained(
    rows: Callable[[FileSlice], Iterator[pa.RecordBatch]], slices: Sequence[FileSlice]
) -> Iterator[pa.RecordBatch]:
    for slice_ in slices:
        yield from rows(slice_)


def dataframe(scan: Any, spark: Any) -> Any:
    """``scan`` as a Spark DataFrame, made by the plugin that knows how. EngineError without one."""
    for _plugin, implementation in kernel().implementations("hoodoo_dataframe"):
        frame = implementation.function("pyspark", scan, spark)
        if frame is not None:
            return frame
    raise EngineError(
        "scan.to_spark",
        "needs the distribution hoodoo-spark, which is not installed.",
        'pip install "hoodoo[spark]".',
    )
