"""Procedures that show commits, their files and the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from statistics import fmean, stdev
from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import Instant, State
from hoodoo.table.table import Table
from hoodoo.timeline import codec
from hoodoo.timeline.instants import order_key, to_datetime

from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows

_CLOCK = "%m-%d %H:%M:%S"  # as show_timeline has it


@frozen
class Done:
    """A completed write, and what it says of itself."""

    instant: Instant
    metadata: CommitMetadata

    @property
    def added(self) -> set[tuple[str, str]]:
        return _groups(s for s in self.metadata.stats if s.prev_commit == "null")

    @property
    def updated(self) -> set[tuple[str, str]]:
        return _groups(s for s in self.metadata.stats if s.prev_commit != "null")

    def sum(self, name: str) -> int:
        return sum(getattr(stat, name) for stat in self.metadata.stats)


def completed(table: Table) -> list[Done]:
    """The completed writes of the active timeline, the newest first."""
    timeline = table.timeline()
    return [
        Done(instant, timeline.metadata(table.handle.storage, instant))
        for instant in timeline.writes()[::-1]
    ]


def _archived(call: Call) -> list[Done]:
    storage, config = call.table.handle.storage, call.table.config
    begin, end = str(call.get("start_ts", "")), str(call.get("end_ts", ""))
    found = []
    for one in load_archived(storage, config)[::-1]:
        key = order_key(one.requested)
        if one.is_write and key >= begin and (not end or key <= order_key(end)):
            data = one.metadata_bytes()
            where = f"archived instant {one.requested}"
            metadata = codec.decode_commit(data, where) if data else CommitMetadata()
            found.append(Done(one.instant, metadata))
    return found


def _shown(each: list[Done], limit: int | None, action: bool) -> Rows:
    rows = []
    for done in each[:limit]:
        instant, stats = done.instant, done.metadata.stats
        rows.append(
            (
                instant.requested,
                instant.completed,
                *([instant.action] if action else []),
                done.sum("file_size"),
                len(done.added),
                len(done.updated),
                len({stat.partition_path for stat in stats}),
                done.sum("num_writes"),
                done.sum("num_updates"),
                done.sum("total_write_errors"),
            )
        )
    return rows


def _stats(each: list[Done], limit: int | None) -> Rows:
    """A row for each file that was written."""
    rows = []
    for done in each:
        for stat in done.metadata.stats:
            more = stat.extra
            rows.append(
                (
                    done.instant.requested,
                    done.instant.completed,
                    done.instant.action,
                    stat.partition_path,
                    stat.file_id,
                    stat.prev_commit,
                    stat.num_writes,
                    stat.num_inserts,
                    stat.num_deletes,
                    stat.num_updates,
                    stat.total_write_errors,
                    more.get("totalLogBlocks", 0),
                    more.get("totalCorruptLogBlock", 0),
                    more.get("totalRollbackBlocks", 0),
                    more.get("totalLogRecords", 0),
                    more.get("totalUpdatedRecordsCompacted", 0),
                    stat.file_size,
                )
            )
    return rows[:limit]


def _one(call: Call) -> Done:
    """The completed write that ``instant_time`` names. ConfigError for none."""
    wanted = str(call.get("instant_time"))
    instant = call.table.timeline().find(wanted)
    if instant is None:
        raise ConfigError(
            f"instant {wanted}",
            f"is no completed write of {call.table.config.name}.",
            "CALL show_commits(table => 't') lists them.",
        )
    metadata = call.table.timeline().metadata(call.table.handle.storage, instant)
    return Done(instant, metadata)


def _files(call: Call) -> Rows:
    done = _one(call)
    return [
        (
            done.instant.action,
            stat.partition_path,
            stat.file_id,
            stat.prev_commit,
            stat.num_updates,
            stat.num_writes,
            stat.file_size,
            stat.total_write_errors,
            stat.file_size,
        )
        for stat in done.metadata.stats
    ][: call.limit]


def _partitions(call: Call) -> Rows:
    done = _one(call)
    rows = []
    for path in sorted({stat.partition_path for stat in done.metadata.stats}):
        here = Done(
            done.instant,
            CommitMetadata(stats=tuple(s for s in done.metadata.stats if s.partition_path == path)),
        )
        rows.append(
            (
                done.instant.action,
                path,
                len(here.added),
                len(here.updated),
                here.sum("num_inserts"),
                here.sum("num_updates"),
                here.sum("file_size"),
                here.sum("total_write_errors"),
            )
        )
    return rows[: call.limit]


def _write_stats(call: Call) -> Rows:
    done = _one(call)
    size, count = done.sum("file_size"), done.sum("num_writes")
    return [(done.instant.action, size, count, round(size / count) if count else 0)]


def _extra(call: Call) -> Rows:
    """The extra metadata of a commit, of the newest one if none is named."""
    each = [_one(call)] if "instant_time" in call.given else completed(call.table)[:1]
    wanted = call.get("metadata_key")
    return [
        (done.instant.requested, done.instant.action, key, value)
        for done in each
        for key, value in sorted(done.metadata.extra.items())
        if wanted in (None, key)
    ][: call.limit]


def _timeline(call: Call) -> Rows:
    table = call.table
    timeline, zone = table.timeline(), table.config.timezone
    storage = table.handle.storage
    undone: dict[str, list[str]] = {}
    says: dict[Instant, str] = {}
    for instant in timeline.instants:
        if instant.traits.undoes_one and instant.is_completed:
            gone = timeline.contents(storage, instant).get("commitsRollback") or ()
            says[instant] = f"Rolled back: {', '.join(gone)}"
            for one in gone:
                undone.setdefault(one, []).append(instant.requested)
    put = {e.path: e.modified for e in storage.list(table.config.timeline_path) if not e.is_dir}

    def time_of(instant: Instant, state: State) -> str | None:
        at = put.get(timeline.path(instant.at(state, instant.completed)))
        if at is None:
            return None
        return f"{datetime.fromtimestamp(at, timezone.utc if zone == 'UTC' else None):{_CLOCK}}"

    rows: Rows = []
    for one in timeline.instants:
        by = undone.get(one.requested)
        said = says.get(one) or (f"Rolled back by: {', '.join(by)}" if by else None)
        times = (time_of(one, state) for state in State)
        rows.append((one.requested, one.action, one.state.value, *times, "ACTIVE", said))
    if call.get("showarchived"):
        for old in load_archived(storage, table.config):
            begun = f"{to_datetime(old.requested, zone):{_CLOCK}}"
            ended = f"{to_datetime(old.completion_order, zone):{_CLOCK}}"
            row = (old.requested, old.action, "COMPLETED", begun, begun, ended, "ARCHIVED", None)
            rows.append(row)
    begin, end = str(call.get("starttime", "")), str(call.get("endtime", ""))
    chosen = [r for r in rows if r[0] >= begin and (not end or r[0] <= end)]
    chosen.sort(key=lambda row: order_key(row[0]), reverse=True)
    return chosen if begin and end else chosen[: call.limit]


def _savepoints(call: Call) -> Rows:
    return [(one.instant,) for one in call.table.savepoints()[::-1]]


def _rollbacks(call: Call) -> Rows:
    rows = []
    for instant, made in _undone(call.table):
        for gone in made.get("commitsRollback") or ():
            rows.append(
                (
                    instant.requested,
                    gone,
                    made["totalFilesDeleted"],
                    made["timeTakenInMillis"],
                    len(made["partitionMetadata"]),
                )
            )
    return rows[: call.limit]


def _rollback_detail(call: Call) -> Rows:
    wanted, rows = str(call.get("instant_time")), []
    for instant, made in _undone(call.table):
        if instant.requested != wanted:
            continue
        gone = ", ".join(made.get("commitsRollback") or ())
        for path, one in made["partitionMetadata"].items():
            deleted = [(name, True) for name in one["successDeleteFiles"] or ()]
            deleted += [(name, False) for name in one["failedDeleteFiles"] or ()]
            rows += [(wanted, gone, path, name, fine) for name, fine in deleted]
    return rows[: call.limit]


def _undone(table: Table) -> Iterator[tuple[Instant, dict[str, Any]]]:
    """The completed rollbacks, the newest first, with what each has done."""
    timeline = table.timeline()
    for instant in timeline.completed()[::-1]:
        if instant.traits.undoes_one:
            yield instant, timeline.contents(table.handle.storage, instant)


def _amplification(call: Call) -> Rows:
    rows, upserted, written = [], 0, 0
    for done in completed(call.table)[::-1]:
        updates, rows_written = done.sum("num_updates"), done.sum("num_writes")
        upserted, written = upserted + updates, written + rows_written
        rows.append((done.instant.requested, updates, rows_written, _ratio(rows_written, updates)))
    total = ("Total", upserted, written, _ratio(written, upserted))
    return [*rows[: call.limit], total]


def _ratio(written: int, upserted: int) -> str:
    return f"{written / upserted:.2f}" if upserted else "0"


def _sizes(call: Call) -> Rows:
    """Sizes of files by the commit that wrote them, and of all of them."""
    by: dict[str, list[int]] = {}
    wanted = call.get("partition_path")
    for done in completed(call.table)[::-1]:
        for stat in done.metadata.stats:
            if wanted in (None, stat.partition_path):
                by.setdefault(done.instant.requested, []).append(stat.file_size)
    if not by:
        return []
    rows = [_row_of_sizes(name, sizes) for name, sizes in by.items()][: call.limit]
    return [*rows, _row_of_sizes("ALL", [size for sizes in by.values() for size in sizes])]


def _row_of_sizes(name: str, sizes: list[int]) -> tuple[Any, ...]:
    tenth, half, most = (_quantile(sorted(sizes), at) for at in (0.1, 0.5, 0.95))
    spread = stdev(sizes) if len(sizes) > 1 else 0.0
    average = fmean(sizes)
    return name, min(sizes), tenth, half, average, most, max(sizes), len(sizes), spread


def _quantile(ordered: list[int], at: float) -> float:
    """As the metrics library of Hudi takes it."""
    place = at * (len(ordered) + 1)
    before = int(place)
    if before < 1 or before >= len(ordered):
        return float(ordered[0] if before < 1 else ordered[-1])
    low, high = ordered[before - 1 : before + 1]
    return low + (place - before) * (high - low)


def _groups(stats: Iterator[WriteStat]) -> set[tuple[str, str]]:
    return {(stat.partition_path, stat.file_id) for stat in stats}


_TOTALS = (
    "total_bytes_written:long total_files_added:long total_files_updated:long "
    "total_partitions_written:long total_records_written:long total_update_records_written:long "
    "total_errors:long"
)
_METADATA = (
    "commit_time state_transition_time action partition file_id previous_commit num_writes:long "
    "num_inserts:long num_deletes:long num_update_writes:long total_errors:long "
    "total_log_blocks:long total_corrupt_log_blocks:long total_rollback_blocks:long "
    "total_log_records:long total_updated_records_compacted:long total_bytes_written:long"
)
PROCEDURES = {
    "show_commits": Procedure(
        "table* limit=10",
        f"commit_time state_transition_time action {_TOTALS}",
        lambda call: _shown(completed(call.table), call.limit, True),
    ),
    "show_commits_metadata": Procedure(
        "table* limit=10", _METADATA, lambda call: _stats(completed(call.table), call.limit)
    ),
    "show_archived_commits": Procedure(
        "table* limit=10 start_ts end_ts",
        f"commit_time state_transition_time {_TOTALS}",
        lambda call: _shown(_archived(call), call.limit, False),
    ),
    "show_archived_commits_metadata": Procedure(
        "table* limit=10 start_ts end_ts",
        _METADATA,
        lambda call: _stats(_archived(call), call.limit),
    ),
    "show_commit_files": Procedure(
        "table* limit=10 instant_time*",
        "action partition_path file_id previous_commit total_records_updated:long "
        "total_records_written:long total_bytes_written:long total_errors:long file_size:long",
        _files,
    ),
    "show_commit_partitions": Procedure(
        "table* limit=10 instant_time*",
        "action partition_path total_files_added:long total_files_updated:long "
        "total_records_inserted:long total_records_updated:long total_bytes_written:long "
        "total_errors:long",
        _partitions,
    ),
    "show_commit_write_stats": Procedure(
        "table* limit=10 instant_time*",
        "action total_bytes_written:long total_records_written:long avg_record_size:long",
        _write_stats,
    ),
    "show_commit_extra_metadata": Procedure(
        "table* limit=100 instant_time metadata_key",
        "instant_time action metadata_key metadata_value",
        _extra,
    ),
    "show_timeline": Procedure(
        "table path limit=20 showArchived=false filter startTime endTime",
        "instant_time action state requested_time inflight_time completed_time timeline_type "
        "rollback_info",
        _timeline,
    ),
    "show_savepoints": Procedure("table path", "savepoint_time", _savepoints),
    "show_rollbacks": Procedure(
        "table* limit=10",
        "instant rollback_instant total_files_deleted:int time_taken_in_millis:long "
        "total_partitions:int",
        _rollbacks,
    ),
    "show_rollback_detail": Procedure(
        "table* limit=10 instant_time*",
        "instant rollback_instant partition deleted_file succeeded:boolean",
        _rollback_detail,
    ),
    "stats_wa": Procedure(
        "table* limit=10",
        "commit_time total_upserted:long total_written:long write_amplification_factor",
        _amplification,
    ),
    "stats_file_sizes": Procedure(
        "table* partition_path limit=10",
        "commit_time min:long 10th:double 50th:double avg:double 95th:double max:long "
        "num_files:int std_dev:double",
        _sizes,
    ),
}
