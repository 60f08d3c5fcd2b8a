"""Metadata commit: what the metadata table says of one instant of the data table, begun and decided.

Begun means log files under a pending deltacommit of the same instant. It is completed by the same decision
as the instant of the data table, right before it (:class:`~hoodoo.timeline.publish.CoupledCommit`): both or none.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.instant import Instant, State
from hoodoo.produce.pending import Pending
from hoodoo.timeline import publish
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import reload

from hoodoo_metadata.layout import is_own
from hoodoo_metadata.table import FOLDER, MetadataTable

DELTACOMMIT = "deltacommit"


@frozen
class PendingDeltaCommit:
    """A deltacommit of the metadata table that is pending."""

    table: MetadataTable
    instant: Instant
    schema_text: str

    @classmethod
    def at(cls, table: MetadataTable, requested: str, schema_text: str) -> PendingDeltaCommit:
        """Requested and inflight. An earlier run of the same service may have begun it, too."""
        instant = Instant(requested, DELTACOMMIT, State.REQUESTED)
        table.storage.put_if_absent(table.timeline.path(instant), b"")
        content = table.timeline.layout.encode_inflight(CommitMetadata(Operation.UPSERT_PREPPED))
        instant = publish.inflight(table.storage, table.timeline, instant, content)
        return cls(table, instant, schema_text)

    @property
    def pending(self) -> Pending:
        return Pending.of(self.table.timeline, self.instant)

    def reconcile(self, stats: Sequence[WriteStat], partitions: Sequence[str]) -> None:
        """Log files of this instant that no stat names go: readers would take them for its own."""
        named = {stat.path for stat in stats}
        for partition in partitions:
            for entry in self.table.storage.list(partition):
                file = parse_path(entry.path, entry.size)
                mine = file is not None and file.instant == self.instant.requested
                if mine and entry.path not in named:
                    self.table.storage.delete(entry.path)

    def complete_alone(self, stats: Sequence[WriteStat]) -> None:
        """Complete it after its instant of the data table, for which nobody has."""
        beside = self.beside(stats)
        timeline = self.table.data
        done = next(i for i in timeline.completed() if i.requested == self.instant.requested)
        for path, content in beside.files(done):
            self.table.storage.put_if_absent(path[len(FOLDER) + 1 :], content)

    def beside(self, stats: Sequence[WriteStat]) -> CoupledCommit:
        """What completes it, together with the instant of the data table."""
        metadata = CommitMetadata(
            Operation.UPSERT_PREPPED,
            tuple(stat for stat in stats if not is_own(stat.partition_path)),
            extra={"schema": self.schema_text},
        )
        content = self.table.timeline.layout.encode_commit(metadata, DELTACOMMIT)

        def newest() -> str | None:
            return reload(self.table.storage, self.table.timeline).last_instant_time()

        def files(done: Instant) -> tuple[tuple[str, bytes], ...]:
            mine = evolve(self.instant, state=State.COMPLETED, completed=done.completed)
            return ((f"{FOLDER}/{self.table.timeline.path(mine)}", content),)

        return CoupledCommit(newest, files)
