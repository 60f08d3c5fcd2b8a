"""Schedule: which file slices are rewritten together (RFC-19, "Scheduling clustering").

partitions that the options let through -> those that changed -> slices that may be clustered ->
what they hold -> the planner's groups -> those that are worth it, as many as the options allow ->
the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import attrgetter

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.plans import PLANNER
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_clustering.bounds import kind_of, with_bounds
from hoodoo_clustering.changed import changed_partitions
from hoodoo_clustering.eligible import eligible
from hoodoo_clustering.group_metrics import group_extra, group_metrics
from hoodoo_clustering.hookspecs.clustering import (
    Clusterable,
    ClusteringGroup,
    ClusteringPlanner,
    GroupSizes,
)
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.laid_out import LaidOut
from hoodoo_clustering.left_out import NEXT_TIME, NO_USE, NOT_CHOSEN, SORTED, sentences
from hoodoo_clustering.options import SORT_COLUMNS
from hoodoo_clustering.partitions import partitions_of, wanted_partitions
from hoodoo_clustering.plan import LEFT_OUT, ClusteringPlan, PlannedGroup
from hoodoo_clustering.settings import ClusteringSettings
from hoodoo_clustering.strategies.filters import NoFilter

Key = tuple[str, str]
# Files times columns whose ranges are looked up for the metrics of a plan, at most.
_MOST_LOOKUPS = 20_000
# What log files without a base file come to as one: Hudi's
# hoodie.logfile.to.parquet.compression.ratio.
_LOGS_TO_BASE = 0.35


@frozen
class Scope:
    """The table that a plan is made of. ``schema``: its own columns. ``slices``: the newest of each
    file group, sorted by partition path and file id. ``busy``: partition path and file id of groups
    for which a clustering or a compaction is pending. ``only``: the filter of partitions."""

    storage: Storage
    timeline: Timeline
    file_format: BaseFileFormat
    schema: pa.Schema
    slices: tuple[FileSlice, ...]
    busy: Collection[Key] = frozenset()
    only: PartitionFilter = NoFilter()


def make_plan(
    scope: Scope,
    planner: ClusteringPlanner,
    planner_name: str,
    strategy: str,
    params: Mapping[str, str],
    settings: ClusteringSettings,
    now: datetime,
    orders: bool | None = None,
    order_name: str | None = None,
    left_out: list[str] | None = None,
) -> ClusteringPlan | None:
    """The plan; None if there is nothing to cluster. Changes nothing.

    ``strategy`` runs it, by ``params``; ``orders``: whether it changes the order of rows (None: if
    ``params`` name columns to sort by). Where it doesn't, a group that would not become fewer files
    is no use; where it does, one that a clustering of the same ``order_name`` and ``params`` has
    made. ``left_out`` gets a reason for each slice of the partitions looked at that is not in the
    plan.

    Raises PluginError for a planner that breaks its contract: rows would be doubled;
    CorruptTableError for a file whose footer can't be read."""
    there = {s.partition_path for s in scope.slices}
    changed: Collection[str] = there
    if settings.incremental:
        since = changed_partitions(
            Snapshot(scope.storage, scope.timeline), planner_name, strategy, params
        )
        changed = there if since is None else since
    partitions = partitions_of(scope.slices, changed)
    wanted_paths = wanted_partitions(partitions, settings, scope.only, now)
    looked = [path for path in wanted_paths if path in changed]
    sort_columns = SORT_COLUMNS.given(params) or ()
    reasons: list[str] = [] if left_out is None else left_out
    candidates = _candidates(
        scope,
        settings,
        looked,
        planner.bounds_of,
        reasons,
    )
    sizes = GroupSizes(settings.target, settings.group)
    groups: list[ClusteringGroup] = []
    for path in looked:
        of_path = candidates.get(path, [])
        if of_path:
            made = tuple(planner.group(of_path, sizes))
            _check_groups(planner_name, made, of_path, sizes)
            groups += made
    orders = bool(sort_columns) if orders is None else orders
    wanted = _chosen(planner, planner_name, groups)
    laid_out = None
    if orders and order_name is not None:
        laid_out = LaidOut(scope.storage, scope.timeline, order_name, params)
    chosen = []
    for group in wanted:
        if laid_out is not None and laid_out.is_so(group):
            reasons += [SORTED] * len(group.slices)
        elif _is_worth(group, sizes, settings, orders):
            chosen.append(group)
        else:
            reasons += [NO_USE] * len(group.slices)
    planned, cut = chosen[: settings.groups], chosen[settings.groups :]
    offered = sum(map(len, candidates.values()))
    reasons += [NOT_CHOSEN] * (offered - sum(len(group.slices) for group in wanted))
    reasons += [NEXT_TIME] * sum(len(group.slices) for group in cut)
    if not planned:
        return None
    owed = set(changed).intersection(there) - set(looked)
    known, columns = _with_metrics(scope, planned, sort_columns)
    return ClusteringPlan(
        tuple(_planned(group, sizes, columns) for group in known),
        strategy,
        dict(params),
        {PLANNER: planner_name, **_said(reasons)},
        tuple(sorted(owed | {group.partition_path for group in cut})),
    )


def _with_metrics(
    scope: Scope, groups: Sequence[ClusteringGroup], sort_columns: Sequence[str]
) -> tuple[list[ClusteringGroup], tuple[str, ...]]:
    """``groups`` with what is known of the ``sort_columns`` and of all other columns, and these
    columns. For others no file is opened, and of very many files nothing is asked: a plan is there
    before long."""
    slices = [item.slice for group in groups for item in group.slices]
    others = [name for name in scope.schema.names if kind_of(scope.schema, name) is not None]
    columns = tuple(dict.fromkeys((*sort_columns, *others)))
    if len(slices) * len(columns) > _MOST_LOOKUPS:
        columns = tuple(sort_columns)
    if len(slices) * len(columns) > _MOST_LOOKUPS:
        return list(groups), ()
    found = iter(
        with_bounds(
            Snapshot(scope.storage, scope.timeline),
            scope.file_format,
            scope.schema,
            slices,
            sort_columns,
            more=columns,
        )
    )
    made = [evolve(group, slices=tuple(islice(found, len(group.slices)))) for group in groups]
    return made, columns


def _said(reasons: Sequence[str]) -> dict[str, str]:
    return {LEFT_OUT: " ".join(sentences(reasons))} if reasons else {}


def _candidates(
    scope: Scope,
    settings: ClusteringSettings,
    paths: Sequence[str],
    columns: Sequence[str],
    left_out: list[str],
) -> dict[str, list[Clusterable]]:
    """By partition path, each by file id."""
    wanted = set(paths)
    of_paths = (s for s in scope.slices if s.partition_path in wanted)
    slices = sorted(
        eligible(of_paths, settings, scope.busy, left_out),
        key=attrgetter("partition_path", "file_id"),
    )
    known = with_bounds(
        Snapshot(scope.storage, scope.timeline), scope.file_format, scope.schema, slices, columns
    )
    by_path = groupby(known, key=lambda item: item.slice.partition_path)
    return {path: list(items) for path, items in by_path}


def _is_worth(
    group: ClusteringGroup, sizes: GroupSizes, settings: ClusteringSettings, orders: bool
) -> bool:
    if group.extra:
        return True
    if len(group.slices) == 1 and not settings.single and sizes.outputs(group.size) == 1:
        return False
    merges = any(item.slice.base_file is None or item.slice.row_logs for item in group.slices)
    return orders or merges or sizes.outputs(group.size) < len(group.slices)


def _chosen(
    planner: ClusteringPlanner, name: str, groups: Sequence[ClusteringGroup]
) -> list[ClusteringGroup]:
    chosen = list(planner.choose(groups)) if groups else []
    known = {_keys(group) for group in groups}
    found = [_keys(group) for group in chosen]
    if not known.issuperset(found) or len(set(found)) < len(found):
        raise _broken(name, "it chose a group that was not among those given, or one twice.")
    return chosen


def _check_groups(
    name: str,
    groups: Iterable[ClusteringGroup],
    candidates: Sequence[Clusterable],
    sizes: GroupSizes,
) -> None:
    left = {_key(item) for item in candidates}
    for group in groups:
        for key in _keys(group):
            if key not in left:
                raise _broken(name, f"it grouped {key} twice, or it was no candidate.")
            left.discard(key)
        if not group.slices:
            raise _broken(name, "it made a group of nothing.")
        if len(group.slices) > 1 and group.size > sizes.group:
            raise _broken(
                name, f"it made a group of {group.size} bytes; {sizes.group} are allowed."
            )


def _broken(name: str, what: str) -> PluginError:
    return PluginError(
        f"clustering planner {name!r}",
        what,
        "Repair it: hoodoo_clustering.testing.clustering_plan tests what planners promise.",
    )


def _key(item: Clusterable) -> Key:
    return item.slice.partition_path, item.slice.file_id


def _keys(group: ClusteringGroup) -> tuple[Key, ...]:
    return tuple(_key(item) for item in group.slices)


def _planned(group: ClusteringGroup, sizes: GroupSizes, columns: Sequence[str]) -> PlannedGroup:
    return PlannedGroup(
        tuple(item.slice for item in group.slices),
        group.outputs or sizes.outputs(sum(map(_expected, group.slices))),
        group_metrics(group.slices, columns),
        {**group_extra(group.slices, columns), **group.extra},
    )


def _expected(item: Clusterable) -> int:
    """Bytes of its rows in a new base file. Rows of log files are in the base file for the most
    part."""
    base = item.slice.base_file
    return int(item.size * _LOGS_TO_BASE) if base is None else base.size
