"""What a partition of the metadata table answers, and what it works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import ActionChange, ChangedKeys, TableState
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import with_meta
from hoodoo.storage.api import Storage
from hoodoo_rows.api import Pending

from hoodoo_metadata.partitions.column_stats.deltas import RangeRows, read_ranges
from hoodoo_metadata.partitions.column_stats.from_files import columns_of
from hoodoo_metadata.partitions.files.deltas import FileChange
from hoodoo_metadata.partitions.record_index.replaced import told_rows
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.commit import PendingDeltaCommit
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.layout import OWN_INDEXES, RECORD_INDEX
from hoodoo_metadata.table.metadata_table import MetadataTable


# With slots attrs computes cached properties without functools' lock, which in Python 3.11 all
# objects of a class share: two writers of one process would wait for each other's storage.
@frozen
class Work:
    """One action on its way into the metadata table. ``files``: those that are added and that go;
    ``kept``: the partitions that follow it. ``began``: the file groups that partitions began with,
    where these are not committed yet; else those that there are count. ``retired``: whether a
    partition without file groups was never completed, so that it has to be rebuilt."""

    begun: PendingDeltaCommit
    change: ActionChange
    files: FileChange
    kept: tuple[str, ...]
    file_format: Callable[[], BaseFileFormat]
    options: Mapping[str, str]
    began: Mapping[str, int] | None = None
    retired: Callable[[str], bool] = lambda partition: False

    @property
    def table(self) -> MetadataTable:
        return self.begun.table

    def groups(self, partition: str) -> int:
        """How many file groups a partition has."""
        if self.began is not None:
            return self.began.get(partition, 0)
        found = len(self.table.slices(partition))
        if not found and self.retired(partition):
            raise CommitConflictError(
                f"{self.table.storage.root}/{partition}",
                "was not complete, and waits for being rebuilt.",
                "Repeat the write, which rebuilds it.",
            )
        return found

    @cached_property
    def columns(self) -> list[str]:
        """The columns whose ranges are kept."""
        return columns_of(self.change.schema, self.table.data.config, self.options)

    @cached_property
    def ranges(self) -> RangeRows:
        """What the added files hold in these columns: read once for all partitions."""
        return self._read(columns=self.columns)

    def ranges_of(self, column: str) -> RangeRows:
        """The same, of a column that may not be one of them."""
        if column in self.columns:
            return self.ranges
        return self._read(columns=[column])

    @property
    def _read(self) -> Callable[..., RangeRows]:
        change = self.change
        return partial(
            read_ranges,
            change.engine,
            change.storage,
            self.file_format,
            self.files.added,
            with_meta(change.schema),
            version=self.table.data.config.version,
            rows={stat.path.rpartition("/")[2]: stat.num_writes for stat in change.stats},
        )

    @cached_property
    def keys(self) -> ChangedKeys | None:
        """The record keys that came and went, also with the file groups that the action
        replaces."""
        keys = self.change.keys
        if keys is None:
            return None
        # Nobody noted all deleted rows: the index knows keys that no file holds.
        index = next((p for p in (RECORD_INDEX, *OWN_INDEXES) if p in self.kept), None)
        if _outlasts(self.table.data.config) and index is not None and keys.replaced:
            gone, engine, partition = keys.replaced, keys.table.engine, index
            return keys.with_deleted(
                lambda first: engine.source(told_rows(self.table, partition, gone, first))
            )
        return keys.with_replaced()


def _outlasts(config: TableConfig) -> bool:
    """Whether a row that is marked as deleted may lose to the stored one, when they are merged by a
    read."""
    merged = config.table_type == "MERGE_ON_READ" and bool(config.ordering_fields)
    return merged and config.merge_mode != "COMMIT_TIME_ORDERING"


@frozen
class Beginning:
    """A partition that is made: of what, and where its base files go. ``size``: how record indexes
    are made."""

    state: TableState
    table: MetadataTable
    pending: Pending
    size: IndexSize


@frozen
class Missed:
    """What was completed while partitions were made: ``work`` of the newest action, with the keys
    of the file slices that are others now, ``slices``. ``ids``: of the file groups that each
    partition began with."""

    work: Work
    slices: Sequence[FileSlice]
    size: IndexSize
    ids: dict[str, list[str]]


class OfFiles:
    """A partition that the driver writes, of the files of an action: tasks have nothing to write
    for it."""

    def of_files(self, work: Work) -> tuple[WriteStat, ...]:
        return ()

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        return ()

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        return ()


class OfKeys:
    """A partition that tasks write, of the record keys of an action: its files alone say
    nothing."""

    def deltas(self, work: Work) -> Sequence[Delta]:
        return ()

    def of_files(self, work: Work) -> tuple[WriteStat, ...]:
        return ()


class Partition(Protocol):
    """A partition of the metadata table. Picklable: workers merge its entries."""

    @property
    def name(self) -> str:
        """Its folder. One that begins with ``hoodoo_`` is Hoodoo's own, which Hudi must not come to
        know of."""

    @property
    def keys(self) -> bool:
        """Whether it follows record keys, each that comes or goes."""

    @property
    def stored_keys(self) -> bool:
        """Whether it is made of the record keys that rows hold: tables with virtual ones have
        none."""

    @property
    def noted(self) -> bool:
        """Whether commits say that it was kept: who goes by it has to know of writers that did
        not."""

    @property
    def sought(self) -> bool:
        """Whether single keys are looked up in it: its blocks are smaller then."""

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        """Its base files, of the table as it is."""

    def deltas(self, work: Work) -> Sequence[Delta]:
        """What an action adds, where the driver knows it."""

    def of_files(self, work: Work) -> tuple[WriteStat, ...]:
        """What tasks write of the files that an action adds."""

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        """What tasks write of an action: of record keys."""

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        """What tasks write of the record keys that changed while it was made."""

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        """The entries of a file group, ascending, as a base file holds them. ``storage`` is the
        metadata table's."""
