"""Writer: what each action of the table adds to its metadata table, begun before the action is
decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import Factory, evolve, frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.kept_by import KEPT_BY
from hoodoo_metadata.life.unbuilt import retire_unbuilt
from hoodoo_metadata.partitions.api import Work
from hoodoo_metadata.partitions.files.deltas import FileChange
from hoodoo_metadata.partitions.known import chosen
from hoodoo_metadata.table.commit import PendingDeltaCommit
from hoodoo_metadata.table.deltas import put_deltas
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import record_schema


@frozen
class MetadataWriter:
    """Of one table, with the metadata ``partitions`` that it has. ``file_format`` is asked where
    new files are looked into. See :class:`hoodoo.hookspecs.participant.Participation`."""

    partitions: tuple[str, ...]
    file_format: Callable[[], BaseFileFormat]
    options: Mapping[str, str] = Factory(dict)

    @property
    def keys(self) -> bool:
        return any(partition.keys for partition in chosen(self.partitions))

    @property
    def noted(self) -> Mapping[str, str]:
        kept = [partition.name for partition in chosen(self.partitions) if partition.noted]
        return {KEPT_BY: ",".join(kept)} if kept else {}

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        seen = MetadataTable.open if change.resumed else MetadataTable.seen
        if not change.resumed and not change.stats:
            seen = MetadataTable.seen_before
        table = seen(change.storage, change.timeline)
        kept, looked = self.partitions, Snapshot(change.storage, change.timeline)
        if table.begun or not table.timeline.instants:  # a build is at work, or has died
            lacking = retire_unbuilt(looked)
            kept = tuple(p for p in kept if p not in lacking)
        if not kept:
            return None
        text = record_schema(change.timeline.config.version)
        begun = PendingDeltaCommit.at(table, change.instant.requested, text, kept)
        files = FileChange.of(change.stats, change.removed)

        def retired(partition: str) -> bool:
            return partition in retire_unbuilt(looked)

        work = Work(begun, change, files, kept, self.file_format, self.options, retired=retired)
        partitions = chosen(kept)
        deltas = [delta for partition in partitions for delta in partition.deltas(work)]
        newest: list[str | None] = []
        stats = put_deltas(
            begun.table.storage,
            begun.pending,
            deltas,
            text,
            begun.places,
            lambda: newest.append(begun.newest()),
        )
        for partition in partitions:
            stats += partition.of_files(work)
        if change.keys is not None:
            for partition in partitions:
                if partition.keys:
                    stats += partition.write(work)
        if change.resumed:
            begun.reconcile(stats, kept)
        return evolve(begun.beside(stats), seen=tuple(newest))
