"""Incremental: the rows that a stretch of the timeline wrote, as they stand at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.participants.listing import is_known
from hoodoo.participants.lost import refuse_lost
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import FileSystemView, from_files
from hoodoo_rows.api import Reads, ScanPlan

from hoodoo_history.cleaned import CleanedFiles, Key, check_stats
from hoodoo_history.window import TimelineRange, check_commit_times, is_change, or_untimed

INCREMENTAL = "incremental"


@frozen
class Incremental:
    """The query type."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Incremental:
        return cls()

    def plan(
        self,
        source: ReadSource,
        since: str | date | int,
        until: str | date | int | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
        meta: bool = False,
    ) -> ScanPlan:
        return plan_incremental(source, since, until, columns, where, meta)


def plan_incremental(
    source: ReadSource,
    since: str | date | int,
    until: str | date | int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
    meta: bool = False,
) -> ScanPlan:
    """Decide a read of the rows that commits in (``since``, ``until``] wrote and that are in the
    table at ``until``. Of the file groups that these commits touched, the slices at ``until`` are
    read. ``meta``: with Hudi's columns behind those of the table.

    Compactions and clusterings keep the commit time of a row, so they are no changes; deleted rows
    and those of replaced groups are no rows. Costs one listing and the metadata of the commits.

    Raises ConfigError for bad points and where a clean took a file away that ``until`` needs,
    SchemaError and UnsupportedTableError as a snapshot read does; reading raises
    UnsupportedTableError for rows that may belong to it and do not say when they were written."""
    check_commit_times(source)
    window = TimelineRange.of(source, since, until)
    history = CleanedFiles.of(evolve(source, timeline=window.timeline), window.bounded)
    then = evolve(source, timeline=window.then)
    bound = window.then.layout.request_bound(window.until)
    view = from_files(Snapshot(source.storage, window.then), history.files, bound)
    if source.whole and not window.bounded and not is_known(source.timeline):
        refuse_lost(source.snapshot, view)
    everything = window.from_the_beginning and not window.bounded
    touched, changed = ({}, []) if everything else _touched(source, window)
    if not window.from_the_beginning:
        view = evolve(view, slices=_of(view, touched))
    if window.bounded:
        _check_there(view, window, touched, history, f"until={until!r}")
    rows = None if window.from_the_beginning else _written_by(changed)
    timed = bool(changed) and not source.config.populate_meta_fields
    if rows is not None and timed:
        rows = or_untimed(rows)
    if not window.then.writes():  # no schema of its own: that of the oldest later commit
        then, view = source, evolve(view, slices=())
    plan = Reads.plan(then, columns, where, as_of=None, view=view, rows=rows, meta=meta)
    spec = evolve(plan.spec, timed=rows is not None and timed)
    return evolve(
        plan,
        mode=INCREMENTAL,
        as_of=window.until,
        since=window.since,
        until=window.end,
        spec=spec,
    )


def _touched(
    source: ReadSource, window: TimelineRange
) -> tuple[dict[Key, list[WriteStat]], list[str]]:
    """The file groups that the window's writes wrote to; and the instants that changed rows."""
    groups: dict[Key, list[WriteStat]] = {}
    changed = []
    for instant in window.writes:
        metadata = window.timeline.metadata(source.storage, instant)
        if is_change(instant, metadata, source.config):
            changed.append(instant.requested)
        for stat in metadata.stats:  # of services too: rows move, and keep their commit times
            groups.setdefault((stat.partition_path, stat.file_id), []).append(stat)
    return groups, changed


def _of(view: FileSystemView, groups: Iterable[Key]) -> tuple[Any, ...]:
    wanted = set(groups)
    return tuple(s for s in view.slices if (s.partition_path, s.file_id) in wanted)


def _written_by(instants: Sequence[str]) -> pc.Expression:
    """The rows of these instants; the bounds are there for the statistics of row groups."""
    if not instants:
        return pc.scalar(False)
    time = pc.field(COMMIT_TIME)
    among = time.isin(pa.array(instants, pa.string()))
    return (time >= min(instants)) & (time <= max(instants)) & among


def _check_there(
    view: FileSystemView,
    window: TimelineRange,
    touched: dict[Key, list[WriteStat]],
    history: CleanedFiles,
    asked: str,
) -> None:
    history.check(view.slices, asked)
    slices = {(s.partition_path, s.file_id): s for s in view.slices}
    for key, stats in touched.items():
        if view.replaced_by(*key) is None:
            check_stats(history, window.then, slices.get(key), stats, asked)
