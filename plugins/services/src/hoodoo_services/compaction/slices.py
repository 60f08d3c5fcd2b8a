"""The slices of a compaction as they are when it runs, which may be more than its plan says.

A plan is made from a listing and then put on the timeline. What completes between the two, and
whose log files belong to the planned slice all the same, must go into the base file too: the
compaction's reader never looks at that slice again. Its scheduler looks for such writes, but may
have died before it did, or the store may have shown them late.

The other way round, a rollback may have deleted a log file that was listed: one that ended between
the two, or an older release planned. No row of it counts, and the plan is run without it."""

from __future__ import annotations

from attrs import evolve, frozen
from hoodoo.actions.rollback.validation import taken_back
from hoodoo.kernel.archived import load_archived
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.participants.listing import build
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.plans import Plan, reading_order
from hoodoo.timeline.removed import Removed, removed_by
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline


def slices_now(
    storage: Storage, now: Timeline, plan: Plan, requested: str
) -> tuple[FileSlice, ...]:
    """The slices of ``plan``, a compaction of instant ``requested``, with sizes and with all log
    files that its base files stand for. A file that is not there any more stays as the plan names
    it, but for a log file that was undone.

    Costs a listing of the planned partitions.
    """
    view = build(Snapshot(storage, now), partitions={s.partition_path for s in plan.slices})
    gone = {log for s in plan.slices for log in s.log_files if log.path not in view.paths}
    gone = _undone(storage, now, gone)
    found = []
    for planned in plan.slices:
        logs = {log: log for log in planned.log_files if log not in gone}
        group = view.group(planned.partition_path, planned.file_id)
        base = planned.base_file
        for slice_ in group.slices if group is not None else ():
            if slice_.base_file == base:
                base = slice_.base_file
                earlier = (x for x in slice_.log_files if _before(now, x, requested))
                logs.update({log: log for log in earlier})
        ordered = tuple(sorted(logs.values(), key=reading_order))
        found.append(evolve(planned, base_file=base, log_files=ordered))
    return with_committed_sizes(Snapshot(storage, now), found)


def _before(timeline: Timeline, log: LogFile, requested: str) -> bool:
    """Whether ``log`` belongs to the slice before ``requested``."""
    return order_key(timeline.log_time(log)) < order_key(requested)


def _undone(storage: Storage, now: Timeline, missing: set[LogFile]) -> set[LogFile]:
    """Those of ``missing`` that a rollback or a restore deleted, and that no commit of the timeline
    names."""
    if not missing:
        return missing
    undone = _Undone.of(storage, now)
    gone = {log for log in missing if undone.has(log)}
    writers = now.layout.log_writers({log.instant for log in gone}, now) if gone else ()
    return gone - {
        log
        for commit in writers
        for stat in now.metadata(storage, commit).stats
        for log in gone
        if stat.path == log.path
    }


@frozen
class _Undone:
    """``files`` that rollbacks and restores say they deleted, and the ``instants`` that they undid;
    ``tokens`` end the names of log files that late tasks of these put, and a sweep deleted."""

    files: frozenset[Removed]
    instants: frozenset[str]
    tokens: frozenset[str]

    @classmethod
    def of(cls, storage: Storage, now: Timeline) -> _Undone:
        undoing = (i for i in now.others() if i.is_completed and i.traits.undoes)
        told = [now.contents(storage, instant) for instant in undoing]
        archived = load_archived(storage, now.config)
        told += [one.contents() for one in archived if one.instant.traits.undoes]
        for restore in list(told):
            for records in (restore.get("hoodieRestoreMetadata") or {}).values():
                told += records
        instants = taken_back(Snapshot(storage, now))
        return cls(
            frozenset(removed for record in told for removed in removed_by(record)),
            frozenset(instants),
            frozenset(str(int(i[8:])) for i in instants if now.layout.log_names_slice),
        )

    def has(self, log: LogFile) -> bool:
        by_name = (log.partition_path, log.name) in self.files or log.instant in self.instants
        return by_name or log.write_token.rpartition("-")[2] in self.tokens
