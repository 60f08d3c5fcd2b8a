"""Conflicts: what others have published since a write read the table, and whether it bears that.

Asked right before the decision to publish, with the timeline as the decision before left it: nobody
comes in between (timeline/ledger.py). Each other write is looked at once, however often that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import define, field
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    HoodooError,
    PendingClusteringError,
)
from hoodoo.hookspecs.clustering_updates import DoublesRows, PendingPlan
from hoodoo.hookspecs.conflict import Change, ConflictStrategy, Group
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.instant import Instant
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import NOT_THERE, Storage
from hoodoo.timeline import fence, properties
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.plans import compactions, pending_clusterings, pending_compactions, read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows.write import batches
from hoodoo_rows.write.changes import appended_groups, change_of, grouping, replaced_partitions
from hoodoo_rows.write.evolve import outgrown
from hoodoo_rows.write.operation import Replaces, WriteKind
from hoodoo_rows.write.target import WriteTarget
from hoodoo_rows.write.uniqueness import shared_key


@define
class CommitCheck:
    """Raises CommitConflictError if the write of ``instant`` can't be published after what came
    since its snapshot (``target.timeline``). ``replaced`` are the partition paths that it replaces
    (None: all), ``schema`` is what it leaves the table with, ``read`` the file groups by whose rows
    it goes."""

    target: WriteTarget
    kind: WriteKind
    instant: Instant
    metadata: CommitMetadata
    replaced: Sequence[str] | None
    batch: Batch | None
    strategy: ConflictStrategy
    schema: pa.Schema
    read: frozenset[Group] = frozenset()
    _known: set[str] = field(factory=set)
    _made: set[Group] = field(factory=set)  # by others, since the snapshot
    _ahead: TableConfig | None = None

    def __attrs_post_init__(self) -> None:
        self._known = {i.requested for i in self.target.timeline.writes()}

    def __call__(self, fresh: Timeline) -> None:
        self._nothing_undone(fresh)
        self._nothing_unseen(fresh)
        self._same_index()
        storage = self.target.storage
        if self.target.index_kind.by_path:
            self._same_plans(fresh)
        mine = None
        self._nothing_missed(fresh)
        others = [other for other in fresh.writes() if other.requested not in self._known]
        if any(other.traits.replaces for other in others):
            self._same_counts(fresh)
        for other in others:
            if self.kind.alone:
                raise self._conflict(other, "this one changes where all rows belong")
            metadata = fresh.metadata(storage, other)
            if mine is None:
                replaced = self.replaced if self.kind.replaces is not Replaces.NOTHING else ()
                mine = change_of(self.instant, self.metadata, replaced, grouping(self.target))
            theirs = change_of(
                other, metadata, replaced_partitions(metadata), grouping(self.target)
            )
            if reason := self._read_rows(theirs) or self.strategy.conflict(mine, theirs):
                raise self._conflict(other, reason)
            self._same_schema(other, metadata)
            self._unique_keys(other, metadata)
            self._hidden_inserts(other, metadata)
            self._known.add(other.requested)
        if (one := self.batch) and batches.applied(Snapshot(storage, fresh), one).has(one):
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                f"batch {one.number} of stream {one.identifier} was written by another writer.",
                "Nothing to do: the batch is in the table.",
            )
        if self.target.logs is not None:
            refuse_under_compaction(
                storage, self.target.timeline, fresh, self.instant, self.metadata.stats
            )

    def look_ahead(self) -> None:
        """Read what the next call needs whatever it finds on the timeline."""
        self._ahead = None
        with suppress(HoodooError):  # the call reads it then
            self._ahead = properties.load(self.target.storage)

    def _nothing_undone(self, fresh: Timeline) -> None:
        """What the write read is still committed, or archived, and nobody is about to undo it: a
        rollback or a restore that is announced has looked at what was built on it, and does not
        look again."""
        if undone := fresh.undone_since(self.target.timeline):
            raise self._undone(undone[0])
        if fence.undoing(Snapshot(self.target.storage, fresh)):
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                "a rollback is undoing what this write has read.",
                "Repeat the write when the rollback has ended.",
            )

    def _nothing_unseen(self, fresh: Timeline) -> None:
        """No write that this one has not seen was archived: its own instant keeps on the timeline
        what completes later, but not what came between its snapshot and its request.

        A beginning of the timeline is archived, savepointed writes excepted: so nothing was where a
        write of the snapshot still stands at the start or after it. Else the archive is asked.
        """
        before = self.target.timeline
        known, now = before.writes(), {i.requested for i in fresh.instants}
        start = order_key(fresh.start) if fresh.start else ""
        stands = any(w.requested in now and order_key(w.requested) >= start for w in known)
        late = [i.requested for i in before.pending() if i.requested not in now]
        late = [requested for requested in late if order_key(requested) < start]
        if (stands and not late) or not (known or fresh.writes()):
            return
        since = min([*late, *(w.requested for w in known[-1:])], key=order_key, default=None)
        archived = load_archived(self.target.storage, fresh.config, since)
        for old in archived:
            late_one = since is None or order_key(old.requested) >= order_key(since)
            if old.is_write and late_one and before.find(old.requested) is None:
                raise self._conflict(old.instant, "it has been archived already")
        gone = {w.requested for w in known[-1:]} - now - {old.requested for old in archived}
        if gone:
            raise self._undone(known[-1])

    def _nothing_missed(self, fresh: Timeline) -> None:
        """Every file group that others have rewritten or replaced since the look at the timeline
        was seen. The files were listed later: a clean may have taken the old ones away in between,
        and keys that lie there were missed."""
        storage, paths = self.target.storage, self.target.snapshot.paths
        missed: dict[Group, Instant] = {}
        for other in (w for w in fresh.writes() if w.requested not in self._known):
            metadata = fresh.metadata(storage, other)
            bases = [s for s in metadata.stats if s.log_version is None]
            old = {(s.partition_path, s.file_id) for s in bases if s.prev_commit != "null"}
            missed |= dict.fromkeys(metadata.replaced_groups | old, other)
            self._made |= {(s.partition_path, s.file_id) for s in bases} - old
        left = {g for g in missed.keys() - self._made if paths is None or g[0] in paths}
        left -= {(s.partition_path, s.file_id) for s in self.target.slices} if left else left
        if left:
            reason = f"the earlier state of file group {min(left)[1]} does not exist any more"
            raise self._conflict(missed[min(left)], reason)

    def _same_index(self) -> None:
        """The table has the version, the storage of keys and the index that this write went by: its
        keys may have to be unique otherwise now."""
        now, self._ahead = self._ahead or properties.load(self.target.storage), None
        then = self.target.config
        if then.version != now.version:
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                f"the table has got version {now.version} since this write began.",
                "Repeat the write.",
            )
        if then.populate_meta_fields != now.populate_meta_fields:
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                "the record keys of the table are virtual since this write began, or stored again.",
                "Repeat the write.",
            )
        if self.target.asks_ahead:  # they may have been read before the timeline
            self._same_participants(then, now)
        says = (HUDI_INDEX, OWN_INDEX, *self.target.index_kind.properties)
        if any(then.get(key) != now.get(key) for key in says):
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                "the table has another index since this write began.",
                "Repeat the write: then it uses the new one.",
            )

    def _same_counts(self, fresh: Timeline) -> None:
        """A key belongs into the bucket for which this write has taken it: who changes the numbers
        of buckets may have touched no file group that this write knows."""
        index, seen = self.target.index, self.target.snapshot
        if isinstance(index, CountsBuckets) and (
            index.counts_of(Snapshot(seen.storage, self.target.timeline))
            != index.counts_of(Snapshot(seen.storage, fresh))
        ):
            raise CommitConflictError(
                f"instant {self.instant.requested}",
                "partition paths have other numbers of buckets since this write began.",
                "Repeat the write: then it uses the new ones.",
            )

    def _same_participants(self, then: TableConfig, now: TableConfig) -> None:
        """Nothing more is kept of the table than was when this write looked at it."""
        every: list[Any] = [*Participants.of_table(now).each]
        for one in every:
            for name in one.properties:  # the kernel answers () for a participant without
                old, new = ({*(c.get(name) or "").split(",")} for c in (then, now))
                if not new <= old | {""}:
                    raise CommitConflictError(
                        f"instant {self.instant.requested}",
                        f"the table has another {name} since this write began.",
                        "Repeat the write: then it uses the new one.",
                    )

    def _same_plans(self, fresh: Timeline) -> None:
        """No clustering was planned that this write has not seen: its rows belong into the file
        groups to come, too."""
        storage, known = self.target.storage, {p.instant for p in self.target.policy.clusterings}
        touched = {(s.partition_path, s.file_id) for s in self.metadata.stats}
        touched |= self.metadata.replaced_groups
        for plan in pending_clusterings(Snapshot(storage, fresh)):
            if plan.instant.requested not in known and plan.file_groups & touched:
                raise self._conflict(plan.instant, "it clusters rows that this write changes")

    def _read_rows(self, change: Change) -> str | None:
        """A service changes no row; any other change of rows that this write has read conflicts."""
        group = grouping(self.target) if self.read and not change.is_service else None
        changed = group and {group(*read) for read in self.read} & change.touched
        return (
            f"it changed file group {min(changed)[1]}, whose rows this write used"
            if changed
            else None
        )

    def _same_schema(self, other: Instant, metadata: CommitMetadata) -> None:
        text = metadata.schema_text
        alters = self.kind.operation is Operation.ALTER_SCHEMA
        if alters and order_key(other.requested) > order_key(self.instant.requested):
            raise self._conflict(other, "its files have the schema that this changes")
        if text is None or not metadata.operation.can_change_schema:
            return
        altered = metadata.operation is Operation.ALTER_SCHEMA
        if altered or without_meta(arrow_schema(text)) != self.target.schema:
            raise self._conflict(other, "it changed the schema of the table")
        if len(outgrown(self.target.schema, self.schema)):
            raise self._conflict(
                other, "it may have written integers that would lose digits in the new type"
            )
        # Of schemas that of the newest request stands, whoever completes last.
        if self.schema != self.target.schema and order_key(other.requested) > order_key(
            self.instant.requested
        ):
            raise self._conflict(other, "it would hide that this write changes the schema")

    def _unique_keys(self, other: Instant, metadata: CommitMetadata) -> None:
        """Of a key that both had not found, one of the two writes has to find the other's row.
        Where the index computes file groups, both touch the same one, and the strategy has seen
        it."""
        computes = self.target.computed is not None
        if not self.kind.looks_up or not metadata.operation.can_change_schema:
            return  # a service brings no key
        # A row that is appended beside its delete comes back, and the other may have moved it.
        mine, theirs = appended_groups(self.metadata, computes), appended_groups(metadata, computes)
        for group in mine.keys() & theirs.keys():
            if mine[group] or theirs[group]:
                raise self._conflict(
                    other,
                    f"one of the two deleted rows of file group {group[1]}, which both writes "
                    "changed",
                )
        stats = self.metadata.stats
        key = (
            None
            if computes
            else shared_key(self.target, self.instant, stats, other, metadata.stats)
        )
        if key is not None:
            raise self._conflict(
                other, f"it inserted record key {key!r}, which this write inserts too"
            )

    def _hidden_inserts(self, other: Instant, metadata: CommitMetadata) -> None:
        """Participants apply inserted and deleted keys in the order of the requests, files do not:
        a key that this write inserts would be lost there if a later request, completed before,
        deleted it."""
        earlier = order_key(other.requested) < order_key(self.instant.requested)
        keyed = self.target.joined is not None and self.target.joined.keys
        if earlier or not keyed or not metadata.operation.can_change_schema:
            return
        takes = metadata.replaced_groups or any(s.num_deletes for s in metadata.stats)
        if takes and any(s.num_inserts for s in self.metadata.stats):
            raise self._conflict(other, "it deleted keys that this write may have inserted again")

    def _undone(self, seen: Instant) -> CommitConflictError:
        return CommitConflictError(
            f"instant {self.instant.requested}",
            f"{seen}, which this write had read, was rolled back in the meantime.",
            "Repeat the write.",
        )

    def _conflict(self, other: Instant, reason: str) -> CommitConflictError:
        return CommitConflictError(
            f"instant {self.instant.requested}",
            f"another writer published {other} after this write had read the table, and {reason}.",
            "Repeat the write.",
        )


@runtime_checkable
class CountsBuckets(Protocol):
    """What a PathIndex has in addition whose numbers of buckets may become others."""

    def counts_of(self, snapshot: Snapshot) -> object:
        """The numbers of buckets as of a timeline: equal where they are the same."""


def refuse_under_compaction(
    storage: Storage, before: Timeline, now: Timeline, instant: Instant, stats: Iterable[WriteStat]
) -> None:
    """Raises CommitConflictError if a file among ``stats``, planned on the timeline ``before``,
    would be lost under a compaction that the timeline ``now`` has. Reads the plans of compactions
    that came or went.

    A compaction makes base files that are newer than those which the write has made of the same
    file groups, of rows that it read before. In version 6 the name of a log file says its slice for
    good: under a compaction that the writer did not know of its rows would stay in the slice
    before, which nobody reads any more."""
    files = tuple(stats)
    rewritten = {(s.partition_path, s.file_id) for s in files if s.log_version is None}
    logs = {(s.partition_path, s.file_id) for s in files if s.log_version is not None}
    exposed = rewritten | (logs if now.layout.log_names_slice else set())
    old, new = _compactions(before), _compactions(now)
    for requested in sorted(new.keys() - old.keys()) if exposed else ():
        planned = read_plan(Snapshot(storage, now), new[requested]).slices
        if any((s.partition_path, s.file_id) in exposed for s in planned):
            raise _conflict(instant, f"compaction {requested} was planned")
    gone = {i.requested for i in pending_compactions(before)} - new.keys()
    if gone and logs and now.layout.log_names_slice:
        raise _conflict(instant, f"compaction {min(gone)} was given up")


def _compactions(timeline: Timeline) -> dict[str, Instant]:
    """Pending and completed ones, by their requested time."""
    found = (*pending_compactions(timeline), *compactions(timeline))
    return {i.requested: i for i in found}


def _conflict(instant: Instant, what: str) -> CommitConflictError:
    return CommitConflictError(
        f"instant {instant.requested}",
        f"{what} after this write had read the table, and what it wrote would be lost to readers.",
        "Repeat the write.",
    )


def refuse_clustered(
    target: WriteTarget, kind: WriteKind, touched: Iterable[tuple[str, str]]
) -> tuple[PendingPlan, ...]:
    """PendingClusteringError where the table's strategy doesn't let a write of ``kind`` change the
    groups ``touched`` (partition path, file id); else the plans that have to give way."""
    groups = frozenset(touched)
    met = tuple(plan for plan in target.policy.clusterings if not groups.isdisjoint(plan.groups))
    if met:
        updates = target.plugins.updates()
        if doubles_rows(target, kind):
            return ()
        for plan in met:
            reason = updates.refuse(plan, sorted(groups & plan.groups))
            if reason is not None:
                raise PendingClusteringError(
                    f"table {target.config.name}: {kind.operation.value.lower()}",
                    f"clustering {plan.instant} is pending for {_some(groups & plan.groups)} that "
                    "this "
                    f"write changes, and {reason}.",
                    f'Run it (table.run_clustering("{plan.instant}"), or `hoodoo cluster TABLE '
                    "--run "
                    f'{plan.instant}`), cancel it (table.cancel_clustering("{plan.instant}"), or '
                    "`hoodoo "
                    f"cluster TABLE --cancel {plan.instant}`), or let writers go first: "
                    "hoodie.clustering.updates.strategy=allow.",
                )
    return met


def doubles_rows(target: WriteTarget, kind: WriteKind) -> bool:
    """Whether rows of a write of ``kind`` go into the file groups to come as well. Who keeps record
    keys would take these for the places of the keys."""
    told = target.joined is not None and target.joined.keys
    if told or not target.index_kind.by_path or kind.replaces is not Replaces.NOTHING:
        return False
    updates = target.plugins.updates()
    return isinstance(updates, DoublesRows) and updates.doubles


def _some(groups: frozenset[tuple[str, str]]) -> str:
    path, file_id = min(groups)
    where = f" in partition {path}" if path else ""
    more = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    return f"file group {file_id}{where}{more}"


@contextmanager
def taken_files_conflict(
    seen: Snapshot,
    obj: str,
    fix: str = "Repeat the write.",
    own: Instant | None = None,
    any_commit: bool = False,
) -> Iterator[None]:
    """CommitConflictError about ``obj`` where the body failed because a file that it had ``seen``
    was cleaned, or removed with an instant that was undone (its own, too) or a metadata table that
    is rebuilt, while it was at work. ``own``: its instant. With ``any_commit`` a commit that takes
    nothing away is such a reason, too."""
    try:
        yield
    except CommitUnknownError:
        raise
    except Exception as error:
        texts = ("FileNotFoundError", NOT_THERE)  # from a task elsewhere
        missing = isinstance(error, FileNotFoundError | CorruptTableError)
        if not (missing or any(text in str(error) for text in texts)):
            raise
        fresh = seen.reload()
        # Its own instant does not count: on an error its files have been deleted by now.
        done, known = {i for i in fresh.completed() if i != own}, {*seen.completed()}
        came = {i for i in done - known if any_commit or i.traits.undoes or i.traits.deletes}
        # They say where keys belong, too.
        now, then = properties.load(seen.storage).properties, seen.config.properties
        same = not came and done >= known and now == then
        if same and not any(i.traits.undoes for i in fresh.pending()):
            raise
        raise CommitConflictError(
            obj, f"a file that it had seen was taken away by a later instant ({error}).", fix
        ) from error
