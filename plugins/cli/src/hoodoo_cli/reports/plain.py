"""Reports as plain values, for JSON: what the subcommands print with ``--json``, and ``hoodoo ui``
shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from hoodoo_cli.reports.figures import TableStats
from hoodoo_cli.reports.files import SliceRow
from hoodoo_cli.reports.timeline import TimelineRow


def of_timeline(rows: Iterable[TimelineRow]) -> list[dict[str, Any]]:
    """One for each instant."""
    return [attrs.asdict(row) for row in rows]


def of_files(rows: Iterable[SliceRow]) -> list[dict[str, Any]]:
    """One for each file slice, with its ``bytes`` in all."""
    return [{**attrs.asdict(row), "bytes": row.bytes} for row in rows]


def of_stats(found: TableStats) -> dict[str, Any]:
    """All fields, and what is computed from them."""
    plain = attrs.asdict(found)
    plain["written"]["amplification"] = found.written.amplification
    more = {
        "bytes": found.bytes,
        "log_ratio": found.log_ratio,
        "slices_per_group": found.slices_per_group,
    }
    return {**plain, **more}
