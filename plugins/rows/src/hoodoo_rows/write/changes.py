"""What an instant changed, as strategies of conflicts compare it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from hoodoo.hookspecs.conflict import Change, Group
from hoodoo.hookspecs.index import ComputedIndex
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant

from hoodoo_rows.write.target import WriteTarget


def change_of(
    instant: Instant,
    metadata: CommitMetadata,
    replaced: Sequence[str] | None = (),
    group: Callable[[str, str], Group] = lambda path, file_id: (path, file_id),
) -> Change:
    """What ``instant`` did to file groups, by its ``metadata``. ``replaced``: the partition paths
    that it put itself in the place of (None: all). ``group`` names a file group by its partition
    path and file id."""
    stats = metadata.stats
    appended = {group(s.partition_path, s.file_id) for s in stats if s.log_version is not None}
    rewritten = {group(s.partition_path, s.file_id) for s in stats if s.log_version is None}
    created = {
        group(s.partition_path, s.file_id)
        for s in stats
        if (s.num_inserts if s.log_version is not None else s.prev_commit == "null")
    }
    gone = {group(path, file_id) for path, file_id in metadata.replaced_groups}
    return Change(
        instant=instant.requested,
        action=instant.action,
        operation=metadata.operation,
        rewritten=frozenset(rewritten | gone),
        appended=frozenset(appended),
        replaced_partitions=None if replaced is None else frozenset(replaced),
        partitions=frozenset({s.partition_path for s in stats} | set(metadata.replaced)),
        created=frozenset(created),
    )


def appended_groups(metadata: CommitMetadata, by_key: bool) -> dict[tuple[str, str], int]:
    """The file groups that got a log file, and how many rows these delete; ``by_key``: without
    marked rows."""
    logs = (s for s in metadata.stats if s.log_version is not None)
    return {(s.partition_path, s.file_id): s.num_deletes - by_key * s.marks for s in logs}


def replaced_partitions(metadata: CommitMetadata) -> Sequence[str] | None:
    """The partition paths whose rows a published write put its own in the place of; None: all."""
    if metadata.operation is Operation.INSERT_OVERWRITE_TABLE:
        return None
    if metadata.operation in (Operation.INSERT_OVERWRITE, Operation.DELETE_PARTITION):
        return sorted({s.partition_path for s in metadata.stats} | set(metadata.replaced))
    return ()


@runtime_checkable
class NamesBuckets(Protocol):
    """What a PathIndex has in addition whose new file groups are named by the write."""

    def group_of(self, file_id: str) -> int:
        """The bucket of a file group in its partition path."""


def grouping(target: WriteTarget) -> Callable[[str, str], tuple[str, str]]:
    """What names a file group: with buckets, two new file groups of one bucket are the same."""
    index = target.index
    if isinstance(index, NamesBuckets):
        return lambda path, file_id: (path, f"bucket {index.group_of(file_id)}")
    if not isinstance(index, ComputedIndex):  # else the file id is that of the bucket
        return lambda path, file_id: (path, file_id)
    return lambda path, file_id: (path, f"bucket {index.bucket_of(file_id)}")
