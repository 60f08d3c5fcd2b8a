"""What a clean leaves alone, whatever its policy says: files that somebody needs or may come to
need."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import frozen
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.instants import from_datetime, order_key
from hoodoo.timeline.partitions import FILE_NAME
from hoodoo.timeline.plans import clustering_plan, read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.hookspecs.cleaning import Aged
from hoodoo_services.put_times import put_times
from hoodoo_services.savepoints import kept_files

Step = tuple[str, str, State]  # requested time, action, state


@frozen
class Hold:
    """``floor``: what was the newest of its group at this requested time, or came later, stays;
    None for no such time. ``files``: paths that savepoints and pending plans name. ``points``: the
    savepoints. A compaction that was planned before one and is run after it makes slices that reads
    as of the savepoint show, and that it does not name."""

    floor: str | None
    files: frozenset[str]
    points: tuple[str, ...] = ()

    def keeps(self, aged: Aged, at: int) -> bool:
        """Whether slice number ``at`` of the group, counted from the newest, stays."""
        if aged.replaced_by is None and at == 0:
            return True
        until = aged.group.slices[at - 1].instant if at else aged.replaced_by
        since, end = order_key(aged.group.slices[at].instant), order_key(until or "")
        if any(since <= order_key(point) < end for point in self.points):
            return True
        if self.floor is not None:
            limit = order_key(self.floor)
            if aged.replaced_by is not None and order_key(aged.replaced_by) >= limit:
                return True
            # Whoever looked before the next slice came has this one open.
            if until is None or order_key(until) >= limit:
                return True
        base = aged.group.slices[at].base_file
        if base is not None and not base.write_token:  # its program may need it in another format
            return True
        return not self.files.isdisjoint(files_of(aged.group.slices[at]))


def files_of(slice_: FileSlice) -> list[str]:
    """The base file, then the log files from the newest on, as Hudi's plans name them."""
    base = [] if slice_.base_file is None else [slice_.base_file.path]
    return [*base, *(log.path for log in reversed(slice_.log_files))]


def is_beside(name: str) -> bool:
    """Whether a file of that name may lie in a partition that holds no data: the partition file, or
    the checksum that Hadoop's local file system puts beside a file."""
    return name.startswith(FILE_NAME) or (name.startswith(".") and name.endswith(".crc"))


def hold(snapshot: Snapshot, hours: float, now: datetime) -> Hold:
    """``hours``: what a read that began within them may have open stays, too."""
    points = tuple(snapshot.timeline.savepointed())
    return Hold(_floor(snapshot, hours, now), needed_files(snapshot), points)


def needed_files(snapshot: Snapshot) -> frozenset[str]:
    """Files that savepoints and the plans of pending services name."""
    return kept_files(snapshot) | _planned(snapshot)


def heeded(timeline: Timeline) -> frozenset[Step]:
    """The instants that a plan has to know, as far as they have come: what comes of them changes
    which slices are needed, and a plan that does not know one is rebuilt."""
    # A pending clustering of version 6 is filed as a replacecommit.
    pending = {i for i in timeline.pending() if i.traits.replaces}
    found = {i for i in timeline.instants if i.traits.keeps or i.traits.is_heeded} | pending
    return frozenset((i.requested, i.action, i.state) for i in found)


def _floor(snapshot: Snapshot, hours: float, now: datetime) -> str | None:
    """The first write that was not completed when the longest read or write under way began."""
    begun = [i.requested for i in snapshot.pending() if _changes_files(i)]
    if hours:
        begun.append(from_datetime(now - timedelta(hours=hours), snapshot.config.timezone))
    if not begun:
        return None
    first = min(begun, key=order_key)
    put = put_times(snapshot)
    # A write that is being decided is not there yet.
    just = from_datetime(now, snapshot.config.timezone) if put else ""
    late = [
        w.requested
        for w in snapshot.writes()
        if order_key(put.get(snapshot.path(w), just or w.completion_order)) > order_key(first)
    ]
    pending = [i.requested for i in snapshot.pending() if _changes_files(i)]
    return min([*late, *pending], key=order_key, default=None)


def _changes_files(instant: Instant) -> bool:
    return instant.completes_as_write


def _planned(snapshot: Snapshot) -> frozenset[str]:
    plans = [clustering_plan(snapshot, i) for i in snapshot.pending()]
    plans += [read_plan(snapshot, i) for i in snapshot.pending() if i.traits.compacts]
    slices = (slice_ for plan in plans if plan is not None for slice_ in plan.slices)
    return frozenset(path for slice_ in slices for path in files_of(slice_))
