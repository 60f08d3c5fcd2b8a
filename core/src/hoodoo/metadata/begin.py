"""Begin: the base files that a partition of the metadata table starts with, made of the table as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pyarrow as pa
from attrs import frozen

from hoodoo.errors import ConfigError
from hoodoo.metadata.base import put_base
from hoodoo.metadata.changes import FileChange, entries
from hoodoo.metadata.file_listing import ALL_PARTITIONS, encode_files, encode_partitions
from hoodoo.metadata.index_rows import GroupFiles, places, write_index_rows
from hoodoo.metadata.keep import columns_of, key_rows
from hoodoo.metadata.keys import file_key
from hoodoo.metadata.layout import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    estimated_groups,
    group_id,
)
from hoodoo.metadata.record_locations import millis_of
from hoodoo.metadata.schema import record_schema
from hoodoo.metadata.table import MetadataTable
from hoodoo.metadata.told_ranges import RANGE_GROUPS, range_deltas, read_ranges
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import with_meta
from hoodoo.timeline import view
from hoodoo.write.pending import Pending
from hoodoo.write.target import WriteTarget

_INDEX = "hoodie.metadata.global.record.level.index"
_OLD = "hoodie.metadata.record.index"
# Below so many bytes of base files the least number of groups is right, whatever the rows.
_FEW_BYTES = 256 << 20


@frozen
class IndexSize:
    """How many file groups a record index gets (features page 1.3)."""

    least: int = 10
    most: int = 10_000
    growth: float = 2.0
    group_bytes: int = 1 << 30

    @classmethod
    def of(cls, options: Mapping[str, str]) -> IndexSize:
        """By Hudi's options. Raises ConfigError for what is no number, or a minimum above the maximum."""
        found = cls(
            int(_number(options, "min.filegroup.count", cls().least)),
            int(_number(options, "max.filegroup.count", cls().most)),
            _number(options, "growth.factor", cls().growth),
            int(_number(options, "max.filegroup.size", cls().group_bytes)),
        )
        if not 1 <= found.least <= found.most:
            raise ConfigError(
                f"option {_INDEX}.min.filegroup.count",
                f"{found.least} file groups are not between 1 and {found.most}, the most.",
                "Correct one of the two.",
            )
        return found

    def groups(self, rows: int) -> int:
        return estimated_groups(
            rows,
            least=self.least,
            most=self.most,
            growth=self.growth,
            group_bytes=self.group_bytes,
        )


def _number(options: Mapping[str, str], end: str, default: float) -> float:
    for key in (f"{_INDEX}.{end}", f"{_OLD}.{end}"):
        if key in options:
            try:
                value = float(options[key])
            except ValueError:
                value = -1
            if not 0 < value < 2**62:
                raise ConfigError(
                    f"option {key}",
                    f"must be a number above 0, not {options[key]!r}.",
                    "Correct it.",
                )
            return value
    return default


def begin_files(
    target: WriteTarget, table: MetadataTable, pending: Pending, size: IndexSize
) -> tuple[WriteStat, ...]:
    """Every file of a committed instant, of all file slices."""
    found: dict[str, dict[str, int]] = {}
    for file in view.parsed(view.list_data(target.storage)):
        if target.timeline.contains_or_before_start(file.instant):
            found.setdefault(file.partition_path, {})[file.name] = file.size
    rows = {file_key(path): encode_files(files) for path, files in found.items()}
    rows[ALL_PARTITIONS] = encode_partitions(found)
    batches = entries(rows).to_batches()
    return (_put(target, table, pending, FILES, batches),)


def begin_ranges(
    target: WriteTarget, table: MetadataTable, pending: Pending, size: IndexSize, partition: str
) -> tuple[WriteStat, ...]:
    """What the files of the newest slices hold."""
    added: dict[str, dict[str, int]] = {}
    for slice_ in target.slices:
        for file in (slice_.base_file, *slice_.row_logs):
            if file is not None:
                added.setdefault(slice_.partition_path, {})[file.name] = file.size
    config = target.config
    columns = columns_of(target.schema, config, target.options)
    rows = read_ranges(
        target.engine, target.storage, added, with_meta(target.schema), columns, config.version
    )
    groups = RANGE_GROUPS[partition]
    found = range_deltas(rows, FileChange(), columns, {partition: groups})
    filled = {delta.file_id: delta.entries.to_batches() for delta in found}
    return tuple(
        _put(target, table, pending, partition, filled.get(group_id(partition, n), []), n)
        for n in range(groups)
    )


def begin_index(
    target: WriteTarget, table: MetadataTable, pending: Pending, size: IndexSize
) -> tuple[WriteStat, ...]:
    """Every record key. Its location's time is that of the file slice it lies in."""
    zone = target.config.timezone
    known = [
        (n, s.partition_path, s.file_id, millis_of(s.instant, zone))
        for n, s in enumerate(target.slices)
    ]
    text = record_schema(target.config.version)
    files = GroupFiles(table.storage, pending, text, size.groups(_rows(target)), base=True)
    rows = key_rows(target.engine, target, target.slices)
    return write_index_rows(target.engine, rows, places(known), files, target.serializer)


def _rows(target: WriteTarget) -> int:
    bases = [s.base_file for s in target.slices if s.base_file is not None]
    if sum(base.size for base in bases) < _FEW_BYTES:
        return 0
    rows = 0
    for base in bases:
        with target.file_format.reader(target.storage, base.path) as reader:
            rows += reader.num_rows
    return rows


def _put(
    target: WriteTarget,
    table: MetadataTable,
    pending: Pending,
    partition: str,
    batches: list[pa.RecordBatch],
    group: int = 0,
) -> WriteStat:
    text, file_id = record_schema(target.config.version), group_id(partition, group)
    return put_base(table.storage, pending, partition, file_id, batches, text, group)


Begin = Callable[[WriteTarget, MetadataTable, Pending, IndexSize], tuple[WriteStat, ...]]
# The partitions that can be made.
BEGIN: dict[str, Begin] = {
    FILES: begin_files,
    COLUMN_STATS: partial(begin_ranges, partition=COLUMN_STATS),
    RECORD_INDEX: begin_index,
    PARTITION_STATS: partial(begin_ranges, partition=PARTITION_STATS),
}
