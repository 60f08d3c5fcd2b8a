"""Undo files: the files that one instant wrote, and the order in which they are deleted.

Order, so that a crash at any point can be finished: a completed instant becomes pending again (from
here on no reader sees it) -> data files -> its inflight, then its requested file -> data files that
came meanwhile. A file that does not exist counts as deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from hoodoo.actions.rollback.failed_logs import FailedLogs, Group, failed_logs, touched_groups
from hoodoo.kernel.log_files import log_files
from hoodoo.model.action import named
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage, names_in
from hoodoo.storage.temporaries import scratch_file
from hoodoo.storage.together import discard
from hoodoo.storage.uri import local_path
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.fence import same
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path, pending_action
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import list_data


@frozen
class RollbackFiles:
    """Where files of an instant may be. ``partitions``: None where only a listing of the whole
    table tells (tasks of a write that failed may have put files that nobody counted). ``groups``:
    those with log files that don't say who wrote them (table version 6). ``own_slices``: the log
    files of slices that began with the instant go with it, whoever wrote them (version 6).
    ``beside``: instants that log files of this one may be named after (later versions)."""

    partitions: frozenset[str] | None
    groups: frozenset[Group]
    own_slices: bool = False
    beside: frozenset[str] = frozenset()


@frozen
class Found:
    """``whole``: files to delete; ``shared``: log files behind which a rollback block is put."""

    whole: tuple[BaseFile | LogFile, ...] = ()
    shared: tuple[LogFile, ...] = ()

    def requests(self, storage: Storage, instant: str) -> list[dict[str, Any]]:
        """As ``RollbackRequests`` of a plan: one for each file."""
        asks = [_ask(f, instant, [absolute(storage, f.path)], {}) for f in self.whole]
        return asks + [_ask(log, log.instant, [], {log.name: log.size}) for log in self.shared]


@frozen
class Removed:
    """Deleted ``paths``, below the table root; ``taken_back`` are log files that were added."""

    paths: tuple[str, ...] = ()
    taken_back: tuple[LogFile, ...] = ()


def traces(snapshot: Snapshot, instant: Instant, sliced: bool) -> RollbackFiles:
    """Of ``instant`` as the timeline shows it. ``sliced``: nothing that was written into the slices
    that it began is to stay."""
    old = snapshot.layout.log_names_slice
    groups: frozenset[Group] = frozenset()
    beside = _named_after(snapshot.timeline, instant)
    if not instant.is_completed:
        if old or beside:
            groups = touched_groups(snapshot, instant)
        # What others put into the file groups of a clustering is in those that stay, too.
        return RollbackFiles(None, groups, old and (sliced or instant.traits.replaces), beside)
    stats = snapshot.metadata(instant).stats
    if not old:  # a table that was upgraded has log files that are named after their slices
        logs = (parse_path(s.path) for s in stats if s.log_version is not None)
        beside |= {log.instant for log in logs if log is not None} - {instant.requested}
    if old or beside:
        groups = frozenset((s.partition_path, s.file_id) for s in stats if s.file_id)
    return RollbackFiles(frozenset(s.partition_path for s in stats), groups, old, beside)


def find(snapshot: Snapshot, requested: str, where: RollbackFiles) -> Found:
    """The files of the instant ``requested`` as they are now. Costs a listing; in version 6 the log
    files of the file groups are opened."""
    parsed = (parse_path(e.path, e.size) for e in list_data(snapshot.storage, where.partitions))
    named = [f for f in parsed if f is not None and f.instant == requested]
    whole, old = named, snapshot.layout.log_names_slice
    if old:  # here the name of a log file says its slice, and not who wrote it; but for change data
        whole = [f for f in named if isinstance(f, BaseFile) or f.suffix or where.own_slices]
    left = FailedLogs()
    if where.groups and (old or where.beside):
        opener, names = log_files(snapshot.config), None if old else where.beside
        left = failed_logs(snapshot.storage, where.groups, requested, opener, names)
    whole += [log for log in left.whole if log not in whole]
    shared = [log for log in left.shared if not (where.own_slices and log.instant == requested)]
    return Found(tuple(whole), tuple(shared))


def _named_after(timeline: Timeline, instant: Instant) -> frozenset[str]:
    """The clusterings that ``instant`` may have been written beside, where names of log files say
    an instant."""
    if timeline.layout.log_names_slice or instant.traits.replaces:
        return frozenset()
    own = order_key(instant.requested)
    return frozenset(
        i.requested
        for i in timeline.instants
        if i.traits.replaces and order_key(i.requested) < own < order_key(i.completed or "9" * 17)
    )


def take_away(
    snapshot: Snapshot,
    mine: str,
    instant: Instant,
    where: RollbackFiles,
    requests: Sequence[Mapping[str, Any]],
) -> Removed:
    """Undo ``instant``, of which ``requests`` is what the plan of the rollback ``mine`` says.

    The files are looked for once more: a task that outlived its driver may have added some."""
    requested = instant.requested
    unpublish(snapshot, instant)
    # Before the instant leaves the timeline: of what is unknown there nobody can tell that it was
    # undone.
    Participants.of_table(snapshot.config).undone(snapshot.storage, snapshot.config, requested)
    if snapshot.layout.log_names_slice:
        planned = {(str(a.get("partitionPath") or ""), str(a.get("fileId"))) for a in requests}
        where = evolve(where, groups=where.groups | {g for g in planned if g[1]})
    found = find(snapshot, requested, where)
    gone = {f.path for f in found.whole} | _planned(snapshot.storage, requested, requests)
    if instant.traits.replaces and any(isinstance(parse_path(path), LogFile) for path in gone):
        # Writers put them into the groups to come, and participants know them by the commits of
        # these.
        Participants.of_table(snapshot.config).retire(snapshot.storage, snapshot.config)
    discard(snapshot.storage, sorted(gone))
    taken_back = tuple(_take_back(snapshot, log, mine, requested) for log in found.shared)
    if taken_back:  # files that no commit tells of
        Participants.of_table(snapshot.config).retire(snapshot.storage, snapshot.config)
    # The inflight file first: without its requested file nobody could tell what it is.
    for pending in _pending_files(snapshot, instant):
        snapshot.storage.delete(snapshot.path(pending))
    if back := _timeline_files(snapshot, instant):
        # Of its writer, which slept since its decision, and put its file meanwhile.
        discard(snapshot.storage, [snapshot.path(found) for found in back])
        Participants.of_table(snapshot.config).undone(snapshot.storage, snapshot.config, requested)
    # What a task put while the above went on. From here on no task leaves a file: it looks at the
    # inflight file after it has put its own (`produce/pending.py` of hoodoo-rows).
    if snapshot.layout.log_names_slice or where.beside:
        # Only its marker says that a log file is there, and it may have been put since.
        where = evolve(where, groups=where.groups | touched_groups(snapshot, instant))
    late = {f.path for f in find(snapshot, requested, where).whole}
    discard(snapshot.storage, sorted(late))
    return Removed(tuple(sorted(gone | late)), taken_back)


def take_own(snapshot: Snapshot, requested: str, groups: frozenset[Group]) -> None:
    """Take away what this process, and it alone, has put into ``groups`` for an instant that was
    not published. Who has undone it meanwhile may have looked before the last file was there, and
    its markers may be gone."""
    where = RollbackFiles(frozenset(path for path, _ in groups), groups)
    discard(snapshot.storage, [file.path for file in find(snapshot, requested, where).whole])


def unpublish(snapshot: Snapshot, instant: Instant) -> None:
    """A completed ``instant`` is pending again; no reader sees its files from here on."""
    files = _timeline_files(snapshot, instant)
    completed = [i for i in files if i.is_completed]
    if not completed:
        return
    if not any(i.state is State.INFLIGHT for i in files):  # another writer's, or archived
        action = _pending_action(snapshot, completed[0])
        for state in (State.REQUESTED, State.INFLIGHT):
            made = Instant(instant.requested, action, state)
            replaces = state is State.REQUESTED and named(action).replaces
            plan = codec_avro.encode("HoodieRequestedReplaceMetadata", {}) if replaces else b""
            snapshot.storage.put_if_absent(snapshot.path(made), plan)
    for done in completed:
        snapshot.storage.delete(snapshot.path(done))


def relative(storage: Storage, path: str) -> str | None:
    """``path`` of a plan, below the table root; None if it lies elsewhere (the table was moved)."""
    local = absolute(storage, "").rstrip("/")
    for root in (storage.root, local, f"file:{local}"):  # the last as Spark Hudi writes it
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return None


def absolute(storage: Storage, path: str) -> str:
    """As plans and rollbacks name a file: with the scheme, except for local files."""
    root = storage.root
    return f"{local_path(root) if root.startswith('file:') else root}/{path}"


def _planned(storage: Storage, instant: str, requests: Iterable[Mapping[str, Any]]) -> set[str]:
    """The files that a plan names, and that are of ``instant`` by their own names."""
    found = set()
    for path in (p for ask in requests for p in ask.get("filesToBeDeleted") or ()):
        below = relative(storage, path)
        file = parse_path(below) if below is not None else None
        if below is not None and file is not None and file.instant == instant:
            found.add(below)
    return found


def _pending_files(snapshot: Snapshot, instant: Instant) -> list[Instant]:
    found = [i for i in _timeline_files(snapshot, instant) if not i.is_completed]
    return sorted(found, key=lambda i: i.state is State.REQUESTED)


def _timeline_files(snapshot: Snapshot, instant: Instant) -> list[Instant]:
    """Each file of ``instant``: the action in the name depends on the state."""
    names = names_in(snapshot.storage, snapshot.config.timeline_path)
    parsed = map(snapshot.layout.parse_instant, names)
    return [i for i in parsed if i is not None and same(i, instant)]


def _pending_action(snapshot: Snapshot, completed: Instant) -> str:
    operation = snapshot.metadata(completed).operation
    return pending_action(operation, completed.action)


def _ask(
    file: BaseFile | LogFile, base: str, files: list[str], blocks: dict[str, int]
) -> dict[str, Any]:
    return {
        "partitionPath": file.partition_path,
        "fileId": file.file_id,
        "latestBaseInstant": base,
        "filesToBeDeleted": files,
        "logBlocksToBeDeleted": blocks,
    }


def _take_back(snapshot: Snapshot, log: LogFile, mine: str, target: str) -> LogFile:
    """Add a rollback block behind ``log``, in a log file of its own."""
    made = evolve(log, version=log.version + 1, write_token=f"0-0-{int(mine[8:])}")
    with scratch_file(snapshot.storage) as local:
        writer = log_files(snapshot.config).writer(local)
        writer.rollback_block(mine, target)
        made = evolve(made, size=writer.close())
        snapshot.storage.put_file_if_absent(made.path, local)
    return made
