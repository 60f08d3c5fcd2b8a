"""What a plan says of a group: numbers in its metrics, what is no number in its extra metadata."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hoodoo_clustering.hookspecs.clustering import Clusterable

ROWS = "hoodoo.rows"
MIN, MAX = "hoodoo.min.", "hoodoo.max."
_MIB = 1 << 20
# What a base file will take of which there is none yet: Hudi's hoodie.parquet.max.file.size.
_NEW_BASE = 120 * _MIB


def group_metrics(slices: Sequence[Clusterable], columns: Sequence[str]) -> dict[str, float]:
    """Hudi's five, in whole MiB but for TOTAL_LOG_FILES_SIZE; the rows; the ends of ``columns`` of
    numbers. What is not known of each of the ``slices`` is left out. Source:
    ``FileSliceMetricUtils``."""
    bases = [s.slice.base_file.size if s.slice.base_file else 0 for s in slices]
    logs = [log for s in slices for log in s.slice.log_files]
    log_bytes = sum(log.size for log in logs)
    read = (sum(bases) + log_bytes) // _MIB
    write = sum(size or _NEW_BASE for size in bases) // _MIB
    metrics = {
        "TOTAL_LOG_FILES": float(len(logs)),
        "TOTAL_LOG_FILES_SIZE": float(log_bytes),
        "TOTAL_IO_READ_MB": float(read),
        "TOTAL_IO_WRITE_MB": float(write),
        "TOTAL_IO_MB": float(read + write),
    }
    rows = [s.rows for s in slices]
    known = [count for count in rows if count is not None]
    if len(known) == len(rows):
        metrics[ROWS] = float(sum(known))
    ends = _ends(slices, columns)
    return {**metrics, **{key: float(value) for key, value in ends.items() if _is_number(value)}}


def group_extra(slices: Sequence[Clusterable], columns: Sequence[str]) -> dict[str, str]:
    """The ends of ``columns`` that are no numbers, as text: dates and times in ISO 8601, bytes in
    hex."""
    ends = _ends(slices, columns)
    return {key: _as_text(value) for key, value in ends.items() if not _is_number(value)}


def _ends(slices: Sequence[Clusterable], columns: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in columns:
        bounds = [s.bounds.get(column) for s in slices]
        known = [b for b in bounds if b is not None]
        if known and len(known) == len(bounds):
            found[f"{MIN}{column}"] = min(low for low, _ in known)
            found[f"{MAX}{column}"] = max(high for _, high in known)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value).lower() if isinstance(value, bool) else str(value)
