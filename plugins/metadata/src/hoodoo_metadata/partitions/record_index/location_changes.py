"""Location changes: what instants of a stretch of the timeline said of record keys, as a record
index noted it.

Each action puts what it changes into log files of the index, under its own instant. So the entries
that are new since a commit, and the difference of two commits, are read from the log files between:
no data file is opened. What was compacted since is told together with all before it; the index
keeps the last two compactions apart. Of older moments the places of keys in two states of the table
are compared instead (:mod:`hoodoo_metadata.partitions.record_index.location_states`): that says
where a key is now, or that it is gone, and not which instant moved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.errors import CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.archived import oldest
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model import brief
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileGroup, FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key, parse_point
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.hfile import FileWindow, HFile
from hoodoo_metadata.life.beginnings import is_beginning
from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.life.wanted import partition_of, stored_name
from hoodoo_metadata.partitions.record_index.bucket import decoded
from hoodoo_metadata.partitions.record_index.growing import Growing, refuse_strangers
from hoodoo_metadata.partitions.record_index.location_states import StatesPlan, plan_states
from hoodoo_metadata.partitions.record_index.locations import LOCATIONS
from hoodoo_metadata.table.layout import GROWING_INDEX, INDEXES, is_own
from hoodoo_metadata.table.metadata_table import MetadataTable, listed
from hoodoo_metadata.table.slice import Layer, layers

# Of a key the newest that was said: where it lies, null where it is gone; ``instant`` said it, null
# where two states of the table were compared.
CHANGED_LOCATIONS = pa.schema(
    [
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("instant", pa.string()),
    ]
)
_EARLIEST, _ZEROS = "earliest", "0" * 17


@frozen
class BucketLogs:
    """What is read of one bucket: slices of log files alone, the newest first."""

    slices: tuple[FileSlice, ...]

    @property
    def size(self) -> int:
        return sum(slice_.size for slice_ in self.slices)


@frozen
class LocationsPlan:
    """See :class:`hoodoo.hookspecs.query_type.QueryPlan`."""

    table: str
    index: str
    since: str
    until: str | None
    units: tuple[BucketLogs, ...]
    storage: Storage

    @property
    def schema(self) -> pa.Schema:
        return CHANGED_LOCATIONS

    def brief(self) -> str:
        until = f" until {self.until}" if self.until else ""
        files = sum(len(s.log_files) for unit in self.units for s in unit.slices)
        return (
            f"{brief.cut(self.table)}: {files} log files of {self.index} since {self.since}{until}"
        )

    def __str__(self) -> str:
        return f"changes of locations of {self.brief()}"

    def reader(self, source: ReadSource) -> LocationsReader:
        return LocationsReader(self.storage)


@frozen
class LocationsReader:
    """See :class:`hoodoo.hookspecs.query_type.UnitReader`. Memory: the entries of one log file, and
    the keys of a bucket's."""

    storage: Storage
    # For the task: it reads the log files of the metadata table.
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    def rows(self, unit: BucketLogs) -> Iterator[pa.RecordBatch]:
        known: list[pa.Array] = []
        for slice_ in unit.slices:
            for layer in self._layers(slice_):
                table = layer.all()
                for newer in known:
                    table = table.filter(pc.invert(pc.is_in(table.column("key"), value_set=newer)))
                known.append(table.column("key").combine_chunks())
                yield from _said(table, layer).combine_chunks().to_batches()

    def _layers(self, slice_: FileSlice) -> Sequence[Layer]:
        try:
            return layers(self.storage, slice_)
        except FileNotFoundError as error:
            raise CommitConflictError(
                f"{self.storage.root}/{slice_.partition_path}/{slice_.file_id}",
                "was compacted and cleaned, or rebuilt, since this read was planned.",
                "Read again.",
            ) from error


@frozen
class LocationChanges:
    """See :class:`hoodoo.hookspecs.query_type.QueryType`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LocationChanges:
        return cls()

    def plan(
        self,
        source: ReadSource,
        since: str | date,
        until: str | date | None = None,
        index: str | None = None,
    ) -> LocationsPlan | StatesPlan:
        timeline = source.timeline
        if timeline.layout.log_names_slice:
            raise UnsupportedTableError(
                f"table {timeline.config.name} of version {timeline.config.version}: changes of "
                "locations",
                "are read from log files that say in their names which instant wrote them: those "
                "of version 9.",
                "table.locate(keys, as_of=...) tells where given keys were.",
            )
        partition = _asked(source, index)
        first = _point(since, timeline)
        last = None if until is None else _point(until, timeline)
        if last is not None and last < first:
            raise ConfigError(
                f"until={until!r}", f"is before since={since!r}.", "Give the earlier one as since."
            )
        table = MetadataTable.open(source.storage, timeline)
        groups = table.file_view(partition).groups()
        told = max((_told_together(table, group, first) for group in groups), default=_ZEROS)
        if first < told and not _has_all(source, table, groups, told):
            # Its log files were compacted and cleaned, or the index was made then.
            by_path = is_partitioned(source.storage, partition)
            asked = (f"since={since!r}", f"until={until!r}")
            return plan_states(source, first, last, CHANGED_LOCATIONS, by_path, asked)
        units = []
        for bucket in _buckets(timeline, partition, groups):
            slices = [_within(table, s, first, last) for group in bucket for s in group.slices]
            left = tuple(s for s in slices if s.log_files)
            if left:
                units.append(BucketLogs(left))
        name = timeline.config.name or source.storage.root
        return LocationsPlan(name, partition, first, last, tuple(units), table.storage)


def _asked(source: ReadSource, index: str | None) -> str:
    """The partition of the metadata table that is asked. ConfigError where there is none."""
    config = source.timeline.config
    there = [partition for partition in INDEXES if partition in listed(config)]
    wanted = there[:1] if index is None else [_named(index, config)]
    if not wanted or wanted[0] not in there:
        raise ConfigError(
            f"table {config.name}",
            f"has no {'record index' if index is None else index} that notes what changes, or it "
            "is being made.",
            "Make it: table.rebuild_index('record_index'), or hoodoo rebuild-index.",
        )
    if is_own(wanted[0]):
        refuse_strangers(source.snapshot, wanted[0])
    return wanted[0]


def _named(index: str, config: TableConfig) -> str:
    name = stored_name(index)
    return index if name is None else partition_of(name, config)


def _point(value: str | date, timeline: Timeline) -> str:
    """What orders as completion times do. The requested time of a write stands for its
    completion."""
    if isinstance(value, str) and value.strip().lower() == _EARLIEST:
        return _ZEROS
    found = parse_point(value, timeline.config.timezone)
    write = timeline.find(found)
    return order_key(found if write is None else write.completion_order)


def _told_together(table: MetadataTable, group: FileGroup, since: str) -> str:
    """The point up to which the oldest slice of ``group`` holds all changes in a base file; zeros
    where there is none."""
    base = group.slices[-1].base_file if group.slices else None
    if base is None:
        return _ZEROS
    if is_beginning(base.instant):
        return order_key(table.timeline.completion_time(base.instant))
    return order_key(base.instant)  # its compaction was planned then


def _has_all(
    source: ReadSource, table: MetadataTable, groups: Sequence[FileGroup], told: str
) -> bool:
    """Whether nothing had been written when the index was made: that is the case of tables that are
    made with it."""
    if oldest(source.storage, source.config) is not None:
        return False
    if any(order_key(w.completion_order) <= told for w in source.timeline.writes()):
        return False
    bases = [group.slices[-1].base_file for group in groups if group.slices]
    return all(
        base is None
        or (
            is_beginning(base.instant)
            and not HFile.open(FileWindow.of(table.storage, base.path)).entry_count
        )
        for base in bases
    )


def _buckets(
    timeline: Timeline, partition: str, groups: Sequence[FileGroup]
) -> list[list[FileGroup]]:
    """The file groups that may tell of the same keys, the youngest first."""
    if partition != GROWING_INDEX:
        return [[group] for group in groups]
    by_id: Mapping[str, FileGroup] = {group.file_id: group for group in groups}
    newest = [group.latest for group in groups if group.latest is not None]
    families = Growing.of(timeline.config).families(newest)
    return [[by_id[slice_.file_id] for slice_ in reversed(family)] for family in families]


def _within(table: MetadataTable, slice_: FileSlice, first: str, last: str | None) -> FileSlice:
    """``slice_`` with the log files of instants in (``first``, ``last``] alone."""
    kept = tuple(
        log
        for log in slice_.log_files
        if (done := order_key(table.timeline.completion_time(log.instant))) > first
        and (last is None or done <= last)
    )
    return evolve(slice_, base_file=None, log_files=kept)


def _said(table: pa.Table, layer: Layer) -> pa.Table:
    """CHANGED_LOCATIONS of the entries, or the deleted keys, of ``layer``."""
    gone = table.filter(pc.is_null(table.column("value")))
    found = decoded(table.filter(pc.is_valid(table.column("value"))), layer)
    nulls = pa.nulls(gone.num_rows, pa.string())
    keys = pa.concat_arrays(
        [c.cast(pa.string()) for t in (found.select([0]), gone) for c in t.column(0).chunks]
        or [pa.array([], pa.string())]
    )
    paths, ids = (
        pa.chunked_array([*found.column(name).chunks, nulls], pa.string())
        for name in LOCATIONS.names[1:3]
    )
    instants = pa.repeat(pa.scalar(layer.instant, pa.string()), len(keys))
    return pa.table([keys, paths, ids, instants], schema=CHANGED_LOCATIONS)
