"""Eligible: the file slices that a clustering may rewrite (RFC-19, "Scheduling clustering", step
1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import evolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.instants import order_key

from hoodoo_clustering.left_out import PENDING, TOO_OLD, WITH_LOGS, too_large
from hoodoo_clustering.settings import ClusteringSettings


def eligible(
    slices: Iterable[FileSlice],
    settings: ClusteringSettings,
    busy: Collection[tuple[str, str]] = (),
    left_out: list[str] | None = None,
) -> list[FileSlice]:
    """Those of the newest ``slices`` that may be clustered, in their order, without logs of change
    data, which hold no rows.

    Out are: the groups ``busy`` (partition path and file id: a clustering or compaction is pending
    for them); base files that are no longer small; slices with log files, or with nothing else,
    unless the settings ask for them; slices that are too old. ``left_out`` gets the reason for each
    of those."""
    earliest = None if settings.earliest is None else order_key(settings.earliest)
    limit = settings.limit

    def reason(s: FileSlice) -> str | None:
        if (s.partition_path, s.file_id) in busy:
            return PENDING
        if s.base_file is not None and s.base_file.size >= limit:
            return too_large(limit)
        if not settings.with_logs and (s.base_file is None or s.row_logs):
            return WITH_LOGS
        return TOO_OLD if earliest is not None and order_key(s.instant) <= earliest else None

    found = []
    for s in slices:
        why = reason(s)
        if why is None:
            found.append(evolve(s, log_files=s.row_logs) if s.log_files else s)
        elif left_out is not None:
            left_out.append(why)
    return found
