"""Run the groups of a plan on the engine, the largest first: one task for each group, or as many
tasks as an option allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import UsesThreads
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import FILE_NAME, with_meta
from hoodoo_rows.api import NewFiles, Pending, WriteResult, WriteTarget

from hoodoo_clustering.bounds import kind_of
from hoodoo_clustering.file_bounds import unpack
from hoodoo_clustering.group_job import GroupJob, payloads
from hoodoo_clustering.hookspecs.clustering import (
    ClusteredFile,
    ClusteredGroup,
    Clustering,
    OneFile,
)
from hoodoo_clustering.options import AT_ONCE
from hoodoo_clustering.plan import ClusteringPlan
from hoodoo_clustering.rewrite_group import REWRITTEN, RewriteGroups

# More threads do not help: a third of the time is work of one thread (the order of rows, the bloom
# filter).
_MOST_THREADS = 4


def run_groups(
    target: WriteTarget,
    plan: ClusteringPlan,
    order: Clustering,
    target_bytes: int,
    memory: int,
    pending: Pending,
    attempt: str,
    schema: pa.Schema,
) -> tuple[WriteResult, tuple[ClusteredGroup, ...]]:
    """Rewrite all groups of ``plan``, whose slices have sizes. Returns the files, and the groups
    with their new files in the order of the plan.

    ``schema``: the columns of new files, without meta columns. ``target_bytes``: the size of a
    file. ``memory``: bytes of rows that one task may hold. ``attempt`` is in the names of all
    files. Raises ConfigError for columns of ``order`` that the table doesn't have,
    CommitConflictError if the instant of ``pending`` is undone meanwhile."""
    stored = pa.schema([f for f in with_meta(schema) if f.name != FILE_NAME])
    for name in order.columns:
        if name not in stored.names and kind_of(stored, name) is None:
            raise ConfigError(
                f"clustering by column {name}",
                f"the table has no such column (it has {', '.join(schema.names)}).",
                "Cancel the clustering (table.rollback) and schedule it by columns that there are.",
            )
    with_keys = target.joined is not None and target.joined.keys
    jobs = [
        GroupJob(number, group.slices, group.extra, group.outputs)
        for number, group in enumerate(plan.groups)
        if group.slices
    ]
    heaviest = sorted(jobs, key=lambda job: (-job.size, job.number))
    engine = target.engine
    at_once = AT_ONCE.given(target.options)
    tasks = payloads(heaviest, at_once)
    cores = engine.parallelism if at_once is None else min(engine.parallelism, at_once)
    threads = threads_of(cores, len(tasks))
    file_format = target.file_format
    if threads > 1 and isinstance(file_format, UsesThreads):
        file_format = file_format.with_threads(threads)
    step = RewriteGroups(
        target.storage,
        file_format,
        target.merge_rule(stored),
        pending,
        order,
        target_bytes,
        memory,
        with_keys,
        attempt,
        threads,
    )
    if isinstance(order, OneFile) and order.one_file:
        _check_single(jobs)
    stream = engine.map(engine.tasks(tasks), step)
    if with_keys:
        stream = engine.stage(stream, target.workspace(pending.requested))
    found = engine.collect(engine.map(stream, _OnlyFiles()))
    written, files = _read(found, order)
    if with_keys:
        written = evolve(written, keys=engine.map(stream, NewFiles.OnlyKeys()))
    return written, tuple(
        ClusteredGroup(job.slices, tuple(files.get(job.number, ()))) for job in jobs
    )


def threads_of(cores: int, tasks: int) -> int:
    """The threads of each task: all ``cores`` have work, also with fewer ``tasks``."""
    return max(1, min(_MOST_THREADS, cores // max(1, tasks)))


def _check_single(jobs: Sequence[GroupJob]) -> None:
    for job in jobs:
        if len(job.slices) > 1:
            raise ConfigError(
                f"group {job.number} of the clustering",
                f"has {len(job.slices)} file slices, and what the plan is run by makes one file of "
                "one.",
                "Cancel it, and plan with plan='single_file', or name another order.",
            )


def _read(found: pa.Table, order: Clustering) -> tuple[WriteResult, dict[int, list[ClusteredFile]]]:
    """The files, and the files of each group, from ``found``: rows of REWRITTEN with a stat."""
    stats: dict[int, WriteStat] = {}
    files: dict[int, list[tuple[int, ClusteredFile]]] = {}
    for row in found.to_pylist():
        stat = NewFiles.stat_of(row["stat"])
        stats[row["file"]] = stat
        file = ClusteredFile(stat, unpack(row["bounds"], order.columns))
        files.setdefault(row["group"], []).append((row["file"], file))
    written = WriteResult(tuple(sorted(stats.values(), key=lambda s: s.path)), files=stats)
    # A task numbers its files in the order in which it writes them, which is that of the rows.
    in_order = {
        group: [file for _, file in sorted(some, key=lambda pair: pair[0])]
        for group, some in files.items()
    }
    return written, in_order


@frozen
class _OnlyFiles:
    out_schema: pa.Schema = REWRITTEN

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.is_valid(batch.column("stat")))
