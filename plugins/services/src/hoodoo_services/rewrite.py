"""Rewrite: file groups get new base files of the same rows, as the table and its options say now
(RFC-21: "this tool might be useful for future changes").

They keep their ids, in commits of a few groups each: what has been committed stands. The table
notes which settings a rewrite is for and which instant was the newest when it began: files of it
and before are still to be rewritten, so that a run which is cut short goes on where it was. Slices
with log files are compacted."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import STORED_UNTIL
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Progress, silent
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_COLUMNS, with_meta
from hoodoo.storage.together import together
from hoodoo.table.opened import installed_action
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Commit, Pending, Reads, StoredFiles, WriteRequest, Writes, WriteTarget
from hoodoo_rows.model.normalize import plain_schema

from hoodoo_services.compaction.merge_slice import CompactSlices, Job, payload, read_result
from hoodoo_services.hookspecs.compaction import Candidate
from hoodoo_services.outcome import Rewritten

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# What one commit rewrites: as much work as is lost when another writer comes in between.
GROUPS = 64
_BYTES = 4 << 30
NOTED = "hoodoo.rewrite"  # a property of the table
_MERGED = "MERGE_ON_READ"
Needs = Callable[[FileSlice], bool]
Group = tuple[str, str]


def group_of(slice_: FileSlice) -> Group:
    return slice_.partition_path, slice_.file_id


@frozen
class RewriteOrder:
    """What is to be rewritten, and how. See :meth:`hoodoo.Table.rewrite`."""

    options: Mapping[str, Any] = field(factory=dict)
    where: Any = None
    partitions: str | Sequence[str] | None = None
    evolved: bool = False
    virtual_keys: bool = False
    target_file_size: int | None = None
    again: bool = False
    dry_run: bool = False


@frozen
class RewriteAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once; what was cut short goes on
    when it is begun again."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RewriteAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        order: RewriteOrder = RewriteOrder(),
        engine: str | Engine | None = None,
        progress: Progress = silent,
    ) -> Rewritten:
        table.check_writable()
        table.refresh()
        asked = table.check_options(order.options)
        if order.virtual_keys and not order.dry_run:
            installed_action(table, "rewrite_keys").enable(table)
        part = order.evolved or order.virtual_keys  # what is left is told by the files
        timeline = table.timeline()
        until = newest(timeline) if part else _until(table, timeline, asked, order.again)
        paths = order.partitions
        if isinstance(paths, str):
            paths = (paths,)
        scope = _Scope(paths, None if order.where is None else _found(table, order.where), until)
        slices = [s for s in table.newest_slices()[1] if scope.holds(s)]
        if part:
            slices = _some(table, slices, order)
        chosen = frozenset(map(group_of, slices))
        size = sum(s.size for s in slices)
        if order.dry_run:
            return Rewritten((), len(chosen), size)
        if chosen and not part:
            noted = {"options": dict(sorted(asked.items())), "until": until}
            table.change_properties({NOTED: json.dumps(noted)})
        written, commits = table.with_options(asked), []
        if order.target_file_size is not None:
            commits = _resized(written, slices, order.target_file_size, engine)

        def needs(slice_: FileSlice) -> bool:
            return group_of(slice_) in chosen and StoredFiles.begun_by(slice_, until)

        done, left = rewritten(written, needs, engine, progress)
        table.refresh()
        if not any(StoredFiles.stores_keys(s, table.config) for s in table.newest_slices()[1]):
            forget_stored(table)
        instants = tuple(commit.instant for commit in (*commits, *done))
        return Rewritten(instants, len(chosen) - len(left), size, left, True)


@frozen
class _Scope:
    """Which file groups are meant: ``paths`` None: of all partition paths; ``found`` None: whatever
    rows they have. ``until``: those with files of this instant or before."""

    paths: Collection[str] | None
    found: Collection[Group] | None
    until: str

    def holds(self, slice_: FileSlice) -> bool:
        return (
            (self.paths is None or slice_.partition_path in self.paths)
            and (self.found is None or group_of(slice_) in self.found)
            and StoredFiles.begun_by(slice_, self.until)
        )


def newest(timeline: Timeline) -> str:
    return max((i.requested for i in timeline.instants), key=order_key, default="")


def _until(table: TableHandle, timeline: Timeline, asked: Mapping[str, str], again: bool) -> str:
    """The newest instant when the rewrite with these options began, or now."""
    try:
        noted = json.loads(table.config.get(NOTED) or "{}")
        goes_on = not again and noted.get("options") == dict(asked)
    except (ValueError, AttributeError):
        goes_on = False
    return str(noted["until"]) if goes_on else newest(timeline)


def _found(table: TableHandle, where: Any) -> frozenset[Group]:
    """The file groups that may have rows for which ``where`` is true."""
    plan = table.plan_read(lambda source: Reads.plan(source, where=where))
    return frozenset(map(group_of, plan.slices))


def _some(table: TableHandle, slices: Sequence[FileSlice], order: RewriteOrder) -> list[FileSlice]:
    """Those that store keys though these are virtual, or have a base file whose columns are not
    those of the table. Opens base files."""
    file_format = StoredFiles.format(table.source())
    history, schema = StoredFiles.history(file_format), _columns(table.schema)
    stored = table.file_format()

    def is_older(slice_: FileSlice) -> bool:
        base = slice_.base_file
        if order.virtual_keys and StoredFiles.stores_keys(slice_, table.config):
            return True
        if not order.evolved or base is None:
            return False
        if history is not None and history.names(base.instant) is not None:
            return True
        with stored.reader(table.storage, base.path) as reader:
            return _columns(reader.schema) != schema

    flags = together(table.storage, *(partial(is_older, s) for s in slices))
    return [s for s, is_one in zip(slices, flags, strict=True) if is_one]


def _columns(schema: Any) -> list[tuple[str, Any]]:
    return [(f.name, f.type) for f in plain_schema(schema) if f.name not in META_COLUMNS]


def _resized(
    table: TableHandle, slices: Sequence[FileSlice], size: int, engine: str | Engine | None
) -> list[Commit]:
    """Cluster the partition paths of ``slices`` into files of ``size`` bytes, in no new order."""
    paths = sorted({s.partition_path for s in slices})
    commits: list[Commit] = []
    for _ in slices:  # one clustering takes so many groups
        commit = table.run(
            "clustering", order="combine", target_file_size=size, partitions=paths, engine=engine
        )
        if not commit.instant:
            break
        commits.append(commit)
    return commits


def forget_stored(table: TableHandle) -> None:
    """No file stores its record keys any more, of a table whose keys are virtual."""
    if table.config.get(STORED_UNTIL) is not None:
        table.change_properties({STORED_UNTIL: None})


# --- the work -------------------------------------------------------------------------------------
@frozen
class Needed:
    """A compaction strategy: the slices that are to be rewritten."""

    needs: Needs

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return [c for c in candidates if self.needs(c.slice)]


def rewritten(
    table: TableHandle, needs: Needs, engine: str | Engine | None, progress: Progress
) -> tuple[list[Commit], tuple[Group, ...]]:
    """Rewrite the slices that ``needs`` names: the commits, and the file groups that are left.
    ``progress`` hears of file groups after each commit."""
    engine = engine or table.default_engine
    done: list[Commit] = []
    total = sum(map(needs, table.newest_slices()[1]))

    def told(commit: Commit) -> None:
        done.append(commit)
        groups = sum(len(one.files) for one in done)
        progress("rewrite", groups, max(groups, total))

    progress("rewrite", 0, total)
    if table.config.table_type == _MERGED:
        told(table.run("compaction", strategy=Needed(needs), engine=engine))
    rewrite(
        table.write_request(Writes.UPSERT, partial(table.write_target, None, engine)), needs, told
    )
    left = tuple(group_of(s) for s in table.newest_slices()[1] if needs(s))
    return [commit for commit in done if commit.instant], left


def rewrite(order: WriteRequest, needs: Needs, told: Callable[[Commit], None]) -> None:
    """Rewrite the base files that ``needs`` names; those of slices with log files are left. One
    commit for every :data:`GROUPS` file groups, of which ``told`` hears.

    Raises CommitConflictError where other writers come in between more often than the order says.
    What has been committed until then stands."""
    while commit := Writes.files(order, partial(_work, needs)):
        told(commit)


def _work(needs: Needs, target: WriteTarget) -> Callable[[Instant], tuple[WriteStat, ...]] | None:
    chosen: list[FileSlice] = []
    size = 0
    for slice_ in rewritable(target, needs):
        if chosen and (len(chosen) == GROUPS or size + slice_.size > _BYTES):
            break
        chosen.append(slice_)
        size += slice_.size
    return partial(new_files, target, chosen) if chosen else None


def rewritable(target: WriteTarget, needs: Needs) -> list[FileSlice]:
    """Without the groups of pending plans: a compaction or a clustering rewrites them as they are
    to be, and a plan whose files are others than it says has to be undone."""
    planned = {*target.policy.compacting}
    planned |= {group for plan in target.policy.clusterings for group in plan.groups}
    return [s for s in target.slices if needs(s) and not s.row_logs and group_of(s) not in planned]


def new_files(
    target: WriteTarget, slices: Sequence[FileSlice], instant: Instant
) -> tuple[WriteStat, ...]:
    """New base files of ``slices``, with the same rows."""
    extension = target.file_format.extension
    jobs = [
        Job(s, f"{s.file_id}_{n}-0-0_{instant.requested}{extension}") for n, s in enumerate(slices)
    ]
    step = CompactSlices(
        target.storage,
        target.merge_rule(with_meta(target.schema)),
        Pending.of(target.timeline, instant),
        target.file_format,
    )
    engine = target.engine
    tasks = engine.tasks([payload([job]) for job in jobs])
    stats, _damages = read_result(engine.collect(engine.map(tasks, step)))
    return stats
