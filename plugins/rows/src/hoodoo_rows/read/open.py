"""Open: the rows of one file slice, in this process and in tasks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from attrs import evolve
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage, of_size
from hoodoo.storage.together import opened_ahead

from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.virtual import check_rows
from hoodoo_rows.read.late import finds_rows, matching_rows
from hoodoo_rows.read.missing import explained
from hoodoo_rows.read.project import columns_in, pushed_filter, shaped
from hoodoo_rows.read.spec import RowSpec


def read_slice(
    storage: Storage,
    file_format: BaseFileFormat,
    spec: RowSpec,
    slice_: FileSlice,
    rule: MergeRule | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of ``slice_`` in the shape of ``spec``, in file order, lazily. ``rule`` is needed
    where the slice has log files.

    Raises CommitConflictError if a clean has deleted a file since the read was planned.

    The file is opened on the first ``next`` and closed when the iterator ends or is closed. Memory
    holds the pages of one row group, one batch, and the rows of the log files.
    """
    with explained(storage, slice_):
        if slice_.log_files:
            every = (slice_.base_file, *slice_.log_files)
            opened_ahead(storage, ((f.path, f.size) for f in every if f is not None))
        yield from _rows(storage, file_format, spec, slice_, rule)


def _rows(
    storage: Storage,
    file_format: BaseFileFormat,
    spec: RowSpec,
    slice_: FileSlice,
    rule: MergeRule | None,
) -> Iterator[pa.RecordBatch]:
    if slice_.log_files:
        from hoodoo_rows.merge.slice import merged_rows  # many tables have no log files

        assert rule is not None
        pushed = partial(pushed_filter, spec=spec)
        merged = merged_rows(storage, file_format, rule, slice_, pushed, spec.asked)
        yield from shaped(merged, spec, slice_.file_id)
        return
    if (base := slice_.base_file) is None:
        return
    with file_format.reader(storage, base.path) as reader:
        file = of_size(reader, base.path, base.size).schema
        if spec.keys is not None:
            check_rows(spec.keys, reader, base.path)
        columns, where = columns_in(file, spec), pushed_filter(file, spec)
        tested = spec.where_columns
        if where is not None and finds_rows(reader) and len(tested) < len(columns):
            batches = matching_rows(reader, columns, tested, where)
            spec = evolve(spec, where=None)
        else:
            batches = reader.batches(columns, where)
        yield from shaped(batches, spec, base.path)


def count_slice(
    storage: Storage,
    file_format: BaseFileFormat,
    spec: RowSpec,
    slice_: FileSlice,
    rule: MergeRule | None = None,
) -> int:
    """The number of rows of :func:`read_slice`. Reads only the footer if there is neither a filter
    nor a log file."""
    if slice_.log_files:
        rule = rule and rule.narrowed(spec.schema.names)
        return sum(b.num_rows for b in read_slice(storage, file_format, spec, slice_, rule))
    if (base := slice_.base_file) is None:
        return 0
    if spec.where is None:
        with explained(storage, slice_), file_format.reader(storage, base.path) as reader:
            if spec.keys is not None:
                check_rows(spec.keys, reader, base.path)
            return of_size(reader, base.path, base.size).num_rows
    return sum(batch.num_rows for batch in read_slice(storage, file_format, spec, slice_))


def pruned_rows(
    storage: Storage,
    file_format: BaseFileFormat,
    spec: RowSpec,
    slice_: FileSlice,
    rule: MergeRule | None = None,
) -> tuple[int, int]:
    """The number of rows in the base file, and of those that its statistics don't rule out. Reads
    the footer."""
    if slice_.base_file is None:
        return 0, 0
    with explained(storage, slice_), file_format.reader(storage, slice_.base_file.path) as reader:
        left = reader.batches([], pushed_filter(reader.schema, spec))
        return reader.num_rows, sum(batch.num_rows for batch in left)
