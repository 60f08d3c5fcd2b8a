"""Commit: what a write answers, and the way from written files to a published instant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from hoodoo.model.brief import Shown, listed, some
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.outcome import Figures
from hoodoo.produce.slots import PlannedSlot


@frozen
class Commit(Shown):
    """The outcome of a write that is on the timeline.

    Counts are rows; ``unmerged`` of the updated and deleted ones are in log files, where they are counted as they are
    written: readers merge them with the stored rows. ``files`` are the paths of the new files, relative to the table. ``notes``
    are sentences about what a clustering left out. An empty ``instant`` means that there was nothing to write
    and that the timeline did not change.
    """

    instant: str
    action: str
    operation: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    files: tuple[str, ...] = field(default=(), repr=listed)
    completed: str | None = None
    notes: tuple[str, ...] = field(default=(), repr=listed, eq=False)
    unmerged: int = 0

    def _facts(self) -> Mapping[str, object]:
        counts = f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"
        counts += f", {self.unmerged} of them in log files, not merged yet" if self.unmerged else ""
        what = f"{self.operation} ({self.action})"
        return {
            "instant": self.instant,
            "operation": what,
            "rows": counts,
            "files": some(self.files),
        }

    @property
    def figures(self) -> Figures:
        return Figures(
            files_added=len(self.files), rows_inserted=self.inserted,
            rows_updated=self.updated, rows_deleted=self.deleted, rows_unmerged=self.unmerged,
        )  # fmt: skip

    @classmethod
    def of(
        cls, instant: str, action: str, operation: Operation, stats: Iterable[WriteStat],
        completed: str | None = None,
    ) -> Commit:  # fmt: skip
        stats = tuple(stats)
        done, files = CommitMetadata(operation, stats).figures, tuple(stat.path for stat in stats)
        return cls(
            instant, action, operation.value.lower(), done["rows_inserted"], done["rows_updated"],
            done["rows_deleted"], files, completed, unmerged=done["rows_unmerged"],
        )  # fmt: skip


def profile(
    operation: Operation, slots: Iterable[PlannedSlot], puts: Mapping[str, int]
) -> CommitMetadata:
    """The contents of the inflight file: what is about to be written (format page 2.3)."""
    stats: list[WriteStat] = [
        WriteStat(path, "", "", "null", num_inserts=rows) for path, rows in sorted(puts.items())
    ]
    stats += [
        WriteStat(s.partition_path, s.file_id, "", s.base.instant, num_updates=1)
        for s in slots
        if s.base is not None
    ]
    return CommitMetadata(operation, tuple(stats))


def replaced_groups(
    slices: Iterable[FileSlice], partitions: Iterable[str] | None
) -> dict[str, tuple[str, ...]]:
    """Partition path -> file ids that a replacecommit leaves behind; None means all partitions."""
    chosen = None if partitions is None else set(partitions)
    found: dict[str, list[str]] = {}
    for item in slices:
        if chosen is None or item.partition_path in chosen:
            found.setdefault(item.partition_path, []).append(item.file_id)
    return {path: tuple(sorted(ids)) for path, ids in sorted(found.items())}
