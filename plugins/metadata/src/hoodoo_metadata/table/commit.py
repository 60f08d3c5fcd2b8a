"""Metadata commit: what the metadata table says of one instant of the data table, begun and
decided.

Begun means log files under a pending deltacommit of the same instant. It is completed by the same
decision as the instant of the data table, right before it
(:class:`~hoodoo.timeline.publish.CoupledCommit`): both or none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import evolve, frozen
from hoodoo.kernel.log_files import log_files
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.instant import Instant, State
from hoodoo.storage.together import discard, together
from hoodoo.timeline import publish
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import compactions, pending_compactions
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo_rows.api import Pending

from hoodoo_metadata.table.layout import is_own
from hoodoo_metadata.table.log_places import LogPlaces
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable
from hoodoo_metadata.table.own_logs import logs_of

DELTACOMMIT = "deltacommit"
# Where a decision notes the timeline of the metadata table, as it was then.
NEWEST = "the metadata table's timeline"


@frozen
class PendingDeltaCommit:
    """A deltacommit of the metadata table that is pending. ``places``: where its log files go, in
    version 6."""

    table: MetadataTable
    instant: Instant
    schema_text: str
    places: LogPlaces | None = None

    @classmethod
    def at(
        cls, table: MetadataTable, requested: str, schema_text: str, partitions: Sequence[str]
    ) -> PendingDeltaCommit:
        """Requested and inflight, of ``partitions``. An earlier run of the same service may have
        begun it, too."""
        instant = Instant(requested, DELTACOMMIT, State.REQUESTED)
        table.storage.put_if_absent(table.timeline.path(instant), b"")
        content = table.timeline.layout.encode_inflight(CommitMetadata(Operation.UPSERT_PREPPED))
        instant = publish.inflight(Snapshot(table.storage, table.timeline), instant, content)
        return cls.of(table, instant, schema_text, partitions)

    @classmethod
    def of(
        cls, table: MetadataTable, instant: Instant, schema_text: str, partitions: Sequence[str]
    ) -> PendingDeltaCommit:
        """Of an ``instant`` that is on the timeline."""
        by_slice = table.timeline.layout.log_names_slice
        places = LogPlaces.of(table, partitions) if by_slice else None
        return cls(table, instant, schema_text, places)

    def places_of(self, partition: str) -> LogPlaces | None:
        """Where log files of one partition go, for tasks."""
        return None if self.places is None else self.places.within(partition)

    @property
    def pending(self) -> Pending:
        return Pending.of(self.table.timeline, self.instant)

    def reconcile(self, stats: Sequence[WriteStat], partitions: Sequence[str]) -> None:
        """Log files of this instant that no stat names go: readers would take them for its own."""
        storage, found = self.table.storage, self._files(partitions)
        named = {stat.path for stat in stats}
        if named.issuperset(found):
            return
        # Looked at after the listing: where another process has completed it, its files count, and
        # not those put here.
        now = reload(storage, self.table.timeline)
        done = now.find(self.instant.requested)
        if done is not None:
            named = {stat.path for stat in now.metadata(storage, done).stats}
        discard(storage, [path for path in found if path not in named])

    def _files(self, partitions: Sequence[str]) -> list[str]:
        """Files of this instant alone."""
        storage, requested = self.table.storage, self.instant.requested
        if self.places is not None:
            return [log.path for log in logs_of(storage, partitions, requested, log_files()).whole]
        listed = together(storage, *(partial(storage.list, p) for p in partitions))
        parsed = (parse_path(entry.path, entry.size) for entries in listed for entry in entries)
        return [file.path for file in parsed if file is not None and file.instant == requested]

    def complete_alone(self, stats: Sequence[WriteStat]) -> None:
        """Complete it after its instant of the data table, for which nobody has."""
        beside = self.beside(stats)
        timeline = self.table.data
        done = next(i for i in timeline.completed() if i.requested == self.instant.requested)
        for path, content in beside.files(done):
            self.table.storage.put_if_absent(path[len(FOLDER) + 1 :], content)

    def beside(self, stats: Sequence[WriteStat]) -> CoupledCommit:
        """What completes it, together with the instant of the data table."""
        told = [stat for stat in stats if not is_own(stat.partition_path)]
        encode = self.table.timeline.layout.encode_commit

        def files(done: Instant) -> tuple[tuple[str, bytes], ...]:
            told[:] = self._behind(told)
            extra = {"schema": self.schema_text}
            metadata = CommitMetadata(Operation.UPSERT_PREPPED, tuple(told), extra=extra)
            content = encode(metadata, DELTACOMMIT)
            mine = evolve(self.instant, state=State.COMPLETED, completed=done.completed)
            return ((f"{FOLDER}/{self.table.timeline.path(mine)}", content),)

        return CoupledCommit(self.newest, files)

    def newest(self) -> str | None:
        """The newest instant on the timeline of the metadata table, now."""
        now = reload(self.table.storage, self.table.timeline)
        self.table.data.noted[NEWEST] = now
        return now.last_instant_time()

    def _behind(self, stats: Sequence[WriteStat]) -> Sequence[WriteStat]:
        """``stats`` of log files that are in the newest slices: in version 6 a compaction that was
        planned since they were put would pass over them. They are put behind it; what was put first
        belongs to a slice of before."""
        storage, timeline = self.table.storage, self.table.timeline
        if self.places is None or _compactions(timeline) == _compactions(reload(storage, timeline)):
            return stats
        now = LogPlaces.of(self.table, sorted({stat.partition_path for stat in stats}))
        return [self._moved(stat, now) for stat in stats]

    def _moved(self, stat: WriteStat, now: LogPlaces) -> WriteStat:
        place = now.by_group[stat.partition_path, stat.file_id]
        log = parse_path(stat.path)
        if place.start == stat.prev_commit or log is None:
            return stat
        new = place.next(stat.partition_path, stat.file_id, log.write_token)
        self.table.storage.put_if_absent(new.file.path, self.table.storage.get(stat.path))
        return evolve(
            stat,
            path=new.file.path,
            prev_commit=new.prev_commit,
            base_file=new.base_file,
            log_version=new.file.version,
            log_files=new.files,
        )


def _compactions(timeline: Timeline) -> frozenset[str]:
    done = (i.requested for i in compactions(timeline))
    return frozenset((*done, *(i.requested for i in pending_compactions(timeline))))
