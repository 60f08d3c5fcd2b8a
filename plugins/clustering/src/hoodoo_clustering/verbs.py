"""Calls of their own for clustering: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from hoodoo.calls import is_a_call, lacks
from hoodoo.hookspecs.engine import Engine
from hoodoo.model.outcome import RolledBack
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import installed_action
from hoodoo.table.running import run, run_planned, schedule
from hoodoo_rows.api import Commit

from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.outcome import BucketsResized, PendingClustering


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
    """Rewrite file groups with a good size and order. No row changes, and writers can continue.

    ``plan`` groups files: ``size``, ``several``, ``single_file``, ``copy``, ``key_range``,
    ``commit_time``, ``overlap``, ``random``. ``order`` sorts their rows: ``linear``, ``zorder``,
    ``hilbert``, ``single_file``, ``combine`` (not sorted). Both take the name of a plugin, a Java
    class name or an object, too. ``columns`` are the columns to sort by. ``target_file_size`` is in
    bytes. ``partitions`` are partition paths, or an object that filters them. ``options`` are
    further options. What you do not give comes from the table's ``hoodie.clustering.*`` options.

    ``notes`` of the commit say which file slices are left out. Pending clusterings are run first,
    except those that another tool has begun. If there is nothing to do, the commit has an empty
    instant. Raises CommitConflictError if the clustering gives way to a write."""
    found: Commit = run(
        table,
        "clustering",
        plan=plan,
        order=order,
        columns=columns,
        options=options,
        target_file_size=target_file_size,
        partitions=partitions,
        engine=engine,
    )
    return found


class Optimized(tuple[Commit, ...]):
    """The commits of an ``optimize``."""

    def __getattr__(self, name: str) -> NoReturn:
        lacks("table.optimize has no", "optimize", name)


def optimize(
    table: TableHandle,
    columns: str | Sequence[str] | None = None,
    *,
    order: Any = None,
    target_file_size: int | None = None,
    engine: str | Engine | None = None,
) -> tuple[Commit, ...]:
    """Make reads fast: compact the log files of a merge-on-read table, then cluster small files
    into larger ones. No row changes. Returns the commits of what was done.

    ``columns`` are the columns to sort by, and ``order`` is that of ``cluster``; by default
    ``linear`` for one column, and ``zorder`` for several. ``target_file_size`` is in bytes. Old
    files stay until they are cleaned. Raises what ``compact`` and ``cluster`` raise.
    """
    done: list[Commit] = []
    if table.config.table_type == "MERGE_ON_READ":
        done.append(run(table, "compaction", engine=engine))
    if order is None and columns is not None:
        order = "linear" if isinstance(columns, str) or len(columns) == 1 else "zorder"
    done.append(
        cluster(
            table, None, order, columns=columns, target_file_size=target_file_size, engine=engine
        )
    )
    return Optimized(commit for commit in done if commit.instant)


is_a_call(optimize, "compact", "z_order")  # an object in Delta Lake


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
    """Plan a clustering, and run nothing. Returns its instant, or None if there is nothing to do.

    The plan contains everything that the run needs: another process may run it, with other
    options. The arguments are those of ``cluster``, except that ``order`` cannot be an object.
    Raises ConfigError for invalid arguments, and CommitConflictError while a restore or a rollback
    is in progress."""
    return schedule(
        table,
        "clustering",
        plan=plan,
        order=order,
        columns=columns,
        options=options,
        target_file_size=target_file_size,
        partitions=partitions,
    )


schedule_cluster = schedule_clustering  # as the action is named by its method


def run_clustering(
    table: TableHandle, instant: str, *, order: Any = None, engine: str | Engine | None = None
) -> Commit:
    """Run a planned clustering of Hoodoo or of another tool, from the start or from where an
    earlier run stopped.

    ``order`` is an object, if the plan was made with one. Raises ConfigError if the plan is not
    pending or if its strategy is not installed; CommitConflictError if another process runs it, or
    if it gives way to a write: then it is undone."""
    found: Commit = run_planned(table, "clustering", instant, order=order, engine=engine)
    return found


run_cluster = run_clustering


def cancel_clustering(table: TableHandle, instant: str) -> RolledBack:
    """Cancel a planned clustering, even if it is running. All its files are removed. Raises
    ConfigError if it is not pending."""
    found: RolledBack = installed_action(table, "clustering").cancel(table, instant)
    return found


def clusterings(table: TableHandle) -> tuple[PendingClustering, ...]:
    """The clusterings that are planned and not completed, the oldest first."""
    found: tuple[PendingClustering, ...] = installed_action(table, "clustering").pending(table)
    return found


def resize_buckets(
    table: TableHandle,
    buckets: int | None = None,
    *,
    expressions: str | None = None,
    dry_run: bool = False,
    engine: str | Engine | None = None,
) -> BucketsResized:
    """Give the partition paths of a table with a bucket index other numbers of buckets. No row
    changes.

    ``buckets`` is the number of each path, or of the paths without a rule if the table has rules
    by path. ``expressions`` are these rules, ``regex,number`` with ``;`` between them; an empty
    text removes them. What you do not give stays. Readers and writers can continue. After a crash,
    repeat the call.

    ``dry_run``: change nothing, and say what would be rewritten. Raises UnsupportedTableError for
    another index, ConfigError for a number or rules that are invalid, and CommitConflictError if a
    compaction or a clustering is pending for the file groups."""
    found: BucketsResized = run(
        table,
        "resize_buckets",
        buckets=buckets,
        expressions=expressions,
        dry_run=dry_run,
        engine=engine,
    )
    return found
