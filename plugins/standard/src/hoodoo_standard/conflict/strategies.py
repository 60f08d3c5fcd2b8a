"""Which writes can be published although they did not see each other: by the file groups they
touched.

Source: ``org.apache.hudi.client.transaction``,
``SimpleConcurrentFileWritesConflictResolutionStrategy`` and
``PreferWriterConflictResolutionStrategy``. Stricter than those where a write replaces partitions:
rows that came into one meanwhile would stay beside what replaces it."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs.conflict import Change, Group
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import Operation
from hoodoo.model.config import BUILT_METADATA
from hoodoo.timeline.instants import order_key

_SECONDARY = "secondary_index_"


@frozen
class FileGroups:
    """Two writes get into each other's way where they touch the same file group, or where one
    replaces what the other touches. A compaction changes no row: appends to its groups stand after
    its base file, and a group that is replaced is replaced with it."""

    @classmethod
    def from_settings(cls, settings: Settings) -> FileGroups:
        return cls()

    def conflict(self, mine: Change, other: Change) -> str | None:
        if other.pending:
            return None  # who publishes first wins
        return _shared(_overlap(mine, other)) or _replaced(mine, other)


@frozen
class LogAppends:
    """As :class:`FileGroups`, but log files of both may stand in one group: the table's merger
    decides between their rows, and where it goes by arrival, the later request wins. A group that
    both created would be two groups.

    Not beside a secondary index: each writer takes the entries away of the values that it found,
    and none puts those back of the row that wins."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LogAppends | FileGroups:
        table = settings.table
        being_made = (table.get(BUILT_METADATA) or "").split(",")
        indexes = (*table.metadata_partitions, *being_made)
        return FileGroups() if any(n.startswith(_SECONDARY) for n in indexes) else cls()

    def conflict(self, mine: Change, other: Change) -> str | None:
        if other.pending:
            return None
        beside = (mine.appended - mine.rewritten) & (other.appended - other.rewritten)
        return _shared(_overlap(mine, other) - (beside - mine.created)) or _replaced(mine, other)


@frozen
class PreferWriter:
    """As :class:`FileGroups`, but a compaction or clustering gives way to a write that is in
    progress, too. A write can't be put before a service that has been published: there it has to be
    repeated."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PreferWriter:
        return cls()

    def conflict(self, mine: Change, other: Change) -> str | None:
        if other.pending and (other.is_service or not mine.is_service):
            return None
        return _shared(_overlap(mine, other)) or _replaced(mine, other)


def _overlap(mine: Change, other: Change) -> frozenset[Group]:
    """The file groups that both touched in a way that matters."""
    both = mine.touched & other.touched
    for compaction, write in ((mine, other), (other, mine)):
        # The rows of a log compaction come before those of writes that were requested after it.
        merges = compaction.operation is Operation.LOG_COMPACT
        is_before = order_key(compaction.instant) < order_key(write.instant)
        if compaction.is_compaction or (merges and is_before):
            both = frozenset(g for g in both if g in write.rewritten and not write.replaces(g[0]))
    return both


def _shared(groups: frozenset[Group]) -> str | None:
    if not groups:
        return None
    path, name = min(groups)
    group = name if name.startswith("bucket ") else f"file group {name}"
    where = f" in partition {path}" if path else ""
    more = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    return f"it changed {group}{where}{more}, too"


def _replaced(mine: Change, other: Change) -> str | None:
    """Services replace file groups, and never all that is there: their groups say enough."""
    if mine.is_service or other.is_service:
        return None
    if hit := [path for path in sorted(other.partitions) if mine.replaces(path)]:
        return f"it wrote into {_place(hit[0])}, which this write replaces"
    if hit := [path for path in sorted(mine.partitions) if other.replaces(path)]:
        return f"it replaced {_place(hit[0])}, which this write has changed"
    return None


def _place(path: str) -> str:
    return f"partition {path}" if path else "the table"
