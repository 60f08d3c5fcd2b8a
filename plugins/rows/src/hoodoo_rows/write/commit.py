"""Commit, the result of a write, and the metadata of its instant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from attrs import field, frozen
from hoodoo.hookspecs.participant import ActionChange, ChangedKeys
from hoodoo.model.brief import Shown, listed, some
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.outcome import Figures
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import CoupledCommit

from hoodoo_rows.produce.key_changes import WriteResult
from hoodoo_rows.produce.slots import PlannedSlot
from hoodoo_rows.write.target import WriteTarget


@frozen
class Commit(Shown):
    """The outcome of a write.

    Counts are rows. ``unmerged``: how many of the updated and deleted rows are in log files, where
    they are counted as they are written; readers merge them with the stored rows. ``files`` are the
    paths of the new files, relative to the table. ``notes`` are sentences about what a clustering
    left out. An empty ``instant`` means that there was nothing to write, and that the timeline did
    not change."""

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
        """The counts of files and rows, as events have them."""
        return Figures(
            files_added=len(self.files),
            rows_inserted=self.inserted,
            rows_updated=self.updated,
            rows_deleted=self.deleted,
            rows_unmerged=self.unmerged,
        )

    @classmethod
    def of(
        cls,
        instant: str,
        action: str,
        operation: Operation,
        stats: Iterable[WriteStat],
        completed: str | None = None,
    ) -> Commit:
        """A commit with the counts of ``stats``."""
        stats = tuple(stats)
        done, files = CommitMetadata(operation, stats).figures, tuple(stat.path for stat in stats)
        return cls(
            instant,
            action,
            operation.value.lower(),
            done["rows_inserted"],
            done["rows_updated"],
            done["rows_deleted"],
            files,
            completed,
            unmerged=done["rows_unmerged"],
        )


def profile(
    operation: Operation, slots: Iterable[PlannedSlot], puts: Mapping[str, int]
) -> CommitMetadata:
    """The contents of the inflight file: what is about to be written."""
    stats: list[WriteStat] = [
        WriteStat(path, "", "", "null", num_inserts=rows) for path, rows in sorted(puts.items())
    ]
    stats += [
        # The number is not known yet: 1 says that the file group gets updates.
        WriteStat(s.partition_path, s.file_id, "", s.base.instant, num_updates=1)
        for s in slots
        if s.base is not None
    ]
    return CommitMetadata(operation, tuple(stats))


def replaced_groups(
    slices: Iterable[FileSlice], partitions: Iterable[str] | None
) -> dict[str, tuple[str, ...]]:
    """Partition path -> file ids that a replacecommit replaces; None means all partitions."""
    chosen = None if partitions is None else set(partitions)
    found: dict[str, list[str]] = {}
    for item in slices:
        if chosen is None or item.partition_path in chosen:
            found.setdefault(item.partition_path, []).append(item.file_id)
    return {path: tuple(sorted(ids)) for path, ids in sorted(found.items())}


def begin_joined(
    target: WriteTarget,
    instant: Instant,
    metadata: CommitMetadata,
    written: WriteResult,
    schema: pa.Schema,
) -> CoupledCommit | None:
    """Ask the participants for what they publish together with the commit ``metadata`` of
    ``instant``; None if there are no participants. ``written.stats`` are those of ``metadata``;
    ``schema`` is that of the table after the commit."""
    if target.joined is None:
        return None
    change = ActionChange(
        target.storage,
        target.timeline,
        instant,
        metadata.operation,
        schema,
        metadata.stats,
        replaced=metadata.replaced,
        engine=target.engine,
        keys=_keys(target, metadata, written) if target.joined.keys else None,
        index=target.index,
        serializer=target.serializer,
        resumed=metadata.operation is Operation.CLUSTER,
    )
    return target.joined.begin(change)


def _keys(target: WriteTarget, metadata: CommitMetadata, written: WriteResult) -> ChangedKeys:
    """The keys that came and went: those that tasks collected; or all keys of the new files, where
    files were written as they are; or none, where only whole file groups went."""
    rows, files = written.keys, {}
    if rows is not None:
        files = {n: (s.partition_path, s.file_id) for n, s in written.files.items()}
    elif written.direct:
        new = [_slice_of(stat) for stat in written.stats]
        rows = target.keys_of(new)
        files = {n: (s.partition_path, s.file_id) for n, s in enumerate(new)}
    gone = tuple(
        s for s in target.slices if s.file_id in metadata.replaced.get(s.partition_path, ())
    )
    # A clustering puts each key of what it replaces somewhere else.
    moves = metadata.operation is Operation.CLUSTER
    return ChangedKeys(target, rows, files, gone, moves)


def _slice_of(stat: WriteStat) -> FileSlice:
    base = parse_path(stat.path, stat.file_size)
    assert isinstance(base, BaseFile)  # a write without changed keys makes base files only
    return FileSlice(stat.partition_path, stat.file_id, base.instant, base)
