"""Calls of their own for clustering: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hoodoo.hookspecs.engine import Engine
from hoodoo.model.outcome import RolledBack
from hoodoo.table.call_action import installed_action
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run, run_planned, schedule
from hoodoo.write.commit import Commit

from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.outcome import PendingClustering


def cluster(
    table: TableHandle,
    plan: Any = None,
    order: Any = None,
    *,
    columns: str | Sequence[str] | None = None,
    target_file_size: int | None = None,
    partitions: str | Sequence[str] | PartitionFilter | None = None,
    options: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
) -> Commit:
    """Rewrite file groups into well-sized, well-sorted ones; no row changes. Writers may go on meanwhile.

    ``plan`` groups files: ``size``, ``several``, ``single_file``, ``copy``, ``key_range``, ``commit_time``,
    ``overlap``, ``random``, a plugin's name, a Java class or an object; ``order`` lays out their rows: ``linear``,
    ``zorder``, ``hilbert``, ``single_file``, ``combine`` (as they come), or likewise. ``columns``: what is sorted by; ``target_file_size`` in bytes; ``partitions``:
    the partition paths, or an object that filters them, else those that the options name. ``options``: others, by their keys. What isn't
    given is taken from the table's ``hoodie.clustering.*`` options.

    File slices that a clustering by the same order, columns and target size has made, and nobody has
    written to since, are left alone, and so are base files of the small file limit or more: by default
    no more than the target; given above it, they take part. ``notes`` of the commit say what was left
    out, and why.

    Clusterings that were planned before are run first, but for those that another tool has begun. The
    commit has an empty instant where nothing was there to do. Raises CommitConflictError where a write
    came in that the clustering gives way to.
    """
    found: Commit = run(
        table, "clustering", plan=plan, order=order, columns=columns, options=options,
        target_file_size=target_file_size, partitions=partitions, engine=engine,
    )  # fmt: skip
    return found


def schedule_clustering(
    table: TableHandle,
    plan: Any = None,
    order: Any = None,
    *,
    columns: str | Sequence[str] | None = None,
    target_file_size: int | None = None,
    partitions: str | Sequence[str] | PartitionFilter | None = None,
    options: Mapping[str, Any] | None = None,
) -> str | None:
    """Plan a clustering; its instant, or None where nothing is worth it. Runs nothing.

    All that a run goes by is in the plan: it may be run by another process, with other options. Arguments
    as :meth:`cluster` has them, but for an ``order`` that is an object: it could not be found again by what a
    plan can say. Raises ConfigError for bad ones, CommitConflictError while a restore or a rollback is under
    way.
    """
    return schedule(
        table, "clustering", plan=plan, order=order, columns=columns, options=options,
        target_file_size=target_file_size, partitions=partitions,
    )  # fmt: skip


schedule_cluster = schedule_clustering  # as the action is named by its method


def run_clustering(
    table: TableHandle, instant: str, *, order: Any = None, engine: str | Engine | None = None
) -> Commit:
    """Run a planned clustering, Hoodoo's or another tool's, from the start or where an earlier run stopped.

    ``order``: an object, where the plan was made with one. Raises ConfigError if it is not pending or its
    strategy is not installed; CommitConflictError if another process runs it, or it gives way to a write:
    it is undone then.
    """
    found: Commit = run_planned(table, "clustering", instant, order=order, engine=engine)
    return found


run_cluster = run_clustering


def cancel_clustering(table: TableHandle, instant: str) -> RolledBack:
    """Give a planned clustering up, be it running: nothing of it is left. Raises ConfigError if it is not
    pending."""
    found: RolledBack = installed_action(table, "clustering").cancel(table, instant)
    return found


def clusterings(table: TableHandle) -> tuple[PendingClustering, ...]:
    """The clusterings that are planned and not completed, the oldest first."""
    found: tuple[PendingClustering, ...] = installed_action(table, "clustering").pending(table)
    return found
