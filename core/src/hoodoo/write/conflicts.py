"""Conflicts: what others have published since a write read the table, and whether it bears that.

Asked right before the decision to publish, with the timeline as the decision before left it: nobody
comes in between (timeline/ledger.py). Each other write is looked at once, however often that is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from attrs import define, field

from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.conflict import Change, ConflictStrategy
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant
from hoodoo.model.meta import without_meta
from hoodoo.model.schema_avro import arrow_schema
from hoodoo.timeline import batches
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo.write.operation import Replaces, WriteKind
from hoodoo.write.overtaken import refuse_under_compaction
from hoodoo.write.target import WriteTarget
from hoodoo.write.uniqueness import shared_key


@define
class CommitCheck:
    """Raises CommitConflictError if the write of ``instant`` can't be published after what came since
    its snapshot (``target.timeline``). ``replaced`` are the partition paths that it replaces (None: all),
    ``schema`` is what it leaves the table with.
    """

    target: WriteTarget
    kind: WriteKind
    instant: Instant
    metadata: CommitMetadata
    replaced: Sequence[str] | None
    batch: Batch | None
    strategy: ConflictStrategy
    schema: pa.Schema
    _known: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self._known = {i.requested for i in self.target.timeline.writes()}

    def __call__(self, fresh: Timeline) -> None:
        self._nothing_undone(fresh)
        storage = self.target.storage
        mine = None
        for other in fresh.writes():
            if other.requested in self._known:
                continue
            metadata = fresh.metadata(storage, other)
            if mine is None:
                replaced = self.replaced if self.kind.replaces is not Replaces.NOTHING else ()
                mine = self._change(self.instant, self.metadata, replaced)
            theirs = self._change(other, metadata, _replaced(metadata))
            if reason := self.strategy.conflict(mine, theirs):
                raise self._conflict(other, reason)
            self._same_schema(other, metadata)
            self._unique_keys(other, metadata)
            self._known.add(other.requested)
        if self.batch is not None and batches.applied(storage, fresh).has(self.batch):
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                f"batch {self.batch.number} of stream {self.batch.identifier} came in by another writer.",
                "Nothing: the batch is in the table.",
            )
        if self.target.logs is not None:
            refuse_under_compaction(
                storage, self.target.timeline, fresh, self.instant, self.metadata.stats
            )

    def _nothing_undone(self, fresh: Timeline) -> None:
        """What the write read is still committed, or archived."""
        now = {i.requested for i in fresh.writes()}
        start = order_key(fresh.start) if fresh.start else ""
        for seen in self.target.timeline.writes():
            if seen.requested not in now and order_key(seen.requested) >= start:
                raise CommitConflictError(
                    f"instant {self.instant.requested}",
                    f"{seen}, which this write had read, was undone meanwhile.",
                    "Repeat the write.",
                )

    def _same_schema(self, other: Instant, metadata: CommitMetadata) -> None:
        text = metadata.schema_text
        if text is None or not metadata.operation.can_change_schema:
            return
        if without_meta(arrow_schema(text)) != self.target.schema:
            raise self._conflict(other, "it changed the schema of the table")
        # Of schemas that of the newest request stands, whoever completes last.
        if self.schema != self.target.schema and order_key(other.requested) > order_key(
            self.instant.requested
        ):
            raise self._conflict(other, "it would hide that this write changes the schema")

    def _unique_keys(self, other: Instant, metadata: CommitMetadata) -> None:
        """Of a key that both had not found, one of the two writes has to find the other's row. Where
        the index computes file groups, both touch the same one, and the strategy has seen it."""
        if not self.kind.looks_up or self.target.computed is not None:
            return
        key = shared_key(self.target, self.instant, self.metadata.stats, other, metadata.stats)
        if key is not None:
            raise self._conflict(
                other, f"it inserted record key {key!r}, which this write has, too"
            )

    def _change(
        self, instant: Instant, metadata: CommitMetadata, replaced: Sequence[str] | None
    ) -> Change:
        group = _grouping(self.target)
        stats = metadata.stats
        appended = {group(s.partition_path, s.file_id) for s in stats if s.log_version is not None}
        rewritten = {group(s.partition_path, s.file_id) for s in stats if s.log_version is None}
        created = {
            group(s.partition_path, s.file_id)
            for s in stats
            if (s.num_inserts if s.log_version is not None else s.prev_commit == "null")
        }
        gone = {group(path, i) for path, ids in metadata.replaced.items() for i in ids}
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

    def _conflict(self, other: Instant, reason: str) -> CommitConflictError:
        return CommitConflictError(
            f"instant {self.instant.requested}",
            f"another writer published {other} after this write had read the table, and {reason}.",
            "Repeat the write.",
        )


def _replaced(metadata: CommitMetadata) -> Sequence[str] | None:
    """The partition paths whose rows a published write put its own in the place of; None: all."""
    if metadata.operation is Operation.INSERT_OVERWRITE_TABLE:
        return None
    if metadata.operation in (Operation.INSERT_OVERWRITE, Operation.DELETE_PARTITION):
        return sorted({s.partition_path for s in metadata.stats} | set(metadata.replaced))
    return ()


def _grouping(target: WriteTarget) -> Callable[[str, str], tuple[str, str]]:
    """What names a file group: with buckets, two new file groups of one bucket are the same."""
    index = target.computed
    if index is None:
        return lambda path, file_id: (path, file_id)
    return lambda path, file_id: (path, f"bucket {index.bucket_of(file_id)}")
