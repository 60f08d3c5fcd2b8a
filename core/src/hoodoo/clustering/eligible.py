"""Eligible: the file slices that a clustering may rewrite (RFC-19, "Scheduling clustering", step 1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from attrs import evolve

from hoodoo.clustering.settings import ClusteringSettings
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.instants import order_key


def eligible(
    slices: Iterable[FileSlice],
    settings: ClusteringSettings,
    busy: Collection[tuple[str, str]] = (),
) -> list[FileSlice]:
    """Those of the newest ``slices`` that may be clustered, in their order, without logs of change data, which
    hold no rows.

    Out are: the groups ``busy`` (partition path and file id: a clustering or compaction is pending for
    them); base files that are no longer small, or as large as clustering would make them; slices with
    log files, or with nothing else, unless the settings ask for them; slices that are too old.
    """
    limit = min(settings.small, settings.target)
    earliest = None if settings.earliest is None else order_key(settings.earliest)
    return [
        evolve(s, log_files=s.row_logs) if s.log_files else s
        for s in slices
        if (s.partition_path, s.file_id) not in busy
        and (s.base_file is None or s.base_file.size < limit)
        and (settings.with_logs or (s.base_file is not None and not s.row_logs))
        and (earliest is None or order_key(s.instant) > earliest)
    ]
