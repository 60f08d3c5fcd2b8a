"""The rows of one file slice: its base file, merged with its log files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.merge.log_rows import read_log_rows
from hoodoo.merge.meet import Waiting
from hoodoo.merge.rule import MergeRule
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.schema_widen import widened
from hoodoo.storage.api import Storage


def merged_rows(
    storage: Storage,
    file_format: BaseFileFormat,
    rule: MergeRule,
    slice_: FileSlice,
    pushed: Callable[[pa.Schema], pc.Expression | None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of ``slice_`` in the columns of the rule; what only logs have comes last.

    ``pushed`` answers the filter that may skip row groups of a base file of the given schema. Memory: the log rows, and a batch
    of the base file. Warns of damaged bytes in logs, naming file and offset.
    """
    found = read_log_rows(storage, slice_.log_files, rule)
    for damage in found.damages:
        warnings.warn(f"{storage.root}: {damage}", HoodooWarning, stacklevel=2)
    if found.waiting is not None and not _stands_alone(rule, found.waiting):
        pushed = None
    if slice_.base_file is not None:
        yield from _merged_base(storage, file_format, rule, slice_.base_file, found.waiting, pushed)
    if found.waiting is not None:
        yield from _batches(found.waiting.rest(), rule.schema)


def _stands_alone(rule: MergeRule, waiting: Waiting) -> bool:
    """Whether log rows are what they are, whatever is stored: then row groups of the base file that
    the filter rules out need not be read."""
    return rule.merger.merge_mode == "COMMIT_TIME_ORDERING" and not waiting.absent


def _merged_base(
    storage: Storage,
    file_format: BaseFileFormat,
    rule: MergeRule,
    base: BaseFile,
    waiting: Waiting | None,
    pushed: Callable[[pa.Schema], pc.Expression | None] | None,
) -> Iterator[pa.RecordBatch]:
    with file_format.reader(storage, base.path) as reader:
        there = [name for name in rule.schema.names if name in reader.schema.names]
        for batch in reader.batches(there, pushed and pushed(reader.schema)):
            stored = widened(batch, rule.schema, base.path)
            if waiting is None:
                yield stored
                continue
            met = waiting.meet(stored, rule.record_keys(stored))
            if met.kept.num_rows:
                yield met.kept
            if met.winners is not None:
                yield from _batches(met.winners, rule.schema)


def _batches(rows: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in rows.select(schema.names).combine_chunks().to_batches():
        if batch.num_rows:
            yield batch.cast(schema) if not batch.schema.equals(schema) else batch
