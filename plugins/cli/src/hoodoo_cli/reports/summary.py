"""A table in a line: what somebody who looks after many tables asks of each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import asdict, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.model.instant import Instant
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import from_files, parsed

from hoodoo_cli.reports.listed import data_files
from hoodoo_cli.reports.stats import SMALL_FILE

WEEK = 7 * 86_400.0
# What is worth a finding. Each has an alert of the same sense in docs/monitoring.md.
_DELTAS = 20  # writes whose log files no compaction has merged
_SMALL = (10, 0.5)  # small base files, and their share
_OLD = (5, 100_000_000)  # older slices for each byte of the newest ones, and bytes
_PENDING = 86_400.0  # seconds
_COMPACTIONS = (Operation.COMPACT, Operation.LOG_COMPACT)


@frozen
class TableSummary:
    """The result of ``table.report("summary")``. Sizes are in bytes, times in seconds since 1970.

    ``rows`` are those of base files whose commit is on the active timeline; None if others are
    older. ``old_bytes``: older slices, replaced file groups, files of instants that are not
    completed. ``compaction_lag``: writes of log files after the newest compaction,
    ``compaction_since`` the end of the first one; zero and None where no log file waits.
    ``clustering_lag``: writes after the newest clustering; None if the active timeline has none.
    ``week_bytes`` and ``week_rows`` (inserted less deleted) are what writes of the last seven days
    have noted."""

    table: str
    table_type: str
    table_version: int
    last_commit: str | None
    last_commit_at: float | None
    partitions: int
    file_groups: int
    rows: int | None
    bytes: int
    old_bytes: int
    base_files: int
    small_files: int
    log_files: int
    log_bytes: int
    pending: int
    oldest_pending: str | None
    oldest_pending_at: float | None
    compaction_lag: int
    compaction_since: float | None
    clustering_lag: int | None
    week_bytes: int
    week_rows: int

    @property
    def newest_bytes(self) -> int:
        """What a snapshot read uses."""
        return self.bytes - self.old_bytes

    def findings(self, now: float | None = None) -> tuple[Finding, ...]:
        """What somebody should look at, with what to do about it."""
        return tuple(_findings(self, time.time() if now is None else now))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, the findings among them."""
        return {**asdict(self), "findings": [asdict(one) for one in self.findings()]}


def table_summary(
    source: ReadSource, small_file: int = SMALL_FILE, now: float | None = None
) -> TableSummary:
    """One listing of the data files, and the writes of the active timeline, one after another."""
    storage, timeline, config = source.storage, source.timeline, source.config
    files = parsed(data_files(source.snapshot))
    view = from_files(Snapshot(storage, timeline), files)
    bases = [s.base_file for s in view.slices if s.base_file is not None]
    logs = [log for s in view.slices for log in s.log_files]
    size = sum(file.size for file in files)
    found = _Writes.of(source, {base.path for base in bases}, time.time() if now is None else now)
    pending = timeline.pending()
    writes = timeline.writes()
    last = writes[-1] if writes else None
    return TableSummary(
        table=config.name or storage.root,
        table_type=config.table_type,
        table_version=config.version,
        last_commit=last.requested if last else None,
        last_commit_at=_ended(last, config.timezone),
        partitions=len(view.partitions()),
        file_groups=len(view.groups()),
        rows=found.rows if found.counted == len(bases) else None,
        bytes=size,
        old_bytes=size - _bytes(view.slices),
        base_files=len(bases),
        small_files=sum(base.size < small_file for base in bases),
        log_files=len(logs),
        log_bytes=sum(log.size for log in logs),
        pending=len(pending),
        oldest_pending=pending[0].requested if pending else None,
        oldest_pending_at=_seconds(pending[0].requested, config.timezone) if pending else None,
        compaction_lag=found.deltas if logs else 0,
        compaction_since=_ended(found.first_delta, config.timezone) if logs else None,
        clustering_lag=found.clustering_lag,
        week_bytes=found.week_bytes,
        week_rows=found.week_rows,
    )


@frozen
class _Writes:
    """What the writes have noted; they are not in memory together."""

    rows: int
    counted: int
    deltas: int
    first_delta: Instant | None
    clustering_lag: int | None
    week_bytes: int
    week_rows: int

    @classmethod
    def of(cls, source: ReadSource, bases: set[str], now: float) -> _Writes:
        rows: dict[str, int] = {}
        first: Instant | None = None
        count = lag = 0
        seen = False
        week_bytes = week_rows = 0
        for instant, metadata in _commits(source):
            for stat in metadata.stats:
                if stat.log_version is None and stat.path in bases:
                    rows[stat.path] = stat.num_writes
            if metadata.operation is Operation.COMPACT or metadata.compacted:
                count, first = 0, None
            elif any(stat.log_version is not None for stat in metadata.stats):
                count, first = count + 1, first or instant
            if metadata.operation is Operation.CLUSTER:
                lag, seen = 0, True
            elif metadata.operation not in _COMPACTIONS and not metadata.compacted:
                lag += 1
            if (_ended(instant, source.config.timezone) or 0.0) > now - WEEK:
                done = metadata.figures
                week_bytes += done["bytes_written"]
                week_rows += done["rows_inserted"] - done["rows_deleted"]
        clustering = lag if seen else None
        total = sum(rows.values())
        return cls(total, len(rows), count, first, clustering, week_bytes, week_rows)


def _commits(source: ReadSource) -> Iterator[tuple[Instant, CommitMetadata]]:
    for instant in source.timeline.writes():
        yield instant, source.timeline.metadata(source.storage, instant)


def _findings(found: TableSummary, now: float) -> Iterator[Finding]:
    if found.compaction_lag >= _DELTAS:
        said = f"{found.compaction_lag} writes of them wait for a compaction"
        yield Finding("compaction.lag", f"{found.log_files:,} log files", said, "hoodoo compact")
    if found.small_files >= _SMALL[0] and found.small_files >= _SMALL[1] * found.base_files:
        said = f"{found.small_files:,} of {found.base_files:,} are small"
        yield Finding("files.small", "base files", said, "hoodoo cluster")
    if found.old_bytes > max(_OLD[1], _OLD[0] * found.newest_bytes):
        share = found.old_bytes / max(1, found.newest_bytes)
        said = f"take {share:.0f} times the space of the newest ones"
        yield Finding("files.old", "older file slices", said, "hoodoo clean, or drop savepoints")
    if found.oldest_pending_at is not None and now - found.oldest_pending_at > _PENDING:
        days = (now - found.oldest_pending_at) / 86_400
        said = f"has been pending for {days:.0f} d"
        fix = "hoodoo serve --once runs plans; hoodoo rollback undoes failed writes"
        yield Finding("instant.pending", str(found.oldest_pending), said, fix)


def _bytes(slices: Iterable[FileSlice]) -> int:
    return sum(one.size for one in slices)


def _ended(instant: Instant | None, zone: str) -> float | None:
    return None if instant is None else _seconds(instant.completed or instant.requested, zone)


def _seconds(instant: str, zone: str) -> float | None:
    try:
        return to_datetime(instant, zone).timestamp()
    except HoodooError:
        return None
