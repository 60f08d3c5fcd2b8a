"""What the writing tasks report: one row per file."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from hoodoo.model.commit import WriteStat

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
    ]
)


def stats_batch(stats: Iterable[WriteStat]) -> pa.RecordBatch:
    names = STATS_SCHEMA.names
    rows = [{name: getattr(stat, name) for name in names} for stat in stats]
    return pa.RecordBatch.from_pylist(rows, schema=STATS_SCHEMA)


def read_stats(table: pa.Table) -> tuple[WriteStat, ...]:
    """Sorted by path, so that metadata does not depend on which task finished first."""
    rows = table.sort_by("path").to_pylist()
    return tuple(WriteStat(**{**row, "log_files": tuple(row["log_files"] or ())}) for row in rows)
