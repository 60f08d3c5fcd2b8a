"""Begin: the base files that a partition of the metadata table starts with, made of the table as it
is."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.participant import KEY_CHANGES, TableState
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import LogFile
from hoodoo.model.meta import with_meta
from hoodoo.timeline import view
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Pending

from hoodoo_metadata.partitions.column_stats.deltas import (
    RANGE_GROUPS,
    RangeRows,
    range_deltas,
    read_ranges,
)
from hoodoo_metadata.partitions.column_stats.from_files import columns_of
from hoodoo_metadata.partitions.files.deltas import FileChange, entries
from hoodoo_metadata.partitions.files.rows import ALL_PARTITIONS, encode_files, encode_partitions
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.locations import millis_of
from hoodoo_metadata.partitions.record_index.rows import GroupFiles, places, write_index_rows
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.keys import file_key
from hoodoo_metadata.table.layout import (
    FILES,
    GROWING_INDEX,
    RECORD_INDEX,
    group_id,
)
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema

# Below so many bytes of base files the least number of groups is right, whatever the rows, unless
# options say otherwise.
_FEW_BYTES = 256 << 20


def begin_files(
    target: TableState, table: MetadataTable, pending: Pending
) -> tuple[WriteStat, ...]:
    """Every file of a committed instant, of all file slices, and log files that are named after an
    instant to come."""
    found: dict[str, dict[str, int]] = {}
    for file in view.parsed(view.list_data(target.storage)):
        committed = target.timeline.contains_or_before_start(file.instant)
        if committed or (isinstance(file, LogFile) and _waits(target.timeline, file)):
            found.setdefault(file.partition_path, {})[file.name] = file.size
    rows = {file_key(path): encode_files(files) for path, files in found.items()}
    rows[ALL_PARTITIONS] = encode_partitions(found)
    batches = entries(rows).to_batches()
    return (put_group(target, table, pending, FILES, batches),)


def _waits(timeline: Timeline, log: LogFile) -> bool:
    """Whether writes that are completed may have named ``log`` after an action that is not: a
    clustering that makes its file group, or, where names say the slice, a compaction (which may
    have been given up since)."""
    named = next((i for i in timeline.pending() if i.requested == log.instant), None)
    if named is not None and named.traits.replaces:
        return True
    by_slice = timeline.layout.log_names_slice
    return by_slice and (named is None or named.traits.begins_slices)


def begin_ranges(
    target: TableState, table: MetadataTable, pending: Pending, partition: str
) -> tuple[WriteStat, ...]:
    """What the files of the newest slices hold."""
    columns = columns_of(target.schema, target.config, target.options)
    rows, _added = ranges_of_slices(target, columns)
    groups = RANGE_GROUPS[partition]
    found = range_deltas(rows, FileChange(), columns, {partition: groups})
    filled = {delta.file_id: delta.entries.to_batches() for delta in found}
    return tuple(
        put_group(target, table, pending, partition, filled.get(group_id(partition, n), []), n)
        for n in range(groups)
    )


def ranges_of_slices(
    target: TableState, columns: Sequence[str]
) -> tuple[RangeRows, dict[str, dict[str, int]]]:
    """What the files of the newest slices hold in ``columns``, and these files: partition path ->
    name -> bytes."""
    added: dict[str, dict[str, int]] = {}
    for slice_ in target.slices:
        for file in (slice_.base_file, *slice_.row_logs):
            if file is not None:
                added.setdefault(slice_.partition_path, {})[file.name] = file.size
    rows = read_ranges(
        target.engine,
        target.storage,
        lambda: target.file_format,
        added,
        with_meta(target.schema),
        columns,
        target.config.version,
    )
    return rows, added


def begin_index(
    target: TableState,
    table: MetadataTable,
    pending: Pending,
    size: IndexSize,
    partition: str = RECORD_INDEX,
) -> tuple[WriteStat, ...]:
    """Every record key. Its location's time is that of the file slice it lies in."""
    size = size.of_partition(partition)
    zone = target.config.timezone
    known = [
        (n, s.partition_path, s.file_id, millis_of(s.instant, zone))
        for n, s in enumerate(target.slices)
    ]
    text = record_schema(target.config.version)
    if size.partitioned:
        counts = {path: size.groups(rows) for path, rows in rows_by_path(target, size).items()}
        groups = IndexGroups((), {}).with_paths(counts)
    else:
        rows = sum(rows_by_path(target, size).values())
        groups = IndexGroups(tuple(group_id(RECORD_INDEX, n) for n in range(size.groups(rows))))
    if not groups.file_ids:
        size.told(0)  # there are no rows yet
        return ()
    files = GroupFiles(table.storage, pending, text, groups, base=True, partition=partition)
    keys = target.keys_of(target.slices)
    if size.source is not None:
        keys, known = asked_of(target, size.source(target))
    stats, repeated = write_index_rows(target.engine, keys, places(known), files, target.serializer)
    size.told(repeated)
    return stats


def begin_growing(
    target: TableState, table: MetadataTable, pending: Pending, size: IndexSize
) -> tuple[WriteStat, ...]:
    """Every record key, in one file group for each bucket."""
    growing = Growing.of(target.config)
    zone = target.config.timezone
    known = [
        (n, s.partition_path, s.file_id, millis_of(s.instant, zone))
        for n, s in enumerate(target.slices)
    ]
    files = GroupFiles(
        table.storage,
        pending,
        record_schema(target.config.version),
        growing.groups(),
        base=True,
        partition=GROWING_INDEX,
    )
    keys = target.keys_of(target.slices)
    if size.source is not None:
        keys, known = asked_of(target, size.source(target))
    stats, repeated = write_index_rows(target.engine, keys, places(known), files, target.serializer)
    size.told(repeated)
    return stats


def asked_of(target: TableState, found: pa.Table) -> tuple[Stream, list[tuple[int, str, str, int]]]:
    """KEY_CHANGES, and the places of their files, of ``found``, where the keys of the table lie."""
    groups = found.group_by(["partition_path", "file_id"]).aggregate([]).to_pylist()
    zone = target.config.timezone
    instants = {(s.partition_path, s.file_id): s.instant for s in target.slices}
    known = [
        (n, g["partition_path"], g["file_id"], millis_of(instants[tuple(g.values())], zone))
        for n, g in enumerate(groups)
    ]
    numbers = pa.table(
        [pa.array([k[i] for k in known]) for i in (1, 2, 0)], ["partition_path", "file_id", "file"]
    )
    rows = found.join(numbers, ["partition_path", "file_id"], use_threads=False)
    deleted = pa.repeat(pa.scalar(False), rows.num_rows)
    columns = [rows.column("record_key"), rows.column("file").cast(pa.int64()), deleted]
    return target.engine.source(pa.table(columns, schema=KEY_CHANGES)), known


def rows_by_path(target: TableState, size: IndexSize) -> dict[str, int]:
    """Rows of base files in each partition path; 0 where these are so small that it does not
    matter."""
    bases = [s.base_file for s in target.slices if s.base_file is not None]
    rows = {s.partition_path: 0 for s in target.slices}
    if not size.is_usual or sum(base.size for base in bases) >= _FEW_BYTES:
        for base in bases:
            with target.file_format.reader(target.storage, base.path) as reader:
                rows[base.partition_path] += reader.num_rows
    return rows


def put_group(
    target: TableState,
    table: MetadataTable,
    pending: Pending,
    partition: str,
    batches: list[pa.RecordBatch],
    group: int = 0,
) -> WriteStat:
    """The base file of a file group of ``partition``."""
    text, file_id = record_schema(target.config.version), group_id(partition, group)
    return put_base(table.storage, pending, partition, file_id, batches, text, group)
