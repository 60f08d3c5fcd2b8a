"""What the writing tasks report: one row per file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
from attrs import asdict
from hoodoo.model.commit import CHANGE_LOGS, WriteStat

# What the stats of many files have in common is there once: a commit may have a hundred thousand.
_REPEATED = ("partition_path", "prev_commit")
_NONE: dict[str, object] = {}
_AT_ONCE = 256  # files; a batch costs as much as the rows of dozens of them

STATS_SCHEMA = pa.schema(
    [
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("path", pa.string()),
        ("prev_commit", pa.string()),
        ("prev_base_file", pa.string()),
        ("num_writes", pa.int64()),
        ("num_inserts", pa.int64()),
        ("num_updates", pa.int64()),
        ("num_deletes", pa.int64()),
        ("file_size", pa.int64()),
        ("base_file", pa.string()),
        ("log_version", pa.int32()),
        ("log_files", pa.list_(pa.string())),
        # Change data log: its path and bytes.
        ("change_log", pa.string()),
        ("change_log_size", pa.int64()),
    ]
)


def stats_batch(stats: Iterable[WriteStat]) -> pa.RecordBatch:
    """``stats`` as a batch of STATS_SCHEMA, one row each."""
    rows = []
    for stat in stats:
        row = asdict(stat, recurse=False)
        change_logs: dict[str, int] = stat.extra.get(CHANGE_LOGS) or {}  # type: ignore[assignment]
        for path, size in change_logs.items():
            row |= {"change_log": path, "change_log_size": size}
        rows.append(row)
    return pa.RecordBatch.from_pylist(rows, schema=STATS_SCHEMA)


def stats_batches(stats: Iterator[WriteStat]) -> Iterator[pa.RecordBatch]:
    """``stats`` as they come, many in a batch."""
    while some := list(islice(stats, _AT_ONCE)):
        yield stats_batch(some)


def read_stats(table: pa.Table) -> tuple[WriteStat, ...]:
    """Sorted by path, so that metadata does not depend on which task finished first."""
    some = table.sort_by("path").to_batches(max_chunksize=_AT_ONCE)
    del table  # the caller may have no other use for it
    return tuple(_stat(row) for batch in some for row in batch.to_pylist())


def _stat(row: dict[str, Any]) -> WriteStat:
    log, size = row.pop("change_log"), row.pop("change_log_size")
    row["log_files"] = tuple(row["log_files"] or ())
    for name in _REPEATED:
        row[name] = sys.intern(row[name])
    return WriteStat(**row, extra=_NONE if log is None else {CHANGE_LOGS: {log: size}})
