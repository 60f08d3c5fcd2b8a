"""The slices of a compaction as they are when it runs, which may be more than its plan says.

A plan is made from a listing and then put on the timeline. What completes between the two, and
whose log files belong to the planned slice all the same, must go into the base file too: the
compaction's reader never looks at that slice again. Its scheduler looks for such writes, but may
have died before it did, or the store may have shown them late."""

from __future__ import annotations

from attrs import evolve
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.participants.listing import build
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.plans import Plan, reading_order
from hoodoo.timeline.timeline import Timeline


def slices_now(
    storage: Storage, now: Timeline, plan: Plan, requested: str
) -> tuple[FileSlice, ...]:
    """The slices of ``plan``, a compaction of instant ``requested``, with sizes and with all log
    files that its base files stand for. A file that is not there any more stays as the plan names
    it.

    Costs a listing of the planned partitions.
    """
    view = build(storage, now, partitions={s.partition_path for s in plan.slices})
    found = []
    for planned in plan.slices:
        logs = {log: log for log in planned.log_files}
        group = view.group(planned.partition_path, planned.file_id)
        base = planned.base_file
        for slice_ in group.slices if group is not None else ():
            if slice_.base_file == base:
                base = slice_.base_file
                earlier = (x for x in slice_.log_files if _before(now, x, requested))
                logs.update({log: log for log in earlier})
        ordered = tuple(sorted(logs.values(), key=reading_order))
        found.append(evolve(planned, base_file=base, log_files=ordered))
    return with_committed_sizes(storage, now, found)


def _before(timeline: Timeline, log: LogFile, requested: str) -> bool:
    """Whether ``log`` belongs to the slice before ``requested``."""
    return order_key(timeline.log_time(log)) < order_key(requested)
