"""The metadata table as a participant: it says the same as the timeline, decided together with each
action. Every open table has it: what few reads need is imported where it is used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError, ConfigError, HoodooError, warn
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import Changes, KeysCheck, Participation, RebuildRequest, Rebuilt
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import at_once
from hoodoo.timeline import properties
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.ledger import settle
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load

from hoodoo_metadata import options as options_of
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.layout import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    GROWING_INDEX,
    KEPT,
    OWN_INDEXES,
    PARTITIONED,
    RECORD_INDEX,
    STORED,
    VIRTUAL_INDEXES,
    VIRTUAL_PATH_INDEX,
    is_expression,
    is_secondary,
)
from hoodoo_metadata.table.metadata_table import (
    BUILDING,
    FOLDER,
    LISTED,
    OWN_BUILDING,
    OWN_LISTED,
    OWN_MADE,
    MetadataTable,
    building,
    has_files,
    has_partitions,
    is_listed,
    listed,
    unlisted,
)


@frozen
class MetadataParticipant:
    """Of one table, with the options of a call
    (:class:`hoodoo.hookspecs.participant.Participant`)."""

    settings: Settings

    @classmethod
    def from_settings(cls, settings: Settings) -> MetadataParticipant:
        return cls(settings)

    @property
    def enabled(self) -> bool:
        """Whether there is to be a metadata table, as far as the options say."""
        return options_of.ENABLED.given(self.settings.options) is not False

    def join(self, storage: Storage, timeline: Timeline) -> Participation | None:
        if not self.enabled:
            return None
        if not (partitions := _kept(Snapshot(storage, timeline))):
            return None
        from hoodoo_metadata.writer import MetadataWriter

        return MetadataWriter(partitions, self._file_format, self.settings.options)

    def _file_format(self) -> BaseFileFormat:
        name = self.settings.table.base_file_format
        found: BaseFileFormat = resolve("file_format", name, self.settings).instance
        return found

    # --- properties -------------------------------------------------------------------------------
    @property
    def properties(self) -> tuple[str, ...]:
        return (LISTED, BUILDING, OWN_LISTED, OWN_BUILDING, OWN_MADE, KEPT)

    def hidden(self, config: TableConfig) -> TableConfig:
        return unlisted(config)

    def reading(self, config: TableConfig) -> TableConfig:
        return config if self.enabled else unlisted(config)

    def check(self) -> None:
        for partitioned in (False, True):
            IndexSize.of(self.settings.options, partitioned)

    def new_table(self, config: TableConfig) -> TableConfig:
        from hoodoo_metadata.life.wanted import with_metadata
        from hoodoo_metadata.partitions.bloom.write import refuse_unfiltered

        made = with_metadata(config, self.settings.options)
        if BLOOM_FILTERS in building(made):
            refuse_unfiltered(made.name, self._file_format())
        return made

    def created(self, storage: Storage, config: TableConfig) -> None:
        if RECORD_INDEX in building(config):
            from hoodoo_metadata.life.definitions import define
            from hoodoo_metadata.life.wanted import by_paths

            define(storage, config, [RECORD_INDEX], (), by_paths(config, self.settings.options))

    def stale(self, storage: Storage, config: TableConfig) -> TableConfig:
        config = self._adopted(storage, config)
        if has_partitions(config) or has_files(storage):
            from hoodoo_metadata.life.partition_state import drop_stale_partitions

            config = drop_stale_partitions(storage, config, self.enabled)
        if not (dropped := options_of.DROPPED.given(self.settings.options)):
            return config
        from hoodoo_metadata.life.drop import drop, droppable, partition_named

        gone = droppable(config, [partition_named(config, name) for name in dropped])
        return drop(storage, config, gone) if gone else config

    # --- life of actions --------------------------------------------------------------------------
    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        from hoodoo_metadata.life.undo import forget

        forget(storage, config, requested)

    def sweep(self, storage: Storage, undone: Collection[str]) -> None:
        from hoodoo_metadata.life.undo import sweep_forgotten

        sweep_forgotten(storage, undone)

    def holds(self, storage: Storage, timeline: Timeline, requested: str) -> bool:
        from hoodoo_metadata.table import compact

        if timeline.find(requested) is None or not _kept(Snapshot(storage, timeline)):
            return False
        return compact.holds(MetadataTable.open(storage, timeline), requested)

    def refuse_undo(self, storage: Storage, timeline: Timeline, requested: str) -> None:
        """CommitConflictError where ``requested`` came into base files of the metadata table."""
        from hoodoo_metadata.life.partition_state import is_in_use
        from hoodoo_metadata.table import compact

        now = Snapshot(storage, evolve(timeline, config=properties.load(storage)))
        if is_in_use(now) and compact.holds(MetadataTable.open(storage, now.timeline), requested):
            raise CommitConflictError(
                f"{storage.root}: instant {requested}",
                "was put into the base files of the metadata table meanwhile.",
                "Roll it back again: the metadata table is rebuilt then.",
            )

    def kept_from(self, storage: Storage, timeline: Timeline) -> str | None:
        from hoodoo_metadata.table import compact

        now = evolve(timeline, config=properties.load(storage))
        return compact.first_needed(storage, now, _kept(Snapshot(storage, now)))

    def retire(self, storage: Storage, config: TableConfig) -> TableConfig:
        from hoodoo_metadata.life.build import retire

        return retire(storage, self._adopted(storage, config))

    def _adopted(self, storage: Storage, config: TableConfig) -> TableConfig:
        if self.enabled and listed(config):
            from hoodoo_metadata.life.adopt import adopt

            config = adopt(storage, config)
        return config

    def repair(self, request: RebuildRequest) -> TableConfig:
        storage, config = request.storage, request.config
        if not self.enabled or not has_partitions(config):
            return config
        from hoodoo_metadata.life.adopt import adopt
        from hoodoo_metadata.life.build import finish, finish_retiring, without_times
        from hoodoo_metadata.life.partition_state import built, half_retired
        from hoodoo_metadata.partitions.column_stats.from_files import columns_of
        from hoodoo_metadata.partitions.known import is_kept

        request = evolve(request, config=(config := adopt(storage, config)))
        begun = [p for p in building(config) if is_kept(config, p)]
        if not begun and not half_retired(storage, config):
            return config
        with suppress(HoodooError):  # who may not write goes by what there is
            settle(storage, config)
        timeline = load(storage, config)
        living = Liveness(storage)
        if any(i.action == INDEXING and living.is_alive(i.requested) for i in timeline.pending()):
            return config
        lacking = half_retired(storage, config)
        if lacking:  # still, and nobody is at it
            config = finish_retiring(storage, config, lacking)
            timeline = evolve(timeline, config=config)
            begun = [p for p in building(config) if is_kept(config, p)]
        done = built(Snapshot(storage, timeline), begun)
        if done:
            columns = columns_of(request.look().schema, config, self.settings.options)
            with suppress(CommitConflictError):  # another process changes the properties just now
                config = finish(storage, config, done, columns)
        left = [p for p in begun if p not in done]
        gone = without_times(config, left, request.look)  # a rollback brought a bootstrap's back
        if gone:
            warn(
                f"table {config.name}: the index {', '.join(gone)} is removed: it stores of each "
                "row when its file was written, and the instant of a bootstrap is no time. Rewrite "
                "these files: table.compact() where they have log files, then table.cluster("
                'order="linear", columns=["id"]), with a column of yours; and make the index again.'
            )
            config = self._give_up(storage, config, gone)
            left = [p for p in left if p not in gone]
        if left:
            with suppress(CommitConflictError):  # another one is at it, or undoes something
                return self._build(evolve(request, config=config), left, None, [])
        return config

    def service(
        self, storage: Storage, timeline: Timeline, engine: Callable[[], Engine], due: bool
    ) -> tuple[str, ...]:
        if not (partitions := _kept(Snapshot(storage, timeline))):
            return ()
        from hoodoo_metadata.table import compact
        from hoodoo_metadata.table.commit import NEWEST

        if due:
            every = options_of.COMPACT_EVERY.read(self.settings.options)
            noted = timeline.noted.pop(NEWEST, None)
            # It was listed for the newest commit, and lacks it.
            far = noted if at_once(storage) > 1 and isinstance(noted, Timeline) else None
            if far is not None and compact.commits_since(far) + 1 < every:
                return ()
            if compact.commits_since(MetadataTable.open(storage, timeline).timeline) < every:
                return ()
        return compact.compact(storage, timeline, partitions, engine())

    # --- indexes ----------------------------------------------------------------------------------
    def makes(self, name: str) -> bool:
        from hoodoo_metadata.life.wanted import stored_name
        from hoodoo_metadata.partitions.known import folder_of, names

        known = is_secondary(name) or is_expression(name) or folder_of(name) in names()
        return known or stored_name(name) is not None

    def stores(self, index: str) -> bool:
        return index in STORED

    def lacks(self, storage: Storage, config: TableConfig, index: str) -> bool:
        from hoodoo_metadata.life.definitions import is_partitioned
        from hoodoo_metadata.life.kept_by import is_doubled, why_stale
        from hoodoo_metadata.life.wanted import partition_of, refuse_impossible, refuse_partitioned

        partition = partition_of(index, config)
        refuse_impossible(config, partition, index)
        if index == PARTITIONED:
            refuse_partitioned(config)
        self._refuse_index(index)
        if partition not in listed(config):
            return True
        if index != PARTITIONED and is_doubled(config, partition):
            return True  # entries may be missing
        if partition in OWN_INDEXES:  # what lookups refuse is rebuilt
            return why_stale(Snapshot(storage, load(storage, config)), partition) is not None
        return is_partitioned(storage) != (index == PARTITIONED)

    def _refuse_index(self, index: str) -> None:
        if not self.enabled:
            raise ConfigError(
                f"option {options_of.ENABLED.key}=false",
                f"contradicts the index {index}, which lies in the metadata table.",
                "open the table without it.",
            )

    def shares(self, one: str, other: str) -> bool:
        return one != other and STORED.get(one, one) == STORED.get(other, other)

    def rebuild(self, request: RebuildRequest) -> Rebuilt:
        from hoodoo_metadata.life.wanted import Wanted

        request = evolve(request, config=self._adopted(request.storage, request.config))
        wanted = Wanted.of(request)
        if request.name is not None and self.stores(request.name):
            self._refuse_index(request.name)  # the next write would take it away
        request = evolve(request, config=self.stale(request.storage, request.config))
        repeated: list[int] = []
        config = self._build(
            request, wanted.partitions, wanted.partitioned, repeated, wanted.partition
        )
        unique = wanted.index if set(repeated) == {0} else None
        if RECORD_INDEX in wanted.partitions:
            config = self._give_up(request.storage, config, VIRTUAL_INDEXES)
        return Rebuilt(config, wanted.partitions, unique)

    def _build(
        self,
        request: RebuildRequest,
        partitions: Sequence[str],
        partitioned: bool | None,
        repeated: list[int],
        named: str | None = None,
    ) -> TableConfig:
        """``partitioned``: the record index is to be of partition paths; None: as it is.
        ``repeated`` is given the number of keys that lie in more than one place. ``named``: the
        partition that was asked for by name."""
        from hoodoo_metadata.life.build import build
        from hoodoo_metadata.life.definitions import is_partitioned
        from hoodoo_metadata.partitions.record_index.shape import shaped, sized

        if partitioned is None:
            said = is_partitioned(request.storage, config=request.config)
            partitioned = VIRTUAL_PATH_INDEX in partitions or said
        size = IndexSize.of(self.settings.options, partitioned)
        size = sized(size, request.shape, named)
        size = evolve(size, told=repeated.append, source=request.source)

        def changes(now: TableConfig) -> Changes:
            return shaped(now, request.shape) if GROWING_INDEX in partitions else {}

        changes(request.config)  # what can't be is refused before anything is changed
        return build(request.storage, request.config, partitions, request.look, size, changes)

    def make_virtual(self, request: RebuildRequest) -> TableConfig:
        from hoodoo_metadata.life.definitions import is_partitioned
        from hoodoo_metadata.life.kept_by import why_stale

        config, storage = request.config, request.storage
        if RECORD_INDEX not in listed(config) or layout_of(config).log_names_slice:
            return config  # of version 6 there are no partitions of Hoodoo's own
        own = VIRTUAL_INDEXES[is_partitioned(storage)]
        if (
            own in listed(config)
            and why_stale(Snapshot(storage, load(storage, config)), own) is None
        ):
            return config
        return self._build(request, [own], own == VIRTUAL_PATH_INDEX, [])

    def make_stored(self, request: RebuildRequest) -> TableConfig:
        from hoodoo_metadata.life.wanted import stored_name

        config = request.config
        there = [p for p in VIRTUAL_INDEXES if p in (*listed(config), *building(config))]
        if not there or RECORD_INDEX in listed(config):
            return self._give_up(request.storage, config, there)
        # An index of partition paths alone may be made: keys may lie in each.
        own = stored_name(request.own_index or "")
        by_paths = there[-1] == VIRTUAL_PATH_INDEX and own != RECORD_INDEX
        # Hudi's partitions are read beside that of files alone; Hoodoo's own may have been there
        # without it.
        wanted = [RECORD_INDEX] if FILES in listed(config) else [FILES, RECORD_INDEX]
        config = self._build(request, wanted, by_paths, [])
        return self._give_up(request.storage, config, there)

    def _give_up(
        self, storage: Storage, config: TableConfig, partitions: Sequence[str]
    ) -> TableConfig:
        """The ``partitions`` are kept no longer: nobody names them, then their files go."""
        from hoodoo_metadata.life.partition_state import without

        gone = {p for p in partitions if p in (*listed(config), *building(config))}
        if gone:
            config = properties.update(storage, config, lambda now: without(now, gone))
            for partition in gone:
                storage.delete_prefix(f"{FOLDER}/{partition}")
        return config

    def keys_are_virtual(self, config: TableConfig) -> Changes:
        from hoodoo_metadata.life.partition_state import without
        from hoodoo_metadata.partitions.known import of_keys
        from hoodoo_metadata.partitions.secondary.rows import secondaries

        gone = of_keys() | set(secondaries(config))
        return without(config, gone) if gone & {*listed(config), *building(config)} else {}

    def delete_given_up(self, storage: Storage, config: TableConfig) -> None:
        from hoodoo_metadata.partitions.known import of_keys
        from hoodoo_metadata.partitions.secondary.rows import secondaries

        every = of_keys() | set(secondaries(config))
        for partition in every - {*listed(config), *building(config)}:
            storage.delete_prefix(f"{FOLDER}/{partition}")
        if not listed(config) and not building(config):
            storage.delete_prefix(FOLDER)

    # --- what it knows ----------------------------------------------------------------------------
    def lists(self, timeline: Timeline) -> bool:
        return is_listed(timeline)

    def list_files(
        self, storage: Storage, timeline: Timeline, partitions: Iterable[str] | None = None
    ) -> Iterable[Entry]:
        from hoodoo_metadata.partitions.files.listing import list_files

        return list_files(Snapshot(storage, timeline), partitions)

    def column_ranges(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Sequence[BaseFile],
        columns: Sequence[str],
    ) -> Mapping[BaseFile, Mapping[str, ColumnRange]]:
        if COLUMN_STATS not in timeline.config.metadata_partitions:
            return {}
        from hoodoo_metadata.partitions.column_stats.lookup import ranges_of_files

        return ranges_of_files(Snapshot(storage, timeline), files, columns)

    def verify_files(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Mapping[str, int],
        expected: Callable[[str], bool],
        removed: Callable[[str], bool],
    ) -> Iterable[Finding | str]:
        from hoodoo_metadata.life.verify import check_listing
        from hoodoo_metadata.partitions.bloom.verify import check_filters

        yield from check_listing(Snapshot(storage, timeline), files, expected, removed)
        yield from check_filters(Snapshot(storage, timeline), files, expected)

    def verify_keys(self, storage: Storage, timeline: Timeline) -> KeysCheck | None:
        from hoodoo_metadata.life.keys_check import keys_check

        return keys_check(Snapshot(storage, timeline), self._file_format, self.settings)


def _kept(snapshot: Snapshot) -> tuple[str, ...]:
    if not has_partitions(snapshot.config):
        return ()
    from hoodoo_metadata.life.partition_state import current_partitions

    return current_partitions(snapshot)
