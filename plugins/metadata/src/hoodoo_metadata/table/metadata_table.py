"""The metadata table as a table: its timeline, its file groups, and which of their files count.

It lies in ``.hoodie/metadata`` and is itself a table that is merged on read. What
it says of an instant of the data table counts once that instant is completed there: log files of
others are passed over, as Hudi passes them over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from time import monotonic

from attrs import evolve, frozen
from hoodoo.errors import CorruptTableError, TableExistsError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.options.table import BASE_FORMAT, DROP_COLUMNS, MERGE_MODE, MERGE_STRATEGY
from hoodoo.options.virtual import POPULATE
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import at_once
from hoodoo.timeline import properties, view
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.partitions import path_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load

from hoodoo_metadata.life.beginnings import is_beginning, late_beginnings
from hoodoo_metadata.table.below import Below
from hoodoo_metadata.table.counted_blocks import CountedBlocks
from hoodoo_metadata.table.layout import FILES, is_own

FOLDER = ".hoodie/metadata"
# Properties of the data table: the partitions that may be read, and those that are being built.
LISTED = "hoodie.table.metadata.partitions"
BUILDING = "hoodie.table.metadata.partitions.inflight"
# The same of Hoodoo's own partitions.
OWN_LISTED = "hoodoo.metadata.partitions"
OWN_BUILDING = "hoodoo.metadata.partitions.inflight"
# When each of them was made: `partition:completion`, which is known when the indexing action is
# archived, too.
OWN_MADE = "hoodoo.metadata.partitions.made"
_MADE = {
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
    "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
    "hoodie.archivelog.folder": "history",
    "hoodie.timeline.history.path": "history",
    "hoodie.timeline.path": "timeline",
    DROP_COLUMNS.key: "false",
    MERGE_STRATEGY.key: "00000000-0000-0000-0000-000000000000",
    MERGE_MODE.key: "CUSTOM",
    "hoodie.table.recordkey.fields": "key",
    BASE_FORMAT.key: "HFILE",
}
# The same in version 6, as Hudi 0.15 has it.
_MADE_BEFORE = {
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
    "hoodie.compaction.record.merger.strategy": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    "hoodie.table.keygenerator.class": "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator",
    "hoodie.archivelog.folder": "archived",
    DROP_COLUMNS.key: "false",
    "hoodie.table.recordkey.fields": "key",
    BASE_FORMAT.key: "HFILE",
}
# Where a look at the data table notes the metadata table; for so many seconds.
_SEEN = "the metadata table"
_MOMENT = 5.0
_UNSAID = frozenset({"hoodie.table.timeline.timezone"})


@frozen(slots=False)
class MetadataTable:
    """``storage`` is the metadata table's own; ``data`` the timeline of the table it tells of."""

    storage: Storage
    timeline: Timeline
    data: Timeline
    # Of one look at the data table, across a network: what was listed for it, and when that began.
    listed: dict[str, list[Entry]] | None = None
    since: float = 0.0

    @classmethod
    def seen(cls, storage: Storage, data: Timeline) -> MetadataTable:
        """As whoever asked last of this look at the data table has opened it, a moment ago: across
        a network that is as good. What was taken away since is missed when it is opened."""
        found = data.noted.get(_SEEN)
        if (
            isinstance(found, MetadataTable)
            and found.data is data
            and monotonic() < found.since + _MOMENT
        ):
            return found
        began = monotonic()
        opened = cls.open(storage, data)
        if at_once(storage) < 2:
            return opened
        opened = evolve(opened, listed={}, since=began)
        data.noted[_SEEN] = opened
        return opened

    @classmethod
    def seen_before(cls, storage: Storage, data: Timeline) -> MetadataTable:
        """The same for who asks but how many file groups there are, which is as it was for a look a
        moment before."""
        found = data.noted.get(_SEEN)
        if not isinstance(found, MetadataTable) or found.timeline.layout.log_names_slice:
            return cls.open(storage, data)
        return (
            evolve(found, data=data)
            if monotonic() < found.since + _MOMENT
            else cls.open(storage, data)
        )

    @property
    def data_root(self) -> str:
        """The root of the table that it tells of."""
        return self.storage.root[: -len(FOLDER) - 1]

    @classmethod
    def open(cls, storage: Storage, data: Timeline) -> MetadataTable:
        """As it is now: one listing. ``storage`` is the data table's. Look at the data table first:
        what is completed there is told of here."""
        below = Below(storage, FOLDER)
        timeline = load(below, own_config(data.config))
        if timeline.layout.log_names_slice:
            below = evolve(below, blocks=CountedBlocks.of(timeline, data))
        return cls(below, timeline, data)

    @classmethod
    def states(cls, storage: Storage, data: Timeline) -> tuple[Instant, ...]:
        """What every rebuild and every compaction of the metadata table changes."""
        indexing = tuple(i for i in data.instants if i.action == INDEXING)
        with suppress(CorruptTableError, FileNotFoundError):
            return indexing + cls.open(storage, data).timeline.instants
        return indexing

    @property
    def blocks(self) -> CountedBlocks | None:
        """Which blocks of log files count, where the names of these do not say it."""
        return self.storage.blocks if isinstance(self.storage, Below) else None

    @property
    def begun(self) -> list[str]:
        """The instants of partitions whose build has begun, and has not ended."""
        pending = (instant.requested for instant in self.timeline.pending())
        return [requested for requested in pending if is_beginning(requested)]

    def until(self, as_of: str | None) -> MetadataTable:
        """The same, whose log files tell of instants of the data table up to ``as_of``, by
        requested time."""
        below = self.storage
        if as_of is None or not isinstance(below, Below) or below.blocks is None:
            return self
        return evolve(self, storage=evolve(below, blocks=below.blocks.until(_end_of(as_of))))

    def slices(self, partition: str, as_of: str | None = None) -> tuple[FileSlice, ...]:
        """The newest slice of each file group of ``partition``, by file id: one listing. ``as_of``:
        the state that the data table's instants up to it, by requested time, make."""
        return self.file_view(partition, as_of).slices

    def file_view(self, partition: str, as_of: str | None = None) -> view.FileSystemView:
        """All file groups of ``partition`` with their slices: one listing."""
        entries = self.listed.get(partition) if self.listed is not None else None
        if entries is None:
            entries = self.storage.list(partition)
            if self.listed is not None:
                self.listed[partition] = entries
        parsed = (parse_path(e.path, e.size) for e in entries if not e.is_dir)
        counted = [f for f in parsed if f is not None and self._counts(f)]
        late = late_beginnings(counted, self.timeline)
        files = tuple(f for f in counted if f.instant not in late)
        if as_of is not None and self.timeline.layout.log_names_slice:
            as_of = _end_of(as_of)
        return view.from_files(Snapshot(self.storage, self.timeline), files, as_of)

    def _counts(self, file: view.DataFile) -> bool:
        """What is completed here and not pending there; an instant that is not there at all is
        archived, or one of the metadata table's own."""
        return file.instant not in self._undecided

    @cached_property
    def _undecided(self) -> frozenset[str]:
        # A savepoint has the requested time of the write that it keeps, which is completed.
        return frozenset(i.requested for i in self.data.pending() if not i.traits.keeps)


def _end_of(instant: str) -> str:
    """After ``instant`` of the data table, and the instants of the metadata table that have digits
    more: base files of these hold what was told up to it."""
    return f"{order_key(instant)}{'9' * 6}"


def make_table(storage: Storage, data: TableConfig) -> None:
    """The properties that make the metadata table of a table with the properties ``data``; left
    alone where they are there. ``storage`` is the metadata table's own."""
    if storage.head(properties.PATH) is None:
        kept = {"hoodie.table.initial.version": str(data.version), **_MADE}
        if layout_of(data).log_names_slice:
            kept = dict(_MADE_BEFORE)
        kept = {
            **kept,
            **{k: v for k, v in own_config(data).properties.items() if k not in _UNSAID},
        }
        with suppress(TableExistsError):
            properties.create(storage, TableConfig(kept))


def mark_of(partition: str) -> str:
    """The file, below the metadata table, without which a partition is not complete. Hudi finds
    partitions by theirs."""
    return f"{partition}/.hoodoo_partition" if is_own(partition) else path_of(partition)


def own_config(config: TableConfig) -> TableConfig:
    """The metadata table's properties, as far as its files depend on them; they follow from the
    table's."""
    kept = (
        "hoodie.table.version",
        "hoodie.timeline.layout.version",
        "hoodie.table.timeline.timezone",
    )
    found = {key: config.properties[key] for key in kept if key in config.properties}
    return TableConfig(
        {
            **found,
            "hoodie.table.name": f"{config.name}_metadata",
            "hoodie.table.type": "MERGE_ON_READ",
            POPULATE.key: "false",
        }
    )


def is_listed(timeline: Timeline) -> bool:
    """Whether the metadata table lists the files of the table. A file that is lost is listed, too:
    the error comes when it is opened."""
    return FILES in timeline.config.metadata_partitions


def unlisted(config: TableConfig) -> TableConfig:
    """``config`` of a reader that does not want the metadata table."""
    kept = {k: v for k, v in config.properties.items() if k not in (LISTED, BUILDING, OWN_LISTED)}
    return TableConfig(kept)


def listed(config: TableConfig) -> tuple[str, ...]:
    """The partitions that may be read, Hoodoo's own among them."""
    return (*config.metadata_partitions, *names(config.get(OWN_LISTED)))


def building(config: TableConfig) -> tuple[str, ...]:
    """The partitions that are being built, Hoodoo's own among them."""
    return (*names(config.get(BUILDING)), *names(config.get(OWN_BUILDING)))


def has_partitions(config: TableConfig) -> bool:
    """Whether a partition may be read, or is being built."""
    return bool(listed(config) or building(config))


def has_files(storage: Storage) -> bool:
    """Whether a metadata table is there, perhaps one that the properties call gone."""
    return any(entry.path == FOLDER for entry in storage.list(".hoodie"))


def told_as(ready: Iterable[str], begun: Iterable[str]) -> dict[str, str | None]:
    """The changes of properties that say which partitions may be read and which are being built."""
    changes: dict[str, str | None] = {}
    for found, hudis, ours in ((ready, LISTED, OWN_LISTED), (begun, BUILDING, OWN_BUILDING)):
        partitions = sorted(set(found))
        changes[hudis] = ",".join(p for p in partitions if not is_own(p)) or None
        changes[ours] = ",".join(p for p in partitions if is_own(p)) or None
    return changes


def names(text: str | None) -> tuple[str, ...]:
    """The partitions that a property lists."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
