"""Sizes of a table: how large its files are, how much of them is old, what writing has cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.findings import Progress, silent
from hoodoo.model.instant import Instant
from hoodoo.options.core import SMALL_FILE_LIMIT
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import from_files
from hoodoo_rows.api import Batches, Sizes

from hoodoo_cli.reports.figures import TableStats, WriteTotals
from hoodoo_cli.reports.listed import data_files

# Hudi's hoodie.parquet.small.file.limit, where the table does not say.
SMALL_FILE = SMALL_FILE_LIMIT.initial
_AT_ONCE = 8
# Services rewrite rows; they change none.
_SERVICES = (Operation.COMPACT, Operation.LOG_COMPACT, Operation.CLUSTER, Operation.INDEX)


def table_stats(
    source: ReadSource,
    small_file: int = SMALL_FILE,
    cleanable: Iterable[str] | None = None,
    footers: int | None = None,
    progress: Progress = silent,
) -> TableStats:
    """One listing, all commits of the active timeline, and the footers of those base files whose
    commit has been archived: ``footers`` at most; where there are more of them, rows are not
    counted. ``cleanable``: paths of the files that a clean would delete; None: not known. Raises
    CorruptTableError for a timeline that can't be read."""
    storage, timeline, config = source.storage, source.timeline, source.config
    found = (parse_path(entry.path, entry.size) for entry in data_files(source.snapshot))
    files = tuple(file for file in found if file is not None)
    commits = all_commits(source, progress)
    view = from_files(Snapshot(storage, timeline), files)
    groups = view.groups()
    newest = view.slices
    older = [s for group in groups for s in group.slices[1:]]
    kept = {(group.partition_path, group.file_id) for group in groups}
    gone = [
        s
        for group in view.groups(replaced=True)
        if (group.partition_path, group.file_id) not in kept
        for s in group.slices
    ]
    committed = sum(s.size for s in (*newest, *older, *gone))
    bases = [s.base_file for s in newest if s.base_file is not None]
    logs = [log for s in newest for log in s.log_files]
    return TableStats(
        table=config.name or storage.root,
        table_type=config.table_type,
        table_version=config.version,
        partitions=len(view.partitions()),
        file_groups=len(groups),
        slices=sum(len(group.slices) for group in groups),
        rows=_rows(source, bases, commits, footers, progress),
        newest_bytes=_bytes(newest),
        older_bytes=_bytes(older),
        replaced_bytes=_bytes(gone),
        uncommitted_bytes=_all_bytes(files) - committed,
        base_files=Sizes.of([base.size for base in bases]),
        small_files=sum(base.size < small_file for base in bases),
        small_file_limit=small_file,
        log_files=Sizes.of([log.size for log in logs]),
        written=written(commits),
        cleanable_bytes=None if cleanable is None else _of_paths(files, cleanable),
    )


def written(commits: Iterable[CommitMetadata]) -> WriteTotals:
    """The write amplification of these commits."""
    count = size = rows = changed = 0
    for metadata in commits:
        count += 1
        service = metadata.operation in _SERVICES or metadata.compacted
        for stat in metadata.stats:
            size += _written(stat)
            if not service:
                rows += _changed_rows(stat)
                changed += _changed_bytes(stat)
    return WriteTotals(count, size, rows, changed)


def _written(stat: WriteStat) -> int:
    """In version 6 a log file may be appended to: the stat's total is what this commit added."""
    total = stat.extra.get("totalWriteBytes")
    return int(total) if isinstance(total, int) and total > 0 else stat.file_size


def _changed_rows(stat: WriteStat) -> int:
    return stat.num_inserts + stat.num_updates + stat.num_deletes


def _changed_bytes(stat: WriteStat) -> int:
    if stat.log_version is not None:
        return _written(stat)
    if stat.num_writes <= 0:
        return stat.file_size if _changed_rows(stat) else 0
    return round(stat.file_size * min(1.0, _changed_rows(stat) / stat.num_writes))


def all_commits(source: ReadSource, progress: Progress) -> list[CommitMetadata]:
    """What each completed write of the active timeline has noted."""
    todo = [partial(_one_commit, source, instant) for instant in source.timeline.writes()]
    found: list[CommitMetadata] = []
    for done, metadata in enumerate(Batches.in_order(todo, _AT_ONCE), 1):
        progress("timeline", done, len(todo))
        found.append(metadata)
    return found


def _one_commit(source: ReadSource, instant: Instant) -> Iterator[CommitMetadata]:
    yield source.timeline.metadata(source.storage, instant)


def _rows(
    source: ReadSource,
    bases: Sequence[BaseFile],
    commits: Iterable[CommitMetadata],
    footers: int | None,
    progress: Progress,
) -> int | None:
    found = base_rows(source, bases, commits, footers, progress)
    return sum(found.values()) if len(found) == len({base.path for base in bases}) else None


def base_rows(
    source: ReadSource,
    bases: Sequence[BaseFile],
    commits: Iterable[CommitMetadata],
    footers: int | None,
    progress: Progress,
) -> dict[str, int]:
    """How many rows each base file has, by its path. Files are missing that no commit speaks of,
    where their format has no plugin, or where they are more than ``footers``."""
    said = {s.path: s.num_writes for m in commits for s in m.stats if s.log_version is None}
    found = {base.path: said[base.path] for base in bases if base.path in said}
    unsaid = [base.path for base in bases if base.path not in said]
    if source.file_format is None or (footers is not None and len(unsaid) > footers):
        return found
    todo = [partial(_footer, source.storage, source.file_format, path) for path in unsaid]
    for done, (path, rows) in enumerate(zip(unsaid, Batches.in_order(todo, _AT_ONCE)), 1):
        progress("footers", done, len(todo))
        found[path] = rows
    return found


def _footer(storage: Storage, file_format: BaseFileFormat, path: str) -> Iterator[int]:
    with file_format.reader(storage, path) as reader:
        yield reader.num_rows


def _bytes(slices: Iterable[FileSlice]) -> int:
    return sum(slice_.size for slice_ in slices)


def _of_paths(files: Iterable[BaseFile | LogFile], paths: Iterable[str]) -> int:
    wanted = set(paths)
    return sum(file.size for file in files if file.path in wanted)


def _all_bytes(files: Iterable[BaseFile | LogFile]) -> int:
    return sum(file.size for file in files)
