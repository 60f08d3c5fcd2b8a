"""Told ranges: rows of ``column_stats`` and ``partition_stats`` for files that an action adds or
takes away.

Ranges come from base files, as far as their format knows them, and from rows of log files. Where
bounds aren't known, wide ones are told: whoever prunes must not take a column for null throughout.
Of a file whose format knows nothing of a column, nothing is told; its partition may then hold any
value. What is told of a partition only ever widens, and counts a null too many: files that lack a
column that was added since have nulls there, untold."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.filegroup import LogFile, path_of
from hoodoo.model.payload import Payload
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_data_file
from hoodoo_rows.api import StoredFiles

from hoodoo_metadata.partitions.column_stats.from_files import row_ranges
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range
from hoodoo_metadata.partitions.column_stats.value_types import is_stored, widest
from hoodoo_metadata.partitions.files.deltas import FileChange, entries
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.keys import column_key, partition_key
from hoodoo_metadata.table.layout import COLUMN_STATS, PARTITION_STATS, group_id, group_of

# File groups of column_stats and partition_stats in a new metadata table: Hudi's defaults.
RANGE_GROUPS = {COLUMN_STATS: 2, PARTITION_STATS: 1}
_TASKS_PER_CORE = 2
# Of a base file the footer is read. Most of a large one is the bloom filter of its keys: some 7
# bytes for each.
_FOOTER, _FILTERED = 1 << 20, 8
_TOLD = pa.schema([("partition", pa.string()), ("key", pa.string()), ("value", pa.binary())])


@frozen
class RangeRows:
    """Rows by key: of files, and of the partitions that these are in."""

    files: Mapping[str, bytes]
    partitions: Mapping[str, bytes]


def read_ranges(
    engine: Engine | None,
    storage: Storage,
    file_format: Callable[[], BaseFileFormat],
    added: Mapping[str, Mapping[str, int]],
    schema: pa.Schema,
    columns: Sequence[str],
    version: int,
    rows: Mapping[str, int] | None = None,
) -> RangeRows:
    """Rows for the files ``added`` (partition path -> name -> bytes) of a table with the stored
    ``schema``. ``columns`` are those that are indexed; ``rows``: how many rows a file has, by name,
    where that is known."""
    files = [
        (path, name, size)
        for path, names in added.items()
        for name, size in names.items()
        if (file := parse_data_file(path, name)) is not None
        and not (isinstance(file, LogFile) and file.suffix)
    ]
    if not files or engine is None:  # without an engine no file was written
        return RangeRows({}, {})
    used = file_format()
    tasks = engine.tasks([_payload(group, rows or {}) for group in _dealt(files, engine)])
    logs = StoredFiles.logs_of_schema(log_files(), used)
    step = _ReadRanges(storage, used, schema, tuple(columns), version, logs)
    found = engine.collect(engine.map(tasks, step))
    of_files: dict[str, bytes] = {}
    wholes: dict[str, ColumnRange] = {}
    for row in found.to_pylist():
        if row["partition"] == COLUMN_STATS:
            of_files[row["key"]] = row["value"]
        else:
            (newer,) = decode_ranges([row["value"]])
            older = wholes.get(row["key"])
            wholes[row["key"]] = newer if older is None else StoredFiles.merged_ranges(older, newer)
    return RangeRows(of_files, {k: encode_range(w, version) for k, w in wholes.items()})


def range_deltas(
    rows: RangeRows, change: FileChange, columns: Sequence[str], groups: Mapping[str, int]
) -> list[Delta]:
    """What is added to the file groups of both partitions; ``groups``: how many each has, 0 for one
    that is not kept. Files that ``change`` takes away are forgotten."""
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
    file_format: BaseFileFormat
    schema: pa.Schema
    columns: tuple[str, ...]
    version: int
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    @property
    def out_schema(self) -> pa.Schema:
        return _TOLD

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        rows: list[dict[str, object]] = []
        wholes: dict[tuple[str, str], list[ColumnRange]] = {}
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                for path, name, size in json.loads(payload):
                    for found, is_told in self._ranges(path, name, size):
                        if is_told:
                            key = column_key(found.column, path, name)
                            value = encode_range(found, self.version)
                            rows.append({"partition": COLUMN_STATS, "key": key, "value": value})
                        wholes.setdefault((path, found.column), []).append(found)
        for (path, column), parts in wholes.items():
            whole = StoredFiles.partition_range(parts, path, is_tight=False)
            whole = evolve(whole, values=whole.values + 1, nulls=whole.nulls + 1)
            key, value = partition_key(column, path), encode_range(whole, self.version)
            rows.append({"partition": PARTITION_STATS, "key": key, "value": value})
        yield pa.RecordBatch.from_pylist(rows, schema=_TOLD)

    def _ranges(self, path: str, name: str, size: int) -> Iterator[tuple[ColumnRange, bool]]:
        """What the file holds, and whether that is told of it; else it is what its partition may
        hold."""
        file = parse_data_file(path, name, size)
        if isinstance(file, LogFile):
            for found in self._of_log(file):
                bounded = _bounded(found)
                yield bounded, bounded is found or _is_wide(bounded)
            return
        base = StoredFiles.ranges(self.storage, self.file_format, path_of(path, name), self.columns)
        for column in self.columns:
            known = base.ranges.get(column)
            if known is not None and (known.kind is None or is_stored(known.kind, self.version)):
                bounded = _bounded(known)
                yield bounded, bounded is known or _is_wide(bounded)
            elif column in self.schema.names and base.rows:
                kind = self.schema.field(column).type
                if column not in base.columns:  # the file is older than it: null throughout
                    yield ColumnRange(column, name, values=base.rows, nulls=base.rows), True
                else:
                    wide = ColumnRange(column, name, *widest(kind), kind, values=base.rows)
                    yield wide, False

    def _of_log(self, file: LogFile) -> list[ColumnRange]:
        merged: dict[str, ColumnRange] = {}
        with self.logs.reader(self.storage, file.path, file.size) as reader:
            for block in reader.blocks:
                if not block.is_data:
                    continue
                whole = dict.fromkeys(c.partition(".")[0] for c in self.columns)
                rows = reader.rows(block, list(whole))
                for found in row_ranges(rows, self.columns, file.name):
                    if found.kind is not None and not is_stored(found.kind, self.version):
                        continue
                    older = merged.get(found.column)
                    merged[found.column] = (
                        found if older is None else StoredFiles.merged_ranges(older, found)
                    )
        return list(merged.values())


def _bounded(found: ColumnRange) -> ColumnRange:
    """``found`` with bounds that hold."""
    if found.is_known or found.kind is None:
        return found
    least, greatest = widest(found.kind)
    return evolve(found, least=least, greatest=greatest)


def _is_wide(found: ColumnRange) -> bool:
    """Whether bounds that hold anything are told of a file of this type: where writers leave them
    out because values are long. Of others nothing is said."""
    kind = found.kind
    return kind is not None and (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_floating(kind)
    )


def _payload(files: Sequence[tuple[str, str, int]], rows: Mapping[str, int]) -> Payload:
    reads = sum(
        size if name.startswith(".") else min(size, _FOOTER + _FILTERED * rows.get(name, 0))
        for _path, name, size in files
    )
    return Payload.of(json.dumps(files).encode(), reads)


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
