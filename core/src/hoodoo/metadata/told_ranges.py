"""Told ranges: rows of ``column_stats`` and ``partition_stats`` for files that an action adds or takes away.

Ranges come from footers of base files and rows of log files. Where bounds aren't known, wide ones are told:
whoever prunes must not take a column for null throughout. What is told of a partition only ever widens,
and counts a null too many: files that lack a column that was added since have nulls there, untold.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve, frozen

from hoodoo.files.log_reader import LogReader
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.metadata.changes import FileChange, entries
from hoodoo.metadata.column_ranges import (
    ColumnRange,
    decode_ranges,
    encode_range,
    merge_ranges,
    partition_range,
)
from hoodoo.metadata.deltas import Delta
from hoodoo.metadata.found_ranges import file_ranges, row_ranges
from hoodoo.metadata.keys import column_key, partition_key
from hoodoo.metadata.layout import COLUMN_STATS, PARTITION_STATS, group_id, group_of
from hoodoo.metadata.range_kinds import is_stored
from hoodoo.model.filegroup import LogFile, path_of
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_data_file

# File groups of column_stats and partition_stats in a new metadata table: Hudi's defaults.
RANGE_GROUPS = {COLUMN_STATS: 2, PARTITION_STATS: 1}
_TASKS_PER_CORE = 2
_TOLD = pa.schema([("partition", pa.string()), ("key", pa.string()), ("value", pa.binary())])
# No text that people write is greater.
_GREATEST_TEXT = "\U0010ffff" * 8
_GREATEST_BYTES = b"\xff" * 32


@frozen
class RangeRows:
    """Rows by key: of files, and of the partitions that these are in."""

    files: Mapping[str, bytes]
    partitions: Mapping[str, bytes]


def read_ranges(
    engine: Engine,
    storage: Storage,
    added: Mapping[str, Mapping[str, int]],
    schema: pa.Schema,
    columns: Sequence[str],
    version: int,
) -> RangeRows:
    """Rows for the files ``added`` (partition path -> name -> bytes) of a table with the stored ``schema``.
    ``columns`` are those that are indexed."""
    files = [
        (path, name, size)
        for path, names in added.items()
        for name, size in names.items()
        if (file := parse_data_file(path, name)) is not None
        and not (isinstance(file, LogFile) and file.suffix)
    ]
    if not files:
        return RangeRows({}, {})
    tasks = engine.tasks([json.dumps(group).encode() for group in _dealt(files, engine)])
    step = _ReadRanges(storage, schema, tuple(columns), version)
    found = engine.collect(engine.map(tasks, step))
    of_files: dict[str, bytes] = {}
    wholes: dict[str, ColumnRange] = {}
    for row in found.to_pylist():
        if row["partition"] == COLUMN_STATS:
            of_files[row["key"]] = row["value"]
        else:
            (newer,) = decode_ranges([row["value"]])
            older = wholes.get(row["key"])
            wholes[row["key"]] = newer if older is None else merge_ranges(older, newer)
    return RangeRows(of_files, {k: encode_range(w, version) for k, w in wholes.items()})


def range_deltas(
    rows: RangeRows, change: FileChange, columns: Sequence[str], groups: Mapping[str, int]
) -> list[Delta]:
    """What is added to the file groups of both partitions; ``groups``: how many each has, 0 for one that is
    not kept. Files that ``change`` takes away are forgotten."""
    gone = [
        column_key(column, path, name)
        for path, names in change.removed.items()
        for name in names
        for column in columns
    ]
    return [
        *_grouped(COLUMN_STATS, rows.files, gone, groups.get(COLUMN_STATS, 0)),
        *_grouped(PARTITION_STATS, rows.partitions, [], groups.get(PARTITION_STATS, 0)),
    ]


def _grouped(
    partition: str, rows: Mapping[str, bytes], gone: Sequence[str], groups: int
) -> Iterator[Delta]:
    if not groups or not (rows or gone):
        return
    keys, lost = pa.array(rows, pa.string()), pa.array(sorted(gone), pa.string())
    of_rows, of_lost = group_of(keys, groups), group_of(lost, groups)
    for group in range(groups):
        mine = {str(k): rows[str(k)] for k in np.array(list(rows), object)[of_rows == group]}
        deleted = lost.filter(pa.array(of_lost == group))
        yield Delta(partition, group_id(partition, group), entries(mine), deleted)


@frozen
class _ReadRanges:
    storage: Storage
    schema: pa.Schema
    columns: tuple[str, ...]
    version: int

    @property
    def out_schema(self) -> pa.Schema:
        return _TOLD

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, object]] = []
        wholes: dict[tuple[str, str], list[ColumnRange]] = {}
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for path, name, size in json.loads(payload):
                    for found in self._ranges(path, name, size):
                        key = column_key(found.column, path, name)
                        value = encode_range(found, self.version)
                        rows.append({"partition": COLUMN_STATS, "key": key, "value": value})
                        wholes.setdefault((path, found.column), []).append(found)
        for (path, column), parts in wholes.items():
            whole = partition_range(parts, path, is_tight=False)
            whole = evolve(whole, values=whole.values + 1, nulls=whole.nulls + 1)
            key, value = partition_key(column, path), encode_range(whole, self.version)
            rows.append({"partition": PARTITION_STATS, "key": key, "value": value})
        yield pa.RecordBatch.from_pylist(rows, schema=_TOLD)

    def _ranges(self, path: str, name: str, size: int) -> Iterator[ColumnRange]:
        file = parse_data_file(path, name, size)
        if isinstance(file, LogFile):
            yield from filter(None, map(_bounded, self._of_log(file)))
            return
        with self.storage.open(path_of(path, name)) as opened:
            metadata = pq.read_metadata(opened)
        found = {r.column: r for r in file_ranges(metadata, self.columns, name, self.version)}
        for column in self.columns:
            if column in found:
                if (bounded := _bounded(found[column])) is not None:
                    yield bounded
            elif column in self.schema.names and metadata.num_rows:
                rows = metadata.num_rows  # older than the column: null throughout
                yield ColumnRange(column, name, values=rows, nulls=rows)

    def _of_log(self, file: LogFile) -> list[ColumnRange]:
        merged: dict[str, ColumnRange] = {}
        with LogReader(self.storage, file.path, file.size or None) as reader:
            for block in reader.blocks:
                if not block.is_data:
                    continue
                rows = reader.rows(block, [c for c in self.columns if "." not in c])
                for found in row_ranges(rows, self.columns, file.name):
                    if found.kind is not None and not is_stored(found.kind, self.version):
                        continue
                    older = merged.get(found.column)
                    merged[found.column] = found if older is None else merge_ranges(older, found)
        return list(merged.values())


def _bounded(found: ColumnRange) -> ColumnRange | None:
    """``found`` with bounds that hold; None where there are none to be had."""
    if found.is_known or found.kind is None:
        return found
    kind = found.kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return evolve(found, least="", greatest=_GREATEST_TEXT)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return evolve(found, least=b"", greatest=_GREATEST_BYTES)
    if pa.types.is_floating(kind):
        return evolve(found, least=float("-inf"), greatest=float("inf"))
    return None


def _dealt(
    files: Sequence[tuple[str, str, int]], engine: Engine
) -> list[list[tuple[str, str, int]]]:
    """Footers of base files cost alike; a log file is read whole."""
    count = max(1, min(len(files), _TASKS_PER_CORE * engine.parallelism))
    groups: list[list[tuple[str, str, int]]] = [[] for _ in range(count)]
    heap = [(0, n) for n in range(count)]
    for path, name, size in sorted(files, key=lambda f: (-f[2], f)):
        load, lightest = heapq.heappop(heap)
        groups[lightest].append((path, name, size))
        weight = size if name.startswith(".") else 0
        heapq.heappush(heap, (load + weight + (1 << 16), lightest))
    return groups
